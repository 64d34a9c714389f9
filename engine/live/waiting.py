"""A wait of a turn that can be given up: its caller may leave at any time, its budget may end. What was given up is cancelled at once, in
the turn's own task, so that it cleans up where it waits. What giving up means for the turn is the driver's and the rules' business."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from engine.domain.exchange import Answer
from engine.live.turn import LiveTurn

log = logging.getLogger("failover.live")

T = TypeVar("T")


class Stopped:
    """The wait did not end by itself: the caller left, or (late) its time was up."""

    def __init__(self, late: bool) -> None:
        self.late = late


class Waits:
    """The waits of one turn, one at a time, in the turn's own task."""

    def __init__(self, turn: LiveTurn) -> None:
        self._turn = turn

    async def run(self, work: Coroutine[Any, Any, T], limit_s: float | None) -> T | Stopped:
        """What `work` brings, or raises; Stopped when the caller left or `limit_s` real seconds are over."""
        if self._turn.cancelled:
            work.close()
            return Stopped(late=False)
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        given_up: list[Stopped] = []

        def give_up(late: bool) -> None:
            # Once only: a second cancellation would hit whatever the turn waits for next.
            if not given_up:
                given_up.append(Stopped(late))
                task.cancel()

        self._turn.on_cancel(lambda: give_up(False))
        timer = loop.call_later(limit_s, give_up, True) if limit_s is not None else None
        try:
            return await work
        except asyncio.CancelledError:
            # More than our own request to cancel: the process stops.
            if not given_up or task.uncancel() > 0:
                raise
            return given_up[0]
        finally:
            self._turn.on_cancel(None)
            if timer is not None:
                timer.cancel()


async def close_answer(answer: Answer) -> None:
    """Never raises: the answer is no longer wanted."""
    try:
        await answer.aclose()
    except Exception:
        log.exception("closing an answer failed")
