"""The console's hold on an engine: the last good snapshot, how old it is, and what stands in the way of a newer one.

It follows; it sends no acts and draws nothing. One refresher asks for snapshots when events came, at most four times a second, and
now and then without; one listener counts events. Both go on through anything the engine or the network does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping

from engine.domain.errors import FailoverError
from engine.domain.operations import Operations
from engine.domain.snapshot import Snapshot

MERGE_S = 0.25
REFRESH_S = 2.0
_PATIENCE_S = 8.0
_BACKOFF_S = (0.5, 1.0, 2.0, 4.0, 5.0)
# A snapshot that takes long to make or carry is asked for less often: following must never be the engine's main work. But a loss shows
# within 10 s (field report M05), which is two periods and a tick later.
_SHARE = 8
_LONGEST_S = 3.5


class Link:
    """snapshot: the last good one; received_at: when, on `clock`; trouble: why there is none newer, None while all is well."""

    def __init__(
        self,
        operations: Operations,
        clock: Callable[[], int],
        on_change: Callable[[], None],
        *,
        refresh_s: float = REFRESH_S,
        on_event: Callable[[Mapping[str, object]], None] = lambda data: None,
    ) -> None:
        self.snapshot: Snapshot | None = None
        self.received_at = 0
        self.trouble: str | None = None
        self.events = 0
        self.period_s = refresh_s
        self._operations = operations
        self._clock = clock
        self._on_change = on_change
        self._on_event = on_event
        self._refresh_s = refresh_s
        self._pause_s = MERGE_S
        self._news = asyncio.Event()
        self._last_seq: int | None = None

    @property
    def age_ms(self) -> int:
        """Of the snapshot, in real time."""
        return max(0, self._clock() - self.received_at) if self.snapshot is not None else 0

    @property
    def stale(self) -> bool:
        """Two refresh periods have passed without a snapshot."""
        return self.snapshot is not None and self.age_ms > 2 * self.period_s * 1000

    def nudge(self) -> None:
        """Something was done: look at once."""
        self._news.set()

    async def run(self) -> None:
        """Follow until cancelled."""
        listener = asyncio.create_task(self._listen(), name="console-events")
        try:
            await self._refresh_for_ever()
        finally:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)

    async def _refresh_for_ever(self) -> None:
        failures = 0
        while True:
            self._news.clear()
            if await self._guarded(self._fetch):
                failures = 0
                await self._wait(self.period_s, self._pause_s)
            else:
                pause = _BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)]
                failures += 1
                await self._wait(pause, pause)

    async def _wait(self, longest_s: float, shortest_s: float) -> None:
        """Between `shortest_s` and `longest_s`, ended by news in between."""
        await asyncio.sleep(shortest_s)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, longest_s - shortest_s)):
                await self._news.wait()

    async def _fetch(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        # Not wait_for: up to Python 3.11 it loses a cancellation that comes together with the answer, and the screen does not end.
        async with asyncio.timeout(_PATIENCE_S):
            snapshot = await self._operations.snapshot()
        took = loop.time() - began
        rare_s = min(took * _SHARE, _LONGEST_S)
        self.period_s = max(self._refresh_s, rare_s)
        self._pause_s = max(MERGE_S, rare_s / 2)
        changed = self.trouble is not None or self.stale or self.snapshot is None or _differ(self.snapshot, snapshot)
        self.snapshot, self.received_at, self.trouble = snapshot, self._clock(), None
        if changed:
            self._on_change()

    async def _listen(self) -> None:
        failures = 0
        while True:
            heard = self.events
            await self._guarded(self._consume, quiet=True)
            # That the stream ended is the first sign of a loss.
            self._news.set()
            failures = 0 if self.events > heard else failures
            await asyncio.sleep(_BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)])
            failures += 1

    async def _consume(self) -> None:
        async for event in self._operations.events(self._last_seq):
            self._last_seq = event.seq
            self.events += 1
            self._on_event(event.data)
            self._news.set()

    async def _guarded(self, work: Callable[[], Awaitable[None]], *, quiet: bool = False) -> bool:
        """True when it went well. Whatever else it raises becomes `trouble`: a broken engine is a banner, never a traceback."""
        try:
            await work()
        except FailoverError as error:
            text = ": ".join(part for part in (error.title, error.happened) if part)
        except TimeoutError:
            text = f"the engine did not answer within {_PATIENCE_S:g} s"
        except Exception as error:
            # The name of the kind only: an unexpected error's text may quote a request, and with it a secret.
            text = f"{type(error).__name__} while reading from the engine"
        else:
            return True
        if not quiet and text != self.trouble:
            self.trouble = text
            self._on_change()
        return False


def _differ(old: Snapshot, new: Snapshot) -> bool:
    """Whether there is anything to draw; the engine's clock alone is not."""
    return (old.revision, old.traffic, old.alarms, old.warnings, old.draining, old.undo, old.mode, old.speed) != (
        new.revision, new.traffic, new.alarms, new.warnings, new.draining, new.undo, new.mode, new.speed,
    )  # fmt: skip
