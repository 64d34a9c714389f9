"""An application as people write one, in each dialect: the official SDKs with their own retries off. It asks again when an answer broke,
and knows that only from the SDK's exception. For tests alone."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import anthropic
import openai

DIALECTS = ("openai-completions", "openai-responses", "anthropic-messages")
QUESTION: Any = [{"role": "user", "content": "hello?"}]
TRIES = 3


@dataclass(frozen=True)
class Got:
    """text: of the last answer. broke: how many answers had broken before it. served: the model behind it. refused: its error's status."""

    text: str = ""
    broke: int = 0
    served: str = ""
    refused: int | None = None


@dataclass(frozen=True)
class Application:
    openai: openai.AsyncOpenAI
    claude: anthropic.AsyncAnthropic

    async def ask(self, dialect: str, *, stream: bool, headers: Mapping[str, str]) -> Got:
        asking = {"openai-completions": self._chat, "openai-responses": self._responses, "anthropic-messages": self._messages}[dialect]
        for broke in range(TRIES):
            try:
                text, answered = await asking(stream, dict(headers))
                return Got(text, broke, answered["x-failover-served"])
            except (openai.APIError, anthropic.APIError) as error:
                status = getattr(error, "status_code", 200)
                if status >= 400:
                    return Got(broke=broke, refused=status)
        return Got(broke=TRIES)

    async def _chat(self, stream: bool, headers: dict[str, str]) -> tuple[str, Mapping[str, str]]:
        asked: dict[str, Any] = {"model": "auto", "messages": QUESTION, "extra_headers": headers}
        if not stream:
            raw = await self.openai.chat.completions.with_raw_response.create(**asked)
            return raw.parse().choices[0].message.content, raw.headers
        async with self.openai.chat.completions.with_streaming_response.create(stream=True, **asked) as answer:
            chunks = [chunk async for chunk in await answer.parse()]
        return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices), answer.headers

    async def _responses(self, stream: bool, headers: dict[str, str]) -> tuple[str, Mapping[str, str]]:
        asked: dict[str, Any] = {"model": "auto", "input": QUESTION, "extra_headers": headers}
        if not stream:
            raw = await self.openai.responses.with_raw_response.create(**asked)
            return raw.parse().output_text, raw.headers
        async with self.openai.responses.with_streaming_response.create(stream=True, **asked) as answer:
            events = [event async for event in await answer.parse()]
        return "".join(event.delta for event in events if event.type == "response.output_text.delta"), answer.headers

    async def _messages(self, stream: bool, headers: dict[str, str]) -> tuple[str, Mapping[str, str]]:
        asked: dict[str, Any] = {"model": "auto", "max_tokens": 99, "messages": QUESTION, "extra_headers": headers}
        if not stream:
            raw = await self.claude.messages.with_raw_response.create(**asked)
            return _text(await raw.parse()), raw.headers
        async with self.claude.messages.stream(**asked) as events:
            return _text(await events.get_final_message()), events.response.headers


def _text(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


@contextlib.asynccontextmanager
async def application(url: str) -> AsyncIterator[Application]:
    """url: of the gateway."""
    async with (
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none-of-yours", max_retries=0) as chat,
        anthropic.AsyncAnthropic(base_url=url, api_key="none-of-yours", max_retries=0) as claude,
    ):
        yield Application(chat, claude)
