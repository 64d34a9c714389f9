"""A wait of a turn that can be given up: its caller may leave at any time, its budget may end. What was given up is cancelled at once,
and if it brings an answer all the same, that is closed. What giving up means for the turn is the driver's and the rules' business."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from engine.domain.exchange import Answer
from engine.live.parts import Parts
from engine.live.turn import LiveTurn

log = logging.getLogger("failover.live")

T = TypeVar("T")


class Stopped:
    """The wait did not end by itself: the caller left, or (late) its time was up."""

    def __init__(self, late: bool) -> None:
        self.late = late


class Waits:
    def __init__(self, parts: Parts, turn: LiveTurn) -> None:
        self._parts = parts
        self._turn = turn

    async def run(self, work: Coroutine[Any, Any, T], limit_s: float | None) -> T | Stopped:
        """What `work` brings, or raises; Stopped when the caller left or `limit_s` real seconds are over."""
        if self._caller_left():
            work.close()
            return Stopped(late=False)
        task = asyncio.get_running_loop().create_task(work)
        self._turn.on_cancel(task.cancel)
        try:
            await asyncio.wait((task,), timeout=limit_s)
        finally:
            self._turn.on_cancel(None)
            if not task.done():
                task.cancel()
                self._parts.background.add(task)
                task.add_done_callback(self._left_behind)
        if not task.done():
            return Stopped(late=True)
        if self._caller_left():
            # It may have ended in the same moment: what it brought is for nobody.
            self._left_behind(task)
            return Stopped(late=False)
        return task.result()

    def _caller_left(self) -> bool:
        return self._turn.cancelled

    def _left_behind(self, task: asyncio.Task[Any]) -> None:
        self._parts.background.discard(task)
        if task.cancelled():
            return
        if task.exception() is not None:
            log.error("a wait that was given up failed", exc_info=task.exception())
        elif hasattr(task.result(), "aclose"):
            self._parts.spawn(close_answer(task.result()), "failover-close-answer")


async def close_answer(answer: Answer) -> None:
    """Never raises: the answer is no longer wanted."""
    try:
        await answer.aclose()
    except Exception:
        log.exception("closing an answer failed")
