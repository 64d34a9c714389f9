"""`failover simulate`: scenarios through the real engine on a virtual clock; JSON for scripts, a timeline for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from console.cli.output import LONG
from console.view.text import literal
from engine.domain.errors import FailoverError, ScenarioError
from engine.simulation.run import simulate
from engine.simulation.timeline import print_timeline

EXAMPLE = """\b
Example (save as outage.json5, then: failover simulate outage.json5):
  {
    config: {
      agents: { defaults: { model: { primary: "acme/big", fallbacks: ["zeta/std"] } } },
      models: { providers: {
        acme: { baseUrl: "http://acme.test/v1", api: "openai-completions" },
        zeta: { baseUrl: "http://zeta.test/v1", api: "openai-completions" } } },
    },
    profiles: {
      "acme:k1": { type: "api_key", provider: "acme", key: "x" },
      "zeta:k1": { type: "api_key", provider: "zeta", key: "y" } },
    providers: { "acme/big": [ { status: 429 }, "ok" ] },
    steps: [ { turn: { session: "main" } }, { advance_s: 300 }, { turn: { session: "main" } } ],
  }"""


@click.command("simulate", epilog=EXAMPLE)
@click.argument("scenario", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of a timeline.")
@click.option(
    "--batch",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help='One scenario a line ({"id", ...}), one result a line; - reads standard input.',
)
def simulate_command(scenario: str | None, as_json: bool, batch: str | None) -> None:
    """Run a scenario (JSON5) through the real engine: virtual clock, scripted providers, nothing called, no file written.

    The same rules that serve traffic decide; the same scenario gives the same bytes. SCENARIO is a file, - is standard input.
    """
    if (scenario is None) == (batch is None):
        raise click.UsageError("give one SCENARIO file, or --batch FILE")
    if batch is not None:
        sys.exit(_batch(batch))
    result = simulate(read_json5(scenario or "-"))
    if as_json:
        click.echo(_dumped(result, indent=2))
    else:
        print_timeline(_harmless(result))


def read_json5(name: str) -> object:
    """The parsed file. Raises ScenarioError with the place of what cannot be read."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"Cannot read {name}", (str(error),), "check the path") from None
    return parse_json5(text, name)


def parse_json5(text: str, name: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        import json5  # slow to import and to parse; only where plain JSON will not do

        try:
            return json5.loads(text)
        except (ValueError, RecursionError) as error:
            raise ScenarioError(f"{name} is not JSON5", (str(error),), "mend it and run again") from None


def _dumped(result: Mapping[str, Any], **how: Any) -> str:
    text = json.dumps(result, ensure_ascii=False, **how)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair: only an escape can carry it.
        return json.dumps(result, **how)
    return text


def _harmless(value: Any) -> Any:
    """The same with every text as a terminal may have it: a scenario may have been written by anybody."""
    if isinstance(value, Mapping):
        return {literal(key, LONG): _harmless(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_harmless(item) for item in value]
    return literal(value, LONG) if isinstance(value, str) else value


def _batch(name: str) -> int:
    status = 0
    with click.open_file(name, encoding="utf-8", errors="surrogateescape") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            answer = _one(line, number)
            status = max(status, 1 if "error" in answer else 0)
            click.echo(_dumped(answer, separators=(",", ":")))
    return status


def _one(line: str, number: int) -> dict[str, object]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"id": None, "error": f"line {number}: {error}"}
    name = data.get("id") if isinstance(data, dict) else None
    try:
        return {"id": name, **simulate(data)}
    except FailoverError as error:
        return {"id": name, "error": error.happened or error.title}
