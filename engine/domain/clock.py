"""Time at the borders (`window.clock`): decision code gets `now` passed in and never reads a clock."""

import time
from collections.abc import Callable
from functools import partial
from typing import Protocol


class Clock(Protocol):
    """now_ms: the engine's now, epoch ms: the wall clock at start plus monotonic time. wall_ms: the wall clock itself."""

    def now_ms(self) -> int: ...

    def wall_ms(self) -> int: ...


_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)
# It counts suspend; elsewhere the plain monotonic clock is the best there is.
_monotonic_ns: Callable[[], int] = partial(time.clock_gettime_ns, _BOOTTIME) if _BOOTTIME is not None else time.monotonic_ns


class SystemClock:
    """Wall clock at construction plus monotonic time (counts suspend), times `speed` (the demo's policy time)."""

    def __init__(self, speed: float = 1.0) -> None:
        self._speed = speed
        self._wall_at_start = time.time_ns()
        self._start = _monotonic_ns()

    def now_ms(self) -> int:
        return int(self._wall_at_start + (_monotonic_ns() - self._start) * self._speed) // 1_000_000

    def wall_ms(self) -> int:
        return self.now_ms() if self._speed != 1.0 else time.time_ns() // 1_000_000
