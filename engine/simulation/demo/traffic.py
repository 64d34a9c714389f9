"""Clients that send requests through the gateway, each at its own pace, as applications do: they read whole answers, shrug at errors and
go on. They know the gateway's address and nothing else."""

from __future__ import annotations

import asyncio
from random import Random

import httpx

from engine.simulation.demo.cast import CALLERS, Caller, ask

PATIENCE_S = 30.0
REST_S = 1.0
"""After a gateway that does not answer at all."""


async def traffic(gateway: str, seed: int) -> None:
    """Sends until cancelled. Paces are real seconds, whatever the speed of policy time. seed: who asks when."""
    async with httpx.AsyncClient(base_url=gateway, timeout=PATIENCE_S, trust_env=False) as client, asyncio.TaskGroup() as callers:
        for place, caller in enumerate(CALLERS):
            callers.create_task(_call(client, caller, Random(f"{seed}/{place}")))


async def _call(client: httpx.AsyncClient, caller: Caller, random: Random) -> None:
    number = 0
    while True:
        await asyncio.sleep(random.uniform(0.4, 1.6) * caller.every_s if number else random.uniform(0.05, 0.4))
        number += 1
        body, headers = ask(caller, number)
        try:
            async with client.stream("POST", "/v1/chat/completions", json=body, headers=headers) as answer:
                async for _ in answer.aiter_raw():
                    pass
        except httpx.HTTPError:
            # A failed request is what the demo is about; the next one comes anyway.
            await asyncio.sleep(REST_S)
