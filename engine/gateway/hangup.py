"""Notices that a caller went away while its turn runs, and tells the turn. Nothing else is read from the caller here."""

from __future__ import annotations

import asyncio

from engine.gateway.engine_port import Turn
from engine.gateway.reply import Receive

WATCH_AFTER_S = 0.03
"""Most answers of a healthy local provider come sooner, and a task for each would cost more than the rest of this module."""


class HangUp:
    """Watches from construction until `stop`."""

    def __init__(self, receive: Receive, turn: Turn) -> None:
        self._receive = receive
        self._turn = turn
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(WATCH_AFTER_S, self._begin)

    def stop(self) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._watch(), name="failover-hangup")

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._turn.cancel()
