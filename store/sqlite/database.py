"""One open file: its connections, when they are made anew, and whether another process wrote to it. Has no queue and retries nothing:
that is `store.sqlite.lane`. Raises the errors of SQLite and of the disk as they come; readers get them in words."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from engine.domain.decisions import Matching
from engine.domain.store import Change
from store.sqlite.connection import FileThread, connected, connected_for_reading
from store.sqlite.files import open_file, refuse_newer
from store.sqlite.loading import Loaded, load
from store.sqlite.rows import Outcome, data_version, read_decisions, write
from store.sqlite.schema import Kind, probe
from store.sqlite.trouble import explain

T = TypeVar("T")


class Database:
    """Opened at its first use. notes: what had to be done to open it. transactions: how many were committed."""

    def __init__(self, path: Path, kind: Kind, busy_timeout_ms: int) -> None:
        self.path = path
        self.kind: Kind = kind
        self.notes: list[str] = []
        self.transactions = 0
        self._busy_timeout_ms = busy_timeout_ms
        self._opening, self._reading = asyncio.Lock(), asyncio.Lock()
        self._connection: FileThread | None = None
        self._reader: FileThread | None = None
        self._opened_before = False
        self._seen: int | None = None

    async def write(self, units: Sequence[Sequence[Change]]) -> Sequence[Outcome]:
        """One transaction (`store.sqlite.rows.write`)."""
        connection = await self._ready()
        outcomes = await connection.run(partial(write, units=units, admit=self._admit))
        self.transactions += 1
        return outcomes

    async def probe(self) -> None:
        """Raises while the file cannot be written."""
        await (await self._ready()).run(probe)

    async def open(self) -> Loaded:
        """The file is open, and this lies in it. Raises StoreError."""
        return await self._read(self._ready)

    async def load(self) -> Loaded:
        """What lies in the file. Raises StoreError."""
        # Agents' files are short: a thread more for each of them would cost more than a read that holds up a write.
        return await self._read(self._read_connection if self.kind == "shared" else self._ready)

    async def _read(self, source: Callable[[], Awaitable[FileThread]]) -> Loaded:
        where = f"{self.path.parent.name}/{self.path.name}" if self.kind == "agent" else self.path.name
        return await self._ask(source, lambda connection: load(connection, self.kind, where))

    async def decisions(self, session: str | None, turn: str | None, limit: int, matching: Matching) -> list[Mapping[str, object]]:
        """Newest first. Raises StoreError."""
        return await self._ask(self._read_connection, lambda connection: read_decisions(connection, session, turn, limit, matching))

    async def foreign_write(self) -> bool:
        """True if another process wrote since the last call. False while the file is not open. Raises StoreError."""
        if self._connection is None:
            return False
        version = await self._ask(self._ready, data_version)
        changed, self._seen = version != self._seen, version
        return changed

    def forget_seen(self) -> None:
        """The next `foreign_write` is True: what the last one announced could not be read."""
        self._seen = None

    async def reconnect(self) -> None:
        """The next use opens the file again; the next `foreign_write` is True."""
        connection, self._connection, self._seen = self._connection, None, None
        if connection is not None:
            with suppress(Exception):
                await connection.close()

    async def close(self) -> None:
        await self.reconnect()
        reader, self._reader = self._reader, None
        if reader is not None:
            with suppress(Exception):
                await reader.close()

    async def _ask(self, source: Callable[[], Awaitable[FileThread]], question: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await (await source()).run(question)
        except Exception as problem:
            raise explain(self.path, problem, reading=True) from problem

    async def _ready(self) -> FileThread:
        async with self._opening:
            if self._connection is None:
                open_it = partial(
                    open_file,
                    self.path,
                    self.kind,
                    busy_timeout_ms=self._busy_timeout_ms,
                    notes=self.notes,
                    # Only at the start: later the engine's memory is the better copy, and a passing fault must not cost a file.
                    move_aside=not self._opened_before,
                )
                self._connection = connection = await connected(open_it)
                if not self._opened_before:
                    self._seen = await connection.run(data_version)
                self._opened_before = True
            return self._connection

    async def _read_connection(self) -> FileThread:
        await self._ready()  # makes the file, if need be
        async with self._reading:
            if self._reader is None:
                self._reader = await connected_for_reading(self.path)
            return self._reader

    def _admit(self, connection: sqlite3.Connection) -> None:
        refuse_newer(connection, self.path, self.kind)
