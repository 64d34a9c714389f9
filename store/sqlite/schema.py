"""The tables, as numbered migrations: number n takes a file from version n-1 to n (`user_version`). All of them, in one place; a
migration that was released is never edited. No reading or writing of rows.

Records are JSON with the names of spec 1.1-1.3, so that a field of a newer or a hand-made record survives our writes.
`position` keeps the order in which profiles were stored.
"""

from __future__ import annotations

import sqlite3
from typing import Literal

Kind = Literal["agent", "shared"]

_KEYED = "CREATE TABLE {} (position INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, record TEXT NOT NULL)"
_UNREADABLE = "CREATE TABLE unreadable_rows (id INTEGER PRIMARY KEY, at TEXT NOT NULL, table_name TEXT NOT NULL, key TEXT NOT NULL, record)"

_AGENT_1 = (
    _KEYED.format("credentials"),  # key: profile id
    _KEYED.format("usage_stats"),  # key: profile id
    _KEYED.format("profile_order"),  # key: provider
    _UNREADABLE,
)
_SHARED_1 = (
    _KEYED.format("sessions"),  # key: session key
    _KEYED.format("operator_off"),  # key: profile id, provider or ref
    "CREATE TABLE decisions (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, session TEXT, turn TEXT, record TEXT NOT NULL)",
    "CREATE INDEX decisions_by_session ON decisions (session)",
    "CREATE INDEX decisions_by_turn ON decisions (turn)",
    "CREATE INDEX decisions_by_at ON decisions (at)",
    "CREATE TABLE feed (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, record TEXT NOT NULL)",
    "CREATE TABLE audit (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, record TEXT NOT NULL)",
    # Never written; `leases` came in its place.
    "CREATE TABLE probe_leases (key TEXT PRIMARY KEY, holder TEXT NOT NULL, expires_at INTEGER NOT NULL)",
    _UNREADABLE,
)
_SHARED_2 = (_KEYED.format("stored_answers"),)  # key: the id under which upstream keeps an answer
_SHARED_3 = ("DROP TABLE IF EXISTS probe_leases", _KEYED.format("leases"))  # key: profile id and model of a trial
MIGRATIONS: dict[Kind, tuple[tuple[str, ...], ...]] = {"agent": (_AGENT_1,), "shared": (_SHARED_1, _SHARED_2, _SHARED_3)}


def latest(kind: Kind) -> int:
    """The version that this program writes."""
    return len(MIGRATIONS[kind])


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, kind: Kind) -> None:
    """The file has the latest version, or is as it was. The caller has refused newer ones. Raises sqlite3.Error."""
    if version_of(connection) >= latest(kind):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Again, inside the lock: another process may have migrated meanwhile.
        for number in range(version_of(connection), latest(kind)):
            for statement in MIGRATIONS[kind][number]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    # Into the file itself, where `refuse_newer` of another version reads it without opening a database.
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def probe(connection: sqlite3.Connection) -> None:
    """A write that changes nothing: shows whether the file can be written again. Raises sqlite3.Error."""
    connection.execute(f"PRAGMA user_version = {version_of(connection)}")
