"""A database with a thread of its own. Only here is aiosqlite known: what is written and why is the callers' business.

A whole transaction is one function on that thread, not one call a statement: nothing can be cancelled half way through it, and
a batch of a hundred changes costs the event loop one hop.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import aiosqlite

T = TypeVar("T")


class FileThread(aiosqlite.Connection):
    """Made by `connected`. `close` must be awaited, also after errors: the thread keeps the process alive."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connect, 64)
        self._stopping: asyncio.Future[Any] | None = None

    def stop(self) -> asyncio.Future[Any] | None:
        self._stopping = super().stop()
        return self._stopping

    async def stopped(self) -> None:
        """The thread takes nothing more from the event loop, which may be closed now. Only after `stop`."""
        if self._stopping is not None:
            await self._stopping

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` returns or raises, done on the thread in the order of the calls. It goes on when the caller is cancelled."""
        # aiosqlite passes single statements on in the same way; it has no public name for passing on a function.
        execute = cast(Any, self)._execute
        return cast(T, await execute(work, self._conn))


async def connected(connect: Callable[[], sqlite3.Connection]) -> FileThread:
    """The connection that `connect` makes on the new thread; without one, no thread is left. Raises what it raises."""
    thread = FileThread(connect)
    try:
        await thread
    except BaseException:
        # aiosqlite has stopped the thread and does not wait for it.
        await thread.stopped()
        raise
    return thread


async def connected_for_reading(path: Path) -> FileThread:
    """A connection that only reads, so that a long read does not hold up the writer. The file exists already."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.execute("PRAGMA query_only = ON")
        return connection

    return await connected(connect)
