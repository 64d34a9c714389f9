"""Records in and out of one database: synchronous, on the connection's thread, one transaction a call. Which change does what to a
record is `store.effects`; when to write is `store.sqlite.lane`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any, cast

from engine.domain.decisions import Matching
from engine.domain.store import Change
from store.codec import Record, dump, parse
from store.effects import REFUSED, Append, KeyedTable, LogTable, Revise, effects_of
from store.rows import AGENT_TABLES, FEED_RESTORED, SHARED_TABLES, Notes, Rows
from store.sqlite.schema import Kind

UNWRITABLE = (
    ValueError,
    TypeError,
    OverflowError,
    RecursionError,
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
)
"""The change is at fault, not the disk: trying again would end in the same way, and must not hold up its neighbours."""

UPSERT = "INSERT INTO {} (key, record) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET record = excluded.record"
KEEP_UNREADABLE = "INSERT INTO unreadable_rows (at, table_name, key, record) VALUES (strftime('%Y-%m-%dT%H:%M:%SZ'), ?, ?, ?)"

ROWS_AT_ONCE = 100
"""Below the 999 parameters that an old SQLite takes in one statement."""

Outcome = tuple[bool, ...] | Exception
Logs = dict[LogTable, list[tuple[object, ...]]]
"""Rows that wait for the end of their transaction."""

_ENCODE = json.JSONEncoder(separators=(",", ":"), default=str).encode


def write(connection: sqlite3.Connection, units: Sequence[Sequence[Change]], admit: Callable[[sqlite3.Connection], None]) -> list[Outcome]:
    """All units in one immediate transaction, durable against a kill afterwards. admit: raises if the file must not be written. One
    outcome per unit: an answer per change, or what made this unit alone impossible. Raises sqlite3.Error: nothing was written."""
    try:
        return _transaction(connection, admit, lambda: _together(connection, units))
    except UNWRITABLE:
        return _transaction(connection, admit, lambda: [_apart(connection, unit) for unit in units])


def _transaction(
    connection: sqlite3.Connection, admit: Callable[[sqlite3.Connection], None], work: Callable[[], list[Outcome]]
) -> list[Outcome]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        admit(connection)
        outcomes = work()
        connection.execute("COMMIT")
    except BaseException:
        # Some errors (a full disk) have rolled back by themselves.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return outcomes


def _together(connection: sqlite3.Connection, units: Sequence[Sequence[Change]]) -> list[Outcome]:
    logs: Logs = {}
    outcomes: list[Outcome] = [tuple(_apply(connection, change, logs) for change in unit) for unit in units]
    _append(connection, logs)
    return outcomes


def _apart(connection: sqlite3.Connection, unit: Sequence[Change]) -> Outcome:
    connection.execute("SAVEPOINT unit")
    outcome: Outcome
    try:
        (outcome,) = _together(connection, [unit])
    except UNWRITABLE as problem:
        connection.execute("ROLLBACK TO unit")
        outcome = problem
    connection.execute("RELEASE unit")
    return outcome


def _apply(connection: sqlite3.Connection, change: Change, logs: Logs) -> bool:
    for effect in effects_of(change):
        if isinstance(effect, Append):
            logs.setdefault(effect.table, []).append(_row(effect))
        elif not _revise(connection, effect):
            return False
    return True


def _revise(connection: sqlite3.Connection, effect: Revise) -> bool:
    table, key = effect.table, effect.key
    found = connection.execute(f"SELECT record FROM {table} WHERE key = ?", (key,)).fetchone()
    held = parse(found[0]) if found else None
    record = effect.revise(held)
    if record is REFUSED:
        return False
    if found and held is None:
        connection.execute(KEEP_UNREADABLE, (table, key, found[0]))
    if record is None:
        connection.execute(f"DELETE FROM {table} WHERE key = ?", (key,))
    elif held is None or record != held:
        connection.execute(UPSERT.format(table), (key, dump(record)))
    return True


def _row(effect: Append) -> tuple[object, ...]:
    record = effect.record
    # A record that cannot be written as it is still says most of what happened.
    text = _ENCODE(record)
    at = record.get("at")
    at = at if isinstance(at, int) else 0
    if effect.table != "decisions":
        return (at, text)
    session, turn = (value if isinstance(value := record.get(name), str) else None for name in ("session", "turn"))
    return (at, session, turn, text)


def _append(connection: sqlite3.Connection, logs: Logs) -> None:
    """Many rows in one statement: each statement hands the interpreter's lock to the event loop's thread and back, and both pay for it."""
    for table, rows in logs.items():
        columns = "at, session, turn, record" if table == "decisions" else "at, record"
        row = f"({', '.join('?' * len(rows[0]))})"
        for first in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[first : first + ROWS_AT_ONCE]
            values = ", ".join([row] * len(some))
            connection.execute(f"INSERT INTO {table} ({columns}) VALUES {values}", tuple(chain.from_iterable(some)))


def read(connection: sqlite3.Connection, kind: Kind, notes: Notes) -> Rows:
    """Everything that decisions need and the newest feed rows, as of one instant. Raises sqlite3.Error."""
    rows = Rows()
    connection.execute("BEGIN")
    try:
        for table in AGENT_TABLES if kind == "agent" else SHARED_TABLES:
            rows.tables[table] = _read_table(connection, table, notes)
        if kind == "shared":
            newest = connection.execute("SELECT record FROM feed ORDER BY id DESC LIMIT ?", (FEED_RESTORED,)).fetchall()
            rows.logs["feed"].extend(record for (text,) in reversed(newest) if (record := parse(text)) is not None)
    finally:
        connection.execute("ROLLBACK")
    return rows


def _read_table(connection: sqlite3.Connection, table: KeyedTable, notes: Notes) -> dict[str, Record]:
    records: dict[str, Record] = {}
    for key, text in connection.execute(f"SELECT key, record FROM {table} ORDER BY position"):
        record = parse(text)
        if record is None:
            notes.bad_row(table, str(key), "not a JSON object")
        else:
            records[str(key)] = record
    return records


_CONDITIONS = {
    "session": "session = :session",
    "turn": "turn = :turn",
    "since": "at >= :since",
    "until": "at < :until",
    "provider": "json_extract(record, '$.candidateProvider') = :provider",
    "reason": "json_extract(record, '$.reason') = :reason",
}


def read_decisions(
    connection: sqlite3.Connection, session: str | None, turn: str | None, limit: int, matching: Matching
) -> list[Mapping[str, object]]:
    """Newest first. Raises sqlite3.Error."""
    wanted = {"session": session, "turn": turn, **asdict(matching)}
    where = " AND ".join(_CONDITIONS[name] for name, value in wanted.items() if value is not None)
    sql = f"SELECT record FROM decisions {'WHERE ' + where if where else ''} ORDER BY id DESC LIMIT :limit"
    return [record for (text,) in connection.execute(sql, {**wanted, "limit": limit}) if (record := parse(text)) is not None]


def data_version(connection: sqlite3.Connection) -> int:
    """Changes when another connection wrote to the file; our own writes leave it alone."""
    return cast(int, cast(Any, connection.execute("PRAGMA data_version").fetchone())[0])
