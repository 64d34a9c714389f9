"""Waiting for somebody else's trial (`gate.single-flight`): who waits is woken when one of the trials it named ends. Which trials there
are is memory's business; who must wait for them, the gate's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from engine.domain.ids import TurnId
from engine.domain.leases import Trial
from engine.live.memory import Memory


class TrialBell:
    """freed: told of each trial that ended, before those who wait for it."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.freed: Callable[[Trial], None] = lambda trial: None
        self._waiting: dict[Trial, set[asyncio.Future[None]]] = {}

    async def wait(self, trials: Sequence[Trial]) -> None:
        """Returns when one of them is no longer in flight: at once if that is so already."""
        if not all(trial in self._memory.trials for trial in trials):
            return
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for trial in trials:
            self._waiting.setdefault(trial, set()).add(ended)
        try:
            await ended
        finally:
            for trial in trials:
                waiters = self._waiting.get(trial)
                if waiters is not None:
                    waiters.discard(ended)
                    if not waiters:
                        del self._waiting[trial]

    def ring(self, trial: Trial) -> None:
        """That trial was released."""
        self.freed(trial)
        for waiter in self._waiting.get(trial, ()):
            if not waiter.done():
                waiter.set_result(None)

    def release_all(self, turn: TurnId) -> None:
        """The turn is over: whatever it held is free."""
        held = [trial for trial, holder in self._memory.trials.items() if holder == turn]
        self._memory.release_trials(turn)
        for trial in held:
            self.ring(trial)
