"""`failover explain`: why a session is where it is and what its next request would do, from the preview of the very policy code and
the decision log. Explains by quoting rules and numbers; it knows no rule itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import click

from console.cli.moments import Moment
from console.cli.options import Target, as_json, target
from console.cli.output import hint, safe, say, say_json, say_table
from console.cli.reach import Reached, ask
from console.cli.seen import unseen
from console.view import cause, pins
from console.view.frame import Frame
from console.view.lines import plain
from console.view.records import Record
from console.view.rules import meaning
from console.view.times import clock, countdown
from engine.domain.decisions import EVERY, Matching
from engine.domain.ids import SessionKey
from engine.domain.snapshot import Preview, ProfileVerdict, SessionView
from engine.gateway.wire import dump

_RECORDS = 200


@dataclass(frozen=True, slots=True)
class Explained:
    """view None: the session has records for single models only. decisions: of its last turn, oldest first; recent: of all its turns,
    newest first."""

    view: SessionView | None
    preview: Preview
    decisions: Sequence[Record]
    recent: Sequence[Record]
    frame: Frame

    @property
    def now(self) -> int:
        return self.frame.now


@click.command("explain")
@click.argument("session")
@click.option("--turn", help="With the decisions of this turn instead of the last one's.")
@click.option("--provider", help="With the last turn that decided on this provider.")
@click.option("--reason", help="With the last turn in which something failed or was passed over for this reason.")
@click.option("--until", type=Moment(), help="With the last turn before then: 15m (ago), 14:02, 2026-01-31T14:02 or epoch milliseconds.")
@click.option("--what-if", "assumed", help="Predict instead: `openai:work gets 429; at 14:30`, `clear anthropic:me`, `off openai`.")
@target
@as_json
def explain_command(
    session: str,
    turn: str | None,
    provider: str | None,
    reason: str | None,
    until: int | None,
    assumed: str | None,
    target: Target,
    as_json: bool,
) -> None:
    """Why SESSION is where it is, and what its next request will do. No call is made.

    \b
    Examples:
      failover explain support-bot
      failover explain support-bot --reason billing
      failover explain support-bot --what-if "openai:work gets 429"
    """
    if assumed is not None:
        from console.cli.foreseen import foretell

        foretell(target, SessionKey(session), assumed, as_json)
        return
    matching = Matching(provider.lower() if provider else None, reason, None, until)
    found = ask(target, lambda reached: _gather(reached, SessionKey(session), turn, matching))
    if as_json:
        view = None if found.view is None else json.loads(dump(found.view))
        say_json({"session": view, "preview": json.loads(dump(found.preview)), "decisions": list(found.decisions)})
        return
    for line in _story(found):
        say(line)
    say()
    say_table(("", "candidate", "verdict", "rule", "reason", ">left", "role"), _chain(found))
    if found.decisions:
        say()
        which = "its last turn" if turn is None and matching == EVERY else "turn"
        say(f"{which}, {safe(found.decisions[-1].get('turn'))} at {_time(found.decisions[-1].get('at'))}")
        say_table(("decision", "candidate", "profile", "rule", "reason", ">status", "error"), map(_decision, found.decisions))
    elif turn is not None or matching != EVERY:
        hint("no such turn of this session is logged")
    say()
    say_table(("rule", "what it means"), ((rule, meaning(rule)) for rule in _rules(found)))


async def _gather(reached: Reached, key: SessionKey, turn: str | None, matching: Matching) -> Explained:
    operations = reached.operations
    snapshot = await operations.snapshot()
    doubt = unseen(key, snapshot)
    if doubt is not None:
        raise doubt
    preview = await operations.preview(key)
    newest = await operations.decisions(session=key, turn=turn, limit=1, matching=matching)
    last = await operations.decisions(session=key, turn=str(newest[0].get("turn")), limit=_RECORDS) if newest else []
    recent = await operations.decisions(session=key, limit=_RECORDS)
    view = next((session for session in snapshot.sessions if session.key == key), None)
    return Explained(view, preview, list(last)[::-1], recent, Frame(snapshot, snapshot.now))


def _story(found: Explained) -> Iterator[str]:
    preview, view = found.preview, found.view
    key = safe(preview.session)
    if preview.next_ref is None:
        yield f"{key}: every candidate would be skipped; the next request fails"
    else:
        with_profile = f" with {safe(preview.next_profile)}" if preview.next_profile else ""
        yield f"{key}: the next request goes to {safe(preview.next_ref)}{with_profile}"
    yield f"  selected {safe(preview.selected)} ({preview.selection}{', strict' if preview.strict else ''})"
    if view is not None:
        yield from (f"  {plain(line)}" for line in cause.draw(view, found.recent, found.frame))
    if pin := pins.effect(view, preview, found.frame):
        yield f"  {pin.text}"
    elif view is not None and view.profile is not None and view.pin_source is not None:
        yield f"  pinned ({view.pin_source}) to {safe(view.profile)}"
    if preview.primary_probe_at is not None:
        yield f"  primary probe in {countdown(preview.primary_probe_at, found.now)}"
    for note in preview.notes:
        yield f"  {safe(note)}"


def _chain(found: Explained) -> Iterator[Sequence[object]]:
    now = found.now
    for place, candidate in enumerate(found.preview.chain, 1):
        left = countdown(candidate.until, now)
        yield (place, candidate.ref, candidate.verdict, candidate.rule, candidate.reason or "", left, candidate.role or "")
        for verdict in candidate.profiles:
            yield ("", f"  {verdict.profile}", _word(verdict), verdict.rule, verdict.reason or "", countdown(verdict.until, now), "")


def _rules(found: Explained) -> list[str]:
    """Those that stand above, each once, in the order in which they are met."""
    candidates = (rule for c in found.preview.chain for rule in (c.rule, *(verdict.rule for verdict in c.profiles)))
    decided = (str(record["rule"]) for record in found.decisions if record.get("rule"))
    return [rule for rule in dict.fromkeys((found.preview.selection, *candidates, *decided)) if meaning(rule)]


def _word(verdict: ProfileVerdict) -> str:
    pin = f", pinned ({verdict.pin})" if verdict.pin else ""
    step = f", step {verdict.step}" if verdict.step else ""
    return f"{verdict.state}{pin}{step}"


def _decision(record: Mapping[str, object]) -> Sequence[object]:
    provider, model = record.get("candidateProvider"), record.get("candidateModel")
    candidate = f"{provider}/{model}" if provider and model else ""
    names = ("profile", "rule", "reason", "status", "error")
    return (record.get("decision"), candidate, *(record.get(name) for name in names))


def _time(at: object) -> str:
    return clock(at if isinstance(at, int) else None)
