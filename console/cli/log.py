"""`failover log`: the decision records (spec/failover.md section 12), newest last as in every log. Shows them; judges nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from console.cli.options import Target, as_json, target
from console.cli.output import say_record, say_table
from console.cli.reach import Reached, ask
from console.view.times import stamp
from engine.domain.ids import SessionKey


@click.command("log")
@click.option("--session", help="Only this session's.")
@click.option("--turn", help="Only this turn's (the x-failover-turn header of an answer).")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many, counted from the newest.")
@target
@as_json
def log_command(session: str | None, turn: str | None, limit: int, target: Target, as_json: bool) -> None:
    """Every decision with the rule that made it. With --json one record a line.

    \b
    Examples:
      failover log --session support-bot
      failover log --turn 01J... --json
    """

    async def question(found: Reached) -> tuple[Sequence[Mapping[str, object]], int]:
        key = SessionKey(session) if session else None
        records = await found.operations.decisions(session=key, turn=turn, limit=limit)
        return list(records)[::-1], 0 if as_json else (await found.operations.snapshot()).now

    records, now = ask(target, question)
    if as_json:
        for record in records:
            say_record(record)
        return
    columns = ("time", "session", "decision", "candidate", "profile", "rule", "reason", ">status", "error")
    say_table(columns, (_row(record, now) for record in records), empty="no decision is logged yet")


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
