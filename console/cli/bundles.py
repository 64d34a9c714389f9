"""`failover export` and `failover open`: an incident bundle from the command line, and the screen on one. What a bundle holds is in
`console.bundle`; what is drawn is the console's."""

from __future__ import annotations

from pathlib import Path

import click

from console import bundle
from console.around import Around
from console.cli.identity import operator
from console.cli.options import Appearance, Target, appearance, as_json, target
from console.cli.output import say, say_json
from console.cli.reach import Reached, ask
from engine.domain.errors import UsageError
from engine.domain.settings import ConsoleSettings
from store.paths import StateDirectory


@click.command("export")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="The folder to put it in [else `incidents` of the state directory]."
)
@target
@as_json
def export_command(out: Path | None, target: Target, as_json: bool) -> None:
    """Export an incident bundle: redacted JSON and a timeline. `failover open` shows it; `x` on the screen adds a picture.

    \b
    Example:
      failover export --out /tmp
    """

    async def question(found: Reached) -> Path:
        return bundle.write(await bundle.gather(found.operations, operator()), out or found.directory.root / "incidents")

    try:
        place = ask(target, question)
    except OSError as error:
        raise UsageError("The bundle cannot be written", f"{error.filename or out}: {error.strerror}", "name a folder with --out") from None
    if as_json:
        say_json({"bundle": str(place)})
    else:
        say(str(place))


@click.command("open")
@click.argument("path", metavar="BUNDLE", type=click.Path(path_type=Path))
@appearance
def open_command(path: Path, looks: Appearance) -> int:
    """Show an incident bundle, read-only: the screen as it was, with its decisions and details. No gateway is asked.

    \b
    Example:
      failover open ./incident-20260105T140231Z
    """
    from console.cli.screen import Showing, need_terminal, show

    found = bundle.read(path)
    need_terminal(f"read {bundle.TIMELINE_NAME} of the bundle")
    showing = Showing(
        looks, ConsoleSettings(), StateDirectory.locate(None), read_only=True, around=Around(may_suspend=True, bundles=Path.cwd())
    )
    return show(bundle.BundleOperations(found), showing)
