"""A subscription's usage limit that says when it ends: blocked until then, to the millisecond (issue 4, "Must show" 4)."""

from __future__ import annotations

import time
from typing import Any

import pytest

from engine.domain.ids import MAIN_AGENT, ProfileId
from tests.fakes.provider import data, status, stream
from tests.gateway.family_house import family_house
from tests.gateway.test_across_families import CHAT, RESPONSES, post

RESETS_AT = round(time.time()) + 5 * 3600


def limited(**more: Any) -> dict[str, Any]:
    return {"error": {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus", **more}}


@pytest.mark.parametrize("dialect", [RESPONSES, CHAT])
@pytest.mark.parametrize("where", ["answer", "stream"])
async def test_resets_at_is_the_blocks_end_exactly(dialect: str, where: str) -> None:
    async with family_house((RESPONSES, CHAT)) as house:
        told = limited(resets_at=RESETS_AT, resets_in_seconds=1)
        failed = {"type": "response.failed", "response": {"object": "response", "status": "failed", **told}}
        house.providers[RESPONSES].on("*", status(429, told) if where == "answer" else stream(data(failed)))
        answer = await post(house, dialect, streamed=where == "stream")
        assert (answer.status_code, answer.headers["x-failover-served"]) == (200, "chat/m")
        usage = house.engine._parts.memory.agents[MAIN_AGENT].usage[ProfileId("resp:me")]
        assert usage.blocked_until == RESETS_AT * 1000
        assert {kind: n for kind, n in house.engine.open_windows.items() if n} == {"blocked": 1}
        await post(house, dialect, session="later")
        assert len(house.providers[RESPONSES].calls) == 1


async def test_resets_in_seconds_counts_from_now() -> None:
    async with family_house((RESPONSES, CHAT)) as house:
        house.providers[RESPONSES].on("*", status(429, limited(resets_in_seconds=3600)))
        before = time.time() * 1000
        await post(house, RESPONSES, streamed=False)
        after = time.time() * 1000
        blocked = house.engine._parts.memory.agents[MAIN_AGENT].usage[ProfileId("resp:me")].blocked_until
        assert blocked is not None
        assert before + 3_600_000 - 1 <= blocked <= after + 3_600_000


async def test_a_strict_caller_is_told_when_to_come_back() -> None:
    async with family_house((RESPONSES,)) as house:
        house.providers[RESPONSES].on("*", status(429, limited(resets_in_seconds=90)))
        answer = await post(house, RESPONSES, streamed=False)
        assert answer.status_code == 429
        assert 85 <= int(answer.headers["retry-after"]) <= 90
