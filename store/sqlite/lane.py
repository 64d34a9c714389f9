"""The one writer of one file: groups what waits into transactions, keeps it while the file cannot be written, and says what is wrong.
A lane a file, so that a locked or damaged file holds up nothing but itself. Knows no SQL, no connections and no fields."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from engine.domain.errors import StoreError
from engine.domain.store import Change
from store.backlog import Backlog, Unit, fold
from store.sqlite.database import Database
from store.sqlite.rows import Outcome
from store.sqlite.trouble import explain, is_passing

log = logging.getLogger("failover.store")

SAID_AGAIN_S = 30.0
"""A file that fails and works by turns is not told more often."""


@dataclass(frozen=True, slots=True)
class Timing:
    """group_ms: how long an enqueued change may wait for company. retry_ms: between attempts while the file cannot be written.
    busy_timeout_ms: how long one attempt waits for another process's lock."""

    group_ms: int = 100
    retry_ms: int = 1000
    busy_timeout_ms: int = 2000


class Lane:
    """All calls come from one event loop. trouble: why the file cannot be written, one sentence; None when it can."""

    def __init__(self, database: Database, timing: Timing) -> None:
        self.database = database
        self.trouble: str | None = None
        self._timing = timing
        self._backlog = Backlog()
        self._writing: list[Unit] = []
        self._overtaken: list[Unit] | None = None
        self._wake, self._urgent = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self._told = False
        self._quiet_until = 0.0

    def enqueue(self, changes: Sequence[Change]) -> None:
        """Written within `group_ms`, in order, and tried again for as long as it takes."""
        if self._closing:
            log.error("%s is closed: %d changes are lost", self.database.path, len(changes))
        else:
            self._add(Unit(tuple(changes)))

    def submit(self, changes: Sequence[Change]) -> asyncio.Future[tuple[bool, ...]]:
        """Written at once, after everything enqueued before; the future raises StoreError. Cancelling it takes nothing back: the
        changes are then written as if they had been enqueued."""
        answer: asyncio.Future[tuple[bool, ...]] = asyncio.get_running_loop().create_future()
        if self._closing:
            answer.set_exception(self._closed())
        elif not changes and not self.is_busy and not self.trouble:
            answer.set_result(())
        else:
            self._add(Unit(tuple(changes), answer))
            self._urgent.set()
        return answer

    @property
    def is_busy(self) -> bool:
        """Something waits to be written or is being written."""
        return bool(self._backlog or self._writing)

    @property
    def waiting(self) -> list[Change]:
        """Not known to be written yet, oldest first."""
        return _changes(self._writing, self._backlog.units)

    async def look(self) -> bool:
        """True if another process wrote since the last look. Raises StoreError."""
        changed = await self.database.foreign_write()
        # What is being written from here on may be missing in a read that follows: `unwritten` tells it.
        self._overtaken = list(self._writing)
        return changed

    def unwritten(self) -> list[Change]:
        """What a read since the last `look` may lack, oldest first; nothing is remembered for a next call."""
        overtaken, self._overtaken = self._overtaken, None
        taken = self._writing if overtaken is None else [unit for unit in overtaken if not unit.has_failed]
        return _changes(taken, self._backlog.units)

    async def close(self) -> None:
        """What waits is written if it can be; every connection is closed. Safe to call twice."""
        self._closing = True
        try:
            if self._task is not None:
                self._wake.set()
                self._urgent.set()
                await asyncio.wait([self._task])
                self._task = None
            if self._backlog:
                log.error("%s was closed with %d changes unwritten: %s", self.database.path, len(self._backlog), self.trouble)
        finally:
            await self.database.close()

    # --- the writer ------------------------------------------------------------------------------------------------------

    def _add(self, unit: Unit) -> None:
        self._backlog.add(unit)
        self._wake.set()
        if self._task is None:
            self._task = asyncio.create_task(self._serve(), name=f"writer of {self.database.path.name}")

    async def _serve(self) -> None:
        try:
            while True:
                await self._wake.wait()
                delay_ms = self._timing.retry_ms if self.trouble else self._timing.group_ms
                with suppress(TimeoutError):
                    async with asyncio.timeout(delay_ms / 1000):
                        await self._urgent.wait()
                self._wake.clear()
                self._urgent.clear()
                await self._write_all()
                if self._closing and (self.trouble or not self._backlog):
                    return
        finally:
            self._closing = True
            for unit in (*self._writing, *self._backlog.units):
                if unit.answer is not None and not unit.answer.done():
                    unit.answer.set_exception(self._closed())

    async def _write_all(self) -> None:
        # A busy second stamps the same profile hundreds of times: one patch says it all.
        self._writing = units = fold(self._backlog.take())
        if self._overtaken is not None:
            self._overtaken.extend(units)
        try:
            outcomes = await self._attempt([unit.changes for unit in units])
        except Exception as problem:
            await self._failed(units, problem)
        else:
            self._written(units, outcomes)
        self._writing = []

    async def _attempt(self, units: Sequence[Sequence[Change]]) -> Sequence[Outcome]:
        if any(units):
            return await self.database.write(units)
        if self.trouble:
            await self.database.probe()
        return [()] * len(units)

    def _written(self, units: Sequence[Unit], outcomes: Sequence[Outcome]) -> None:
        if self.trouble:
            if self._told:
                log.warning("%s can be written again; %d log records found no room", self.database.path, self._backlog.dropped)
            self.trouble, self._told, self._backlog.dropped = None, False, 0
        for unit, outcome in zip(units, outcomes, strict=True):
            answer = unit.answer if unit.answer is not None and not unit.answer.done() else None
            if not isinstance(outcome, Exception):
                if answer is not None:
                    answer.set_result(outcome)
                continue
            kinds = ", ".join(sorted({type(change).__name__ for change in unit.changes}))
            happened = f"{kinds}: {type(outcome).__name__}: {outcome}"
            error = StoreError("A change cannot be stored", happened, "this is a defect; please report it")
            if answer is not None:
                answer.set_exception(error)
            else:
                log.error("%s", error)

    async def _failed(self, units: Sequence[Unit], problem: Exception) -> None:
        kept: list[Unit] = []
        for unit in units:
            if unit.answer is not None and not unit.answer.done():
                unit.answer.set_exception(explain(self.database.path, problem))
            elif unit.changes:
                kept.append(Unit(unit.changes))
        self._backlog.put_back(kept)
        self._wake.set()  # also with nothing to write: the alarm must end by itself
        trouble = explain(self.database.path, problem).happened
        now = asyncio.get_running_loop().time()
        if trouble != self.trouble and now >= self._quiet_until:
            self._told, self._quiet_until = True, now + SAID_AGAIN_S
            log.error("%s Changes wait in memory.", trouble)
        self.trouble = trouble
        if not is_passing(problem):
            await self.database.reconnect()

    def _closed(self) -> StoreError:
        return StoreError("State could not be written", f"{self.database.path} is closed.", "start again")


def _changes(*groups: Sequence[Unit]) -> list[Change]:
    return [change for units in groups for unit in units for change in unit.changes]


USUAL = Timing()
