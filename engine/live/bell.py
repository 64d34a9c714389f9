"""Waking whoever waits for a change. Each waits on a future of its own, so that giving up one wait disturbs no other; `asyncio.shield`
does the same for two more callbacks a wait, on every chunk of every answer. What changed is looked up by those who wake."""

from __future__ import annotations

import asyncio


class Bell:
    """For one event loop."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        """Until the next `ring`."""
        rung: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(rung)
        try:
            await rung
        except asyncio.CancelledError:
            if rung in self._waiting:
                self._waiting.remove(rung)
            raise

    def ring(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for rung in waiting:
                if not rung.done():
                    rung.set_result(None)
