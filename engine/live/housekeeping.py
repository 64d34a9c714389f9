"""What must be looked at now and then, in one ticker (design.md): other processes' writes, the store's health, windows and pins that end,
the configuration file, references to secrets, the two clocks. Each look is short or runs beside; a slow one delays nothing else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from engine.domain.settings import Settings
from engine.live.endings import Endings
from engine.live.foreign import ForeignWrites
from engine.live.health import sound_alarms
from engine.live.parts import Parts
from engine.live.records import DerivedSessions
from engine.live.reload import ConfigWatch
from engine.policy.pins import pin_is_user

log = logging.getLogger("failover.live")

TICK_S = 0.25
CONFIG_EVERY = 4
SECRETS_EVERY = 8
CLOCK_APART_MS = 60_000
CLOCK_FOR_MS = 60_000
CLOCK = "clock"


class WallClock:
    """`window.clock`: which clock blocks and token ends are judged by: `now`, or the wall clock once both have been more than a minute
    apart for a minute."""

    def __init__(self, now_ms: Callable[[], int], wall_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._wall_ms = wall_ms
        self._apart_since: int | None = None
        self.trusted = False

    def __call__(self) -> int:
        return self._wall_ms() if self.trusted else self._now_ms()

    def look(self) -> int:
        """How far the wall clock is ahead; `trusted` is up to date then."""
        now = self._now_ms()
        ahead = self._wall_ms() - now
        if abs(ahead) <= CLOCK_APART_MS:
            self._apart_since, self.trusted = None, False
        elif self._apart_since is None:
            self._apart_since = now
        else:
            self.trusted = now - self._apart_since >= CLOCK_FOR_MS
        return ahead


class Housekeeping:
    """`run` until cancelled; `tick` does one round. read_secrets: finds out which references cannot be resolved."""

    def __init__(
        self,
        parts: Parts,
        wall: WallClock,
        endings: Endings,
        foreign: ForeignWrites,
        config: ConfigWatch,
        derived: DerivedSessions,
        settings: Callable[[], Settings],
        read_secrets: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self._parts = parts
        self._wall = wall
        self._endings = endings
        self._foreign = foreign
        self._config = config
        self._derived = derived
        self._settings = settings
        self._read_secrets = read_secrets
        self._beside: dict[str, asyncio.Task[Any]] = {}
        self._rounds = 0
        self._seen_revision = -1

    async def run(self) -> None:
        while True:
            due_ms = self._endings.due_in_ms()
            soon = self._parts.real_s(due_ms) if due_ms is not None else TICK_S
            await asyncio.sleep(min(TICK_S, max(0.005, soon)))
            try:
                self.tick()
            except Exception:
                # The next round may work; without the ticker the console would show a world that stands still.
                log.exception("internal error in housekeeping")

    def tick(self) -> list[asyncio.Task[Any]]:
        """One round; what runs beside comes back."""
        self._rounds += 1
        self._parts.writer.look()
        self._parts.leases.look()
        self._run_beside("foreign", self._foreign.merge)
        self._endings.look()
        self._derived.expire(self._parts.clock.now_ms())
        if self._rounds % CONFIG_EVERY == 0:
            self._run_beside("config", self._config.look)
            self._look_at_clocks()
        if self._rounds % SECRETS_EVERY == 0:
            self._run_beside("secrets", self._read_secrets)
        if self._parts.revision.value != self._seen_revision:
            memory = self._parts.memory
            pinned = [key for key, session in memory.sessions.items() if session.pinned_by is not None and pin_is_user(session)]
            sound_alarms(self._parts, self._settings(), pinned)
            self._seen_revision = self._parts.revision.value
        return list(self._beside.values())

    def _run_beside(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if name not in self._beside:
            task = self._parts.spawn(_logged(work()), f"failover-{name}")
            self._beside[name] = task
            task.add_done_callback(lambda _: self._beside.pop(name, None))

    def _look_at_clocks(self) -> None:
        ahead_s = round(self._wall.look() / 1000)
        if self._wall.trusted:
            word = "ahead of" if ahead_s > 0 else "behind"
            text = f"the system clock is {abs(ahead_s)} s {word} the time that passed since the start: blocks and token ends go by it now"
            # The figure would make it another alarm every second.
            if not self._parts.alarms.stands(CLOCK):
                self._parts.alarms.sound(CLOCK, text)
        else:
            self._parts.alarms.lower(CLOCK)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception:
        log.exception("internal error in housekeeping")
