"""`failover log`: the decision records (spec/failover.md section 12), newest last as in every log. Shows them; judges nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import click

from console.cli.moments import Moment
from console.cli.options import Target, as_json, target
from console.cli.output import hint, safe, say, say_record, say_table
from console.cli.reach import Reached, ask, reached
from console.view.text import literal
from console.view.times import stamp
from engine.domain.decisions import EVERY, Matching
from engine.domain.errors import GatewayUnreachable
from engine.domain.ids import SessionKey


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records, at most how many of those that there are."""

    session: SessionKey | None = None
    turn: str | None = None
    matching: Matching = EVERY
    limit: int = 50

    def admits(self, record: Mapping[str, object]) -> bool:
        return self.session in (None, record.get("session")) and self.turn in (None, record.get("turn")) and self.matching.admits(record)


@click.command("log")
@click.option("--session", help="Only this session's.")
@click.option("--turn", help="Only this turn's (the x-failover-turn header of an answer).")
@click.option("--provider", help="Only about candidates of this provider.")
@click.option("--reason", help="Only with this reason: rate_limit, billing, operator_off ...")
@click.option("--since", type=Moment(), help="From then on: 15m (ago), 14:02, 2026-01-31T14:02 or epoch milliseconds.")
@click.option("--until", type=Moment(), help="Before then, in the same words.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many, counted from the newest.")
@click.option("--follow", is_flag=True, help="Then those to come, until ctrl+C or the gateway's end.")
@target
@as_json
def log_command(
    session: str | None,
    turn: str | None,
    provider: str | None,
    reason: str | None,
    since: int | None,
    until: int | None,
    limit: int,
    follow: bool,
    target: Target,
    as_json: bool,
) -> None:
    """Every decision with the rule that made it. With --json one record a line.

    \b
    Examples:
      failover log --session support-bot --since 15m
      failover log --provider acme --reason rate_limit --follow
      failover log --turn 01J... --json
    """
    matching = Matching(provider.lower() if provider else None, reason, since, until)
    wanted = Wanted(SessionKey(session) if session else None, turn, matching, limit)
    if follow:
        try:
            asyncio.run(_follow(target, wanted, as_json))
        except KeyboardInterrupt:
            return
        return

    async def question(found: Reached) -> tuple[Sequence[Mapping[str, object]], int]:
        return await _known(found, wanted), 0 if as_json else (await found.operations.snapshot()).now

    records, now = ask(target, question)
    if as_json:
        for record in records:
            say_record(record)
        return
    columns = ("time", "session", "decision", "candidate", "profile", "rule", "reason", ">status", "error")
    say_table(columns, (_row(record, now) for record in records), empty="no such decision is logged")


async def _known(found: Reached, wanted: Wanted) -> Sequence[Mapping[str, object]]:
    records = await found.operations.decisions(session=wanted.session, turn=wanted.turn, limit=wanted.limit, matching=wanted.matching)
    return list(records)[::-1]


async def _follow(target: Target, wanted: Wanted, as_json: bool) -> None:
    """A turn's records come when it has ended, as they are logged. Ends with the gateway."""
    async with reached(target, only_running=True) as found:
        snapshot = await found.operations.snapshot()
        known = await _known(found, wanted)
        shown = {str(record.get("turn")) for record in known}
        for record in known:
            say_record(record) if as_json else say(_line(record, snapshot.now))
        try:
            async with aclosing(found.operations.events()) as events:
                async for event in events:
                    made = event.data.get("decisions") if event.data.get("event") == "turn_finished" else None
                    for record in made if isinstance(made, list) and str(event.data.get("turn")) not in shown else ():
                        if wanted.admits(record):
                            say_record(record) if as_json else say(_line(record, snapshot.now))
        except GatewayUnreachable as lost:
            hint(f"log: {literal(lost.title)}")


def _line(record: Mapping[str, object], now: int) -> str:
    """One line of words: what is not known yet cannot be set in columns."""
    return "  ".join(safe(cell) for cell in _row(record, now) if cell not in (None, ""))


def _row(record: Mapping[str, object], now: int) -> Sequence[object]:
    at = record.get("at")
    provider, model = record.get("candidateProvider"), record.get("candidateModel")
    names = ("profile", "rule", "reason", "status", "error")
    return (
        stamp(at if isinstance(at, int) else None, now),
        record.get("session"),
        (record.get("outcome") and f"{record.get('decision')}: {record.get('outcome')}") or record.get("decision"),
        f"{provider}/{model}" if provider and model else "",
        *(record.get(name) for name in names),
    )
