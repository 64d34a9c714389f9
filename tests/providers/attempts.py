"""How a test makes one attempt against the fake provider."""

from __future__ import annotations

import json
from typing import Any

from engine.domain.exchange import Answer, AttemptFailed, Payload
from engine.domain.failure import Failure
from engine.domain.ids import ModelRef
from engine.domain.settings import ProviderSettings
from engine.providers.client import HttpUpstream


class Attempts:
    """Makes attempts with one client. settings: of the provider, changed by a test as it likes."""

    def __init__(self, base_url: str) -> None:
        self.slept: list[float] = []
        self.upstream = HttpUpstream(sleep=self._sleep, wall_ms=lambda: 1_767_603_600_000)
        self.settings: dict[str, Any] = {"id": "acme", "base_url": base_url, "api": "openai-completions"}

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def __call__(
        self,
        body: dict[str, Any] | None = None,
        *,
        stream: bool = False,
        secret: str | None = "k1",
        limit_ms: int | None = None,
        retry_max_wait_ms: int | None = 60_000,
        headers: dict[str, str] | None = None,
        **settings: Any,
    ) -> Answer | AttemptFailed:
        body = {"model": "asked", "messages": [{"role": "user", "content": "hi"}], **({"stream": True} if stream else {}), **(body or {})}
        payload = Payload("openai-completions", body, json.dumps(body).encode(), stream, headers or {})
        provider = ProviderSettings(**{**self.settings, **settings})
        return await self.upstream.attempt(
            provider, ModelRef("acme", "big"), secret, payload, limit_ms=limit_ms, retry_max_wait_ms=retry_max_wait_ms
        )


async def text_of(answer: Answer | AttemptFailed) -> bytes:
    assert not isinstance(answer, AttemptFailed), answer
    return b"".join([chunk async for chunk in answer.chunks()])


def failure_of(got: Answer | AttemptFailed) -> Failure:
    assert isinstance(got, AttemptFailed), got
    return got.failure
