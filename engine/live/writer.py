"""Writing through (spec/store.md): everything goes into one ordered queue, and who needs durability waits for the queue to be through,
for a bounded time. So a locked disk delays an override by a second at most and a rotation not at all. What must be durable when is
said by the rules and the driver; how it is stored by the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from engine.domain.errors import StoreError
from engine.domain.store import Change, StateStore
from engine.live.alarms import Alarms

SETTLE_S = 1.0
"""`override.persist-first`: after so long the turn goes on, degraded, and an alarm says so."""

CALM_S = 10.0
"""So long must writing have worked before trouble is over: a disk with room for small writes fails with every large one."""

SLOW = "store_slow"
TROUBLE = "store"


class Writer:
    """alarms is set once the engine has put itself together: the alarms' feed lines come through here, too. monotonic: real seconds."""

    alarms: Alarms

    def __init__(self, store: StateStore, monotonic: Callable[[], float], settle_s: float | None = None) -> None:
        self._store = store
        self._monotonic = monotonic
        self._failed_at = 0.0
        self._settle_s = SETTLE_S if settle_s is None else settle_s
        self._sent = 0
        self._through = 0
        self._running: asyncio.Task[bool] | None = None
        self._waiting: asyncio.Task[bool] | None = None

    def put(self, changes: Sequence[Change]) -> None:
        """Written within 100 ms; never blocks, never raises."""
        if changes:
            self._sent += 1
            self._store.enqueue(changes)

    async def settle(self) -> bool:
        """Waits until everything put so far is durable. False: it took too long or the store is in trouble; the alarm stands then, and
        the store goes on trying by itself."""
        if self._through == self._sent:
            return True
        barrier = self._barrier()
        await asyncio.wait({barrier}, timeout=self._settle_s)
        if barrier.done():
            return barrier.result()
        self.alarms.sound(SLOW, f"state is not durable: the store did not answer within {self._settle_s:g} s; traffic goes on")
        return False

    async def commit(self, changes: Sequence[Change]) -> Sequence[bool]:
        """Durable when it returns, with everything put before; one answer a change. Raises StoreError: nothing of it was written."""
        return await self._store.commit(changes)

    def look(self) -> None:
        """Called now and then: has what was put arrived, is the store well? Alarms are lowered here when it is."""
        trouble = self._store.trouble
        if trouble is not None:
            self._sound(trouble)
        elif self.alarms.stands(SLOW) and self._waiting is None:
            self._barrier()
        else:
            self._well()

    @property
    def slow(self) -> bool:
        """The store was last seen stalled."""
        return self.alarms.stands(SLOW)

    async def finish(self) -> None:
        """Lets the barriers end; the store is about to be closed, which flushes it."""
        pending = [task for task in (self._running, self._waiting) if task is not None]
        if pending:
            await asyncio.wait(pending, timeout=self._settle_s)
        for task in pending:
            task.cancel()

    def _sound(self, trouble: str) -> None:
        self._failed_at = self._monotonic()
        text = f"state cannot be written: {trouble} The last good state is kept, traffic goes on."
        # One disk's trouble has many words, by file and by what was tried: told once, shown as it is.
        self.alarms.sound(TROUBLE, text, quietly=self.alarms.stands(TROUBLE))

    def _well(self) -> None:
        if self._monotonic() - self._failed_at >= CALM_S:
            self.alarms.lower(TROUBLE)

    def _barrier(self) -> asyncio.Task[bool]:
        # At most one in work and one waiting, however many turns wait: the next one covers all that was put meanwhile.
        if self._waiting is None:
            self._waiting = asyncio.create_task(self._flush(self._running), name="failover-store-barrier")
        return self._waiting

    async def _flush(self, before: asyncio.Task[bool] | None) -> bool:
        if before is not None:
            await asyncio.wait({before})
        self._running, self._waiting = self._waiting, None
        sent = self._sent
        try:
            await self._store.commit(())
        except StoreError as error:
            self._sound(error.happened or error.title)
            return False
        finally:
            self._running = None
        trouble = self._store.trouble
        if trouble is not None:
            self.look()
            return False
        self._through = max(self._through, sent)
        self.alarms.lower(SLOW)
        self._well()
        return True
