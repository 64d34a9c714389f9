"""One file's records in memory, and the nouns made of them. The memory store lives on it; the SQLite store reads into it and lays
over it what is not written yet. Knows no files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from engine.domain.ids import ProfileId, SessionKey
from engine.domain.leases import Lease
from engine.domain.sessions import Session
from engine.domain.store import Change, StoredAgent
from engine.domain.stored_answers import StoredAnswer
from engine.domain.usage import OperatorOff
from store.codec import (
    Record,
    Unreadable,
    decode_answer,
    decode_credential,
    decode_lease,
    decode_off,
    decode_order,
    decode_session,
    decode_usage,
)
from store.effects import REFUSED, Append, KeyedTable, LogTable, effects_of

T = TypeVar("T")

AGENT_TABLES: tuple[KeyedTable, ...] = ("credentials", "usage_stats", "profile_order")
SHARED_TABLES: tuple[KeyedTable, ...] = ("sessions", "operator_off", "stored_answers", "leases")
LOGS_KEPT = 100_000
FEED_RESTORED = 500
NAMED_ROWS = 5


class Notes:
    """What was found wrong while reading, in words; of many bad rows the first few are named. where: the file's name."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._lines: list[str] = []
        self._more: dict[str, int] = {}

    def bad_row(self, table: KeyedTable, key: str, what: str) -> None:
        """key is foreign text; what must not hold a value of the row: it may be a secret."""
        self._more[table] = self._more.get(table, 0) + 1
        if self._more[table] <= NAMED_ROWS:
            self._lines.append(f"{self._where}, {table}, {key[:80]}: {what}; the row is kept as it is")

    def lines(self) -> tuple[str, ...]:
        more = (f"{self._where}, {table}: {n - NAMED_ROWS} more such rows" for table, n in self._more.items() if n > NAMED_ROWS)
        return (*self._lines, *more)


def _logs() -> dict[LogTable, deque[Record]]:
    return {"decisions": deque(maxlen=LOGS_KEPT), "feed": deque(maxlen=LOGS_KEPT), "audit": deque(maxlen=LOGS_KEPT)}


@dataclass(slots=True)
class Rows:
    """table -> key -> record, in stored order; logs oldest first. touched: what `apply` changed since `touched` was last emptied."""

    tables: dict[KeyedTable, dict[str, Record]] = field(default_factory=lambda: {table: {} for table in (*AGENT_TABLES, *SHARED_TABLES)})
    logs: dict[LogTable, deque[Record]] = field(default_factory=_logs)
    touched: set[tuple[KeyedTable, str]] = field(default_factory=set)

    def apply(self, change: Change, *, logs: bool = True) -> bool:
        """False = `not_applied`. logs False: appends are left out. Raises ValueError for a field that the noun does not have."""
        for effect in effects_of(change):
            if isinstance(effect, Append):
                if logs:
                    self.logs[effect.table].append(dict(effect.record))
                continue
            table = self.tables[effect.table]
            record = effect.revise(table.get(effect.key))
            if record is REFUSED:
                return False
            self.touched.add((effect.table, effect.key))
            if record is None:
                table.pop(effect.key, None)
            else:
                table[effect.key] = record
        return True


def read_agent(rows: Rows, notes: Notes) -> StoredAgent:
    credentials, usage, order = (rows.tables[table] for table in AGENT_TABLES)
    return StoredAgent(
        {ProfileId(key): made for key, made in _each("credentials", credentials, lambda _, row: (decode_credential(row), ()), notes)},
        {ProfileId(key): made for key, made in _each("usage_stats", usage, lambda _, row: decode_usage(row), notes)},
        dict(_each("profile_order", order, lambda _, row: (decode_order(row), ()), notes)),
    )


def read_sessions(records: Mapping[str, Record], notes: Notes) -> dict[SessionKey, Session]:
    return {SessionKey(key): made for key, made in _each("sessions", records, lambda _, row: decode_session(row), notes)}


def read_answers(rows: Rows, notes: Notes) -> dict[str, StoredAnswer]:
    return dict(_each("stored_answers", rows.tables["stored_answers"], lambda _, row: (decode_answer(row), ()), notes))


def read_off(rows: Rows, notes: Notes) -> dict[str, OperatorOff]:
    return dict(_each("operator_off", rows.tables["operator_off"], lambda key, row: (decode_off(key, row), ()), notes))


def read_leases(rows: Rows, notes: Notes) -> tuple[Lease, ...]:
    return tuple(made for _, made in _each("leases", rows.tables["leases"], lambda _, row: (decode_lease(row), ()), notes))


def read_feed(rows: Rows) -> tuple[Record, ...]:
    """The newest rows, oldest first."""
    return tuple(rows.logs["feed"])[-FEED_RESTORED:]


def _each(
    table: KeyedTable, records: Mapping[str, Record], decode: Callable[[str, Record], tuple[T, Iterable[str]]], notes: Notes
) -> Iterable[tuple[str, T]]:
    for key, record in records.items():
        try:
            made, wrong = decode(key, record)
        except Unreadable as problem:
            notes.bad_row(table, key, f"not readable ({problem})")
            continue
        if wrong:
            notes.bad_row(table, key, f"of the wrong type and left out: {', '.join(wrong)}")
        yield key, made
