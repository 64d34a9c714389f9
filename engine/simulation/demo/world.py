"""Providers and clients of a demo in a thread of their own with a loop of their own, so that a busy world never slows the gateway that
is being shown. Starts and stops them; what they do is in `provider`, `traffic` and the script."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from random import Random

from engine.domain.clock import Clock
from engine.gateway.thread import LoopThread
from engine.simulation.demo.cast import PLAYERS
from engine.simulation.demo.director import Director
from engine.simulation.demo.loopback import served
from engine.simulation.demo.provider import provider_app
from engine.simulation.demo.script import Scenario, Step
from engine.simulation.demo.traffic import traffic

WAIT_S = 10.0


class DemoWorld:
    """clock: of policy time, the engine's speed. The script begins when traffic does; before that every provider is well."""

    def __init__(self, scenario: Scenario, clock: Clock, *, seed: int = 0) -> None:
        self.director = Director(scenario, clock.now_ms)
        self._seed = seed
        self._thread = LoopThread("demo-world")
        self._stack = contextlib.AsyncExitStack()
        self._traffic: asyncio.Task[None] | None = None

    def start(self) -> Mapping[str, str]:
        """The providers answer; their base URLs by provider."""
        return self._thread.do(self._start(), WAIT_S)

    def begin(self, gateway: str) -> None:
        """The script and the traffic begin. gateway: its address."""
        self._thread.do(self._begin(gateway), WAIT_S)

    def quiet(self) -> None:
        """No more traffic; requests under way are broken off. Safe to call before `begin`."""
        self._thread.do(self._quiet(), WAIT_S)

    def stop(self) -> None:
        """Everything is gone; safe to call twice."""
        # A world that is stopped already has no loop to stop it in.
        with contextlib.suppress(RuntimeError, TimeoutError):
            self._thread.do(self._stop(), WAIT_S)
        self._thread.stop()

    def judge(self, provider: str, model: str, profile: str | None) -> Step | None:
        """What script and hand say about a request now."""
        return self.director.judge(provider, model, profile)

    async def _start(self) -> Mapping[str, str]:
        addresses = {}
        for place, player in enumerate(PLAYERS):
            random = Random(f"{self._seed}/provider/{place}")
            address = await self._stack.enter_async_context(served(provider_app(player, self.judge, random)))
            addresses[player.id] = f"{address}/v1"
        return addresses

    async def _begin(self, gateway: str) -> None:
        self.director.begin()
        self._traffic = asyncio.create_task(traffic(gateway, self._seed))

    async def _quiet(self) -> None:
        if self._traffic is not None:
            self._traffic.cancel()
            await asyncio.gather(self._traffic, return_exceptions=True)

    async def _stop(self) -> None:
        await self._quiet()
        await self._stack.aclose()
