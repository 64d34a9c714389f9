"""Errors of SQLite and of the disk in words for an operator. Decides nothing."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from engine.domain.errors import StoreError
from store.sqlite.files import Unusable, error_name

FULL = ("no space is left on the device", "free some space")
READ_ONLY = ("it is read-only", "make the file and its directory writable")
LOCKED = ("another process holds its lock", "find the process that keeps the database open (fuser, lsof)")
DENIED = ("it cannot be opened", "look at the rights of the file and its directory, and at the space on the disk")
DAMAGED = ("it is damaged", "restart: the file is then moved aside, and a new one is begun")
FAILING = ("the disk answers with an error", "look at the disk")
NO_ROOM = ("it cannot grow", "free some space, or raise the limit on the size of files (ulimit -f)")
GOES_ON = "writing goes on by itself"

# The first that fits: SQLITE_READONLY_DBMOVED and the like begin with the name of their class.
_BY_NAME = (
    ("SQLITE_FULL", FULL),
    ("SQLITE_IOERR_SHMSIZE", NO_ROOM),
    ("SQLITE_READONLY", READ_ONLY),
    ("SQLITE_BUSY", LOCKED),
    ("SQLITE_LOCKED", LOCKED),
    ("SQLITE_CANTOPEN", DENIED),
    ("SQLITE_CORRUPT", DAMAGED),
    ("SQLITE_NOTADB", DAMAGED),
)
_PASSING = frozenset(what for what, _ in (FULL, READ_ONLY, FAILING, NO_ROOM))
_BY_ERRNO = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EFBIG: NO_ROOM,
    errno.EROFS: READ_ONLY,
    errno.EACCES: DENIED,
    errno.EPERM: DENIED,
}


def explain(path: Path, problem: Exception, *, reading: bool = False) -> StoreError:
    """The same text for the same trouble, so that it is one alarm however often it is met. reading: nothing is tried again by itself."""
    if isinstance(problem, StoreError):
        return problem
    what, next_step = FAILING
    if isinstance(problem, Unusable):
        what, next_step = DAMAGED
    elif isinstance(problem, sqlite3.Error):
        name = error_name(problem) or type(problem).__name__
        what, next_step = next((words for prefix, words in _BY_NAME if name.startswith(prefix)), (f"{FAILING[0]} ({name})", FAILING[1]))
    elif isinstance(problem, OSError):
        what, next_step = _BY_ERRNO.get(problem.errno or 0, (problem.strerror or FAILING[0], FAILING[1]))
    else:
        what = f"{type(problem).__name__}: {problem}"
    if reading:
        return StoreError("State could not be read", f"{path}: {what}.", next_step)
    return StoreError(
        "State could not be written", f"{path}: {what}.", f"{next_step}; {GOES_ON}" if what.partition(" (")[0] in _PASSING else next_step
    )


def is_passing(problem: Exception) -> bool:
    """The connection is as good as before: somebody held the lock, or there was no room."""
    return error_name(problem).startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL"))
