"""An event loop in a thread of its own. The engine and its gateway live in one when a screen shares their process: a terminal that
nobody reads blocks the screen's loop and must not block traffic (design.md). What runs in the loop is not known here."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs from construction until `stop`. A daemon: a process that must end does not wait for it."""

    def __init__(self, name: str) -> None:
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._end: asyncio.Event
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), name=name, daemon=True)
        self._thread.start()
        self._ready.wait()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Runs in the loop; the result, or the exception, is in the future. Raises RuntimeError after `stop`."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            raise

    def do(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Runs in the loop and waits for it. Raises what it raises, or TimeoutError and cancels it."""
        future = self.submit(work)
        try:
            return future.result(timeout_s)
        except BaseException:
            future.cancel()
            raise

    def stop(self, timeout_s: float = 5.0) -> bool:
        """Cancels what still runs and ends the loop; True when it has ended in time. Safe to call twice."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        self._ready.set()
        await self._end.wait()
