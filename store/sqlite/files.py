"""A database file before anyone reads from it: made whole or not at all, refused when it is newer than this program, moved aside when
it cannot be read. Synchronous: it runs on the connection's own thread. What lies in the tables is not looked at here."""

from __future__ import annotations

import os
import sqlite3
import stat
import struct
import time
from pathlib import Path

from engine.domain.errors import StoreError
from store.private import DIRECTORY_MODE, FILE_MODE, beside, create_file, make_directory, settle, tighten
from store.rows import AGENT_TABLES, SHARED_TABLES
from store.sqlite.schema import Kind, latest, migrate, version_of

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
VERSION_AT = 60
CHECKED_WHOLE_BYTES = 64 * 1024 * 1024
COMPANIONS = ("-wal", "-shm", "-journal")
SINCE_THE_FIRST: dict[Kind, str] = {"agent": "credentials", "shared": "sessions"}
DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")


class Unusable(Exception):
    """The content is no state of ours; its text says why. Never raised for a disk or a lock that is in the way."""


def open_file(path: Path, kind: Kind, *, busy_timeout_ms: int, notes: list[str], move_aside: bool = True) -> sqlite3.Connection:
    """A connection to the file at the latest version, which exists afterwards with mode 0600. An unreadable one was moved aside and a
    new one begun; notes gains what was done. Raises StoreError for a newer version, sqlite3.Error and OSError for a disk or lock in the
    way, Unusable if `move_aside` is off."""
    make_directory(path.parent)
    try:
        return _opened(path, kind, busy_timeout_ms, notes)
    except Unusable as problem:
        if not move_aside:
            raise
        kept = set_aside(path)
        notes.append(f"{path} could not be read ({problem}); it was kept as {kept.name}, and a new file was begun")
    return _opened(path, kind, busy_timeout_ms, notes)


def _opened(path: Path, kind: Kind, busy_timeout_ms: int, notes: list[str]) -> sqlite3.Connection:
    if not os.path.lexists(path):
        _create(path, kind)
    _inspect(path, kind)
    notes.extend(note for note in (tighten(Path(f"{path}{suffix}")) for suffix in ("", *COMPANIONS)) if note)
    connection = sqlite3.connect(path, timeout=busy_timeout_ms / 1000, isolation_level=None)
    try:
        # Foreign bytes in a text column must not make a whole table unreadable.
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        refuse_newer(connection, path, kind)
        if _foreign(connection, kind):
            raise Unusable("somebody else's database")
        migrate(connection, kind)
        _check(connection, path, kind)
        # Last, because it writes to the file: a file that is set aside is kept as it was.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.DatabaseError as problem:
        connection.close()
        if error_name(problem).startswith(DAMAGED):
            raise Unusable(str(problem)) from problem
        raise
    except BaseException:
        connection.close()
        raise
    return connection


def _foreign(connection: sqlite3.Connection, kind: Kind) -> bool:
    """Tables, and not those that every version of ours has had: such a file is not migrated, it would no longer be as it was."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return bool(tables) and (version_of(connection) == 0 or SINCE_THE_FIRST[kind] not in tables)


def _create(path: Path, kind: Kind) -> None:
    """A file that appears under its name is complete: an empty one is a damaged one, and no other process ever finds a half made one."""
    draft = beside(path)
    os.close(create_file(draft))  # SQLite gives its companions (-wal, -shm) the mode that the file has
    try:
        connection = sqlite3.connect(draft, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            migrate(connection, kind)
        finally:
            connection.close()
        settle(draft, path)
    finally:
        for leftover in ("", *COMPANIONS):
            Path(f"{draft}{leftover}").unlink(missing_ok=True)


def _inspect(path: Path, kind: Kind) -> None:
    """Looks at the bytes alone: opening a database writes beside it, and a newer file is not to be touched. Raises Unusable, StoreError."""
    try:
        info = path.stat()
    except FileNotFoundError:
        raise Unusable("a link that leads nowhere") from None
    if not stat.S_ISREG(info.st_mode):
        raise Unusable("not a regular file")
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        raise Unusable("empty" if not header else "cut short")
    if not header.startswith(MAGIC):
        raise Unusable("not an SQLite file")
    version = struct.unpack_from(">I", header, VERSION_AT)[0]
    if version > latest(kind):
        raise _newer(path, version, kind)


def _check(connection: sqlite3.Connection, path: Path, kind: Kind) -> None:
    tables = AGENT_TABLES if kind == "agent" else SHARED_TABLES
    for table in tables:
        connection.execute(f"SELECT position, key, record FROM {table} LIMIT 0")
    # A check reads every page: of a file with a long decision log only those that decisions need.
    checks = [f"PRAGMA quick_check({table})" for table in tables]
    for check in ["PRAGMA quick_check(1)"] if path.stat().st_size <= CHECKED_WHOLE_BYTES else checks:
        if connection.execute(check).fetchone()[0] != "ok":
            raise Unusable("damaged")


def error_name(problem: Exception) -> str:
    """`SQLITE_BUSY` and the like; empty for what SQLite did not raise."""
    return str(getattr(problem, "sqlite_errorname", None) or "")


def refuse_newer(connection: sqlite3.Connection, path: Path, kind: Kind) -> None:
    """Raises StoreError: a newer program has migrated the file, also while this one was running."""
    version = version_of(connection)
    if version > latest(kind):
        raise _newer(path, version, kind)


def _newer(path: Path, version: int, kind: Kind) -> StoreError:
    return StoreError(
        "This state was written by a newer version of failover",
        f"{path} has version {version}; this program knows {latest(kind)}. The file was not touched.",
        "install the newer version, or use another directory with --state-dir",
    )


def set_aside(path: Path) -> Path:
    """Renames the file and its companions to `*.unreadable-<UTC time>`, closed to others; the new path. Raises OSError."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = path.with_name(f"{path.name}.unreadable-{stamp}")
    number = 1
    while os.path.lexists(aside):
        number += 1
        aside = path.with_name(f"{path.name}.unreadable-{stamp}-{number}")
    # The companions first: a log that is left behind would be played into the new file.
    for suffix in (*COMPANIONS, ""):
        part = Path(f"{path}{suffix}")
        if os.path.lexists(part):
            if not part.is_symlink():
                part.chmod(DIRECTORY_MODE if part.is_dir() else FILE_MODE)
            part.rename(f"{aside}{suffix}")
    return aside
