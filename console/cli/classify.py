"""`failover classify`: which reason would this failure get, by which row, and what would follow? It asks the very function that serves
live traffic. Must not import Textual, and holds no rule of its own: the consequences are only told here, for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import cast

import click

from console.cli.output import say_table
from engine.domain.failure import Failure
from engine.domain.reasons import FailoverReason as R
from engine.policy.classify import Classification, classify, describe, never_connected

# spec/failover.md section 5: rotate to the next profile?, window on the profile, what then.
_NO_DETAILS = ("no", "none: an opaque failure says nothing about the credential", "next candidate if there is one")
CONSEQUENCES: dict[R | None, tuple[str, str, str]] = {
    R.AUTH: ("yes", "cooldown, whole profile", "next candidate"),
    R.AUTH_PERMANENT: ("yes", "disabled", "next candidate"),
    R.BILLING: ("yes", "disabled", "next candidate"),
    R.RATE_LIMIT: ("up to rateLimitedProfileRotations more", "cooldown, this model", "next candidate, without waiting"),
    R.OVERLOADED: ("up to overloadedProfileRotations more", "cooldown, first step", "next candidate, without waiting"),
    R.TIMEOUT: ("yes", "cooldown, this model", "next candidate"),
    R.SERVER_ERROR: ("no", "none", "next candidate"),
    R.MODEL_NOT_FOUND: ("no", "none", "next candidate"),
    R.SESSION_EXPIRED: ("no", "none", "next candidate"),
    R.FORMAT: ("no", "none", "stop: reported as it is (one repaired retry where a repair exists)"),
    R.CONTEXT_OVERFLOW: ("no", "none", "stop: belongs to compaction"),
    R.EMPTY_RESPONSE: _NO_DETAILS,
    R.NO_ERROR_DETAILS: _NO_DETAILS,
    R.UNCLASSIFIED: _NO_DETAILS,
    R.UNKNOWN: _NO_DETAILS,
    None: _NO_DETAILS,
}
NEVER_CONNECTED = ("no: other keys meet the same host", "none", "next candidate")
MAX_CAUSES = 25


class WrongField(ValueError):
    """A member of an input object has a type that no failure has."""


@click.command("classify", short_help="Say which reason a provider's failure gets, and what follows.")
@click.option("--provider", default="", metavar="ID", help="The provider's id in the config; some providers have rules of their own.")
@click.option("--status", metavar="N", help="HTTP status, as it came.")
@click.option("--body", metavar="TEXT", help="The raw response text, JSON or HTML.")
@click.option("--code", metavar="CODE", help="An error code: of the body, or an errno such as ECONNRESET.")
@click.option("--error-type", metavar="NAME", help="An error type, or the class of an exception.")
@click.option("--message", metavar="TEXT", help="An exception's text.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the table.")
@click.option(
    "--batch",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="One JSON object a line in, one a line out, in the same order; - reads standard input.",
)
def classify_command(
    provider: str,
    status: str | None,
    body: str | None,
    code: str | None,
    error_type: str | None,
    message: str | None,
    as_json: bool,
    batch: str | None,
) -> None:
    """Say which reason a provider's failure gets, which rule gave it, and what follows from it.

    \b
    Why was this a billing error?
      failover classify --provider anthropic --status 400 \\
        --body '{"error":{"message":"Your credit balance is too low"}}'

    \b
    A connection that broke, as the exception words it:
      failover classify --message "[Errno 104] Connection reset by peer"

    \b
    Many at once; a line holds id, provider, status, code, error_type, message,
    body, details, cause (all optional), an answer holds id, reason, family:
      echo '{"id": 1, "provider": "openai", "status": 429}' | failover classify --batch -
      {"id": 1, "reason": "rate_limit", "family": "status.429"}

    A null reason means that no rule matched: the engine records `unclassified`.
    """
    given = [value for value in (status, body, code, error_type, message) if value is not None]
    if batch is not None:
        if given or provider or as_json:
            raise click.UsageError("--batch takes everything from its lines: leave the other options out.")
        raise SystemExit(_batch(batch))
    if not given:
        raise click.UsageError("Nothing to classify: give --status, --body, --message, --code or --error-type, or --batch FILE.")
    failure = Failure(status=status, code=code, error_type=error_type, message=message, body=body)
    found = classify(failure, provider)
    if as_json:
        rotate, window, then = consequences(found, failure)
        click.echo(json.dumps({**_answer(found), "rotate": rotate, "window": window, "then": then}))
    else:
        _tell(found, failure)


def _answer(found: Classification) -> dict[str, object]:
    return {"reason": found.reason.value if found.reason else None, "family": found.family}


def consequences(found: Classification, failure: Failure) -> tuple[str, str, str]:
    """Another key? A window? What then? In words."""
    unreached = found.reason is R.TIMEOUT and never_connected(failure)
    return NEVER_CONNECTED if unreached else CONSEQUENCES[found.reason]


def _tell(found: Classification, failure: Failure) -> None:
    said = describe(failure)
    rotate, window, then = consequences(found, failure)
    say_table(
        ("question", "answer"),
        (
            ("reason", found.reason.value if found.reason else "none (recorded as unclassified)"),
            ("family", found.family),
            ("rotate?", rotate),
            ("window?", window),
            ("then", then),
            ("status", said.status if said.status is not None else "none"),
            ("said", said.message or "nothing"),
        ),
    )


def _batch(name: str) -> int:
    """Answers each line as it comes; the exit status is 1 when a line could not be answered."""
    failed = False
    with click.open_file(name, "rb") as lines:
        for answer in _answers(lines):
            failed = failed or "error" in answer
            # ASCII: an id may hold what no encoding can carry.
            click.echo(json.dumps(answer))
    return 1 if failed else 0


def _answers(lines: Iterable[bytes]) -> Iterator[dict[str, object]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            given = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except (ValueError, RecursionError) as trouble:
            yield {"id": None, "error": f"line {number}: not valid JSON ({_short(trouble)})"}
            continue
        if not isinstance(given, dict):
            yield {"id": None, "error": f"line {number}: an object was expected"}
            continue
        try:
            provider = _text(given, "provider")
            yield {"id": given.get("id"), **_answer(classify(failure_from(given), provider or ""))}
        except WrongField as wrong:
            yield {"id": given.get("id"), "error": f"line {number}: {wrong}"}


def _short(trouble: Exception) -> str:
    return "nested too deeply" if isinstance(trouble, RecursionError) else str(trouble).split(":")[0]


def failure_from(given: dict[str, object]) -> Failure:
    """The failure that an input object describes. Causes beyond the 25th are left out. Raises WrongField."""
    chain: list[dict[str, object]] = []
    here: object = given
    while here is not None and len(chain) < MAX_CAUSES:
        layer = {"message": here} if isinstance(here, str) else here
        if not isinstance(layer, dict):
            raise WrongField("`cause` must be an object")
        chain.append(layer)
        here = layer.get("cause")
    failure: Failure | None = None
    for layer in reversed(chain):
        failure = Failure(
            status=_scalar(layer, "status"),
            code=_scalar(layer, "code"),
            error_type=_scalar(layer, "error_type"),
            message=_text(layer, "message"),
            body=_text(layer, "body"),
            details=_details(layer.get("details")),
            cause=failure,
        )
    return cast(Failure, failure)


def _scalar(layer: dict[str, object], name: str) -> object:
    value = layer.get(name)
    if isinstance(value, (dict, list)):
        raise WrongField(f"`{name}` must be a string or a number")
    return value


def _text(layer: dict[str, object], name: str) -> str | None:
    value = layer.get(name)
    if value is not None and not isinstance(value, str):
        raise WrongField(f"`{name}` must be a string")
    return value


def _details(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or any(isinstance(item, (dict, list)) for item in value):
        raise WrongField("`details` must be a string or a list of strings")
    return tuple(item for item in value if isinstance(item, str))
