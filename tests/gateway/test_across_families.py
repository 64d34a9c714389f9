"""Failover in the middle of everything, between API families (issue 4, "Must show" 3): before the first content, after it, both fail,
the caller goes away; and what cannot be carried over. The whole way over real sockets, engine included."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import anthropic
import httpx
import openai
import pytest

from engine.domain.ids import ProfileId
from engine.domain.settings import ConfiguredProfile
from tests.fakes.families import FAMILIES, Said, answering, failing, overloaded_in_stream, preamble, stream_events
from tests.fakes.provider import FakeProvider, error, stream
from tests.gateway.family_house import NAMES, FamilyHouse, family_house

CHAT, RESPONSES, MESSAGES, GOOGLE = FAMILIES
PATHS = {CHAT: "/v1/chat/completions", RESPONSES: "/v1/responses", MESSAGES: "/v1/messages"}
SAID: dict[str, dict[str, Any]] = {
    CHAT: {"messages": [{"role": "user", "content": "hi"}]},
    RESPONSES: {"input": "hi"},
    MESSAGES: {"max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]},
}
ENDS = {CHAT: b"data: [DONE]\n\n", RESPONSES: b'"type": "response.completed"', MESSAGES: b'{"type": "message_stop"}\n\n'}
BEGINS = {CHAT: b'"role": "assistant"', RESPONSES: b"event: response.created\n", MESSAGES: b"event: message_start\n"}
TERMINAL = {CHAT: b'"partial": true', RESPONSES: b"event: error\n", MESSAGES: b"event: error\n"}
PAIRS = [(dialect, first) for dialect in PATHS for first in FAMILIES]


async def post(house: FamilyHouse, dialect: str, *, streamed: bool = True, session: str = "desk", **body: Any) -> httpx.Response:
    asked = {**SAID[dialect], "stream": streamed, **body}
    return await house.gateway.client.post(PATHS[dialect], json=asked, headers={"x-failover-session": session})


def begun(family: str) -> list[bytes]:
    """A stream that has said its first words."""
    return stream_events(family, Said("hello there"))[: len(preamble(family)) + {CHAT: 1, RESPONSES: 3, MESSAGES: 2, GOOGLE: 1}[family]]


def second_of(first: str) -> str:
    return FAMILIES[(FAMILIES.index(first) + 1) % 4]


@pytest.mark.parametrize(("dialect", "first"), PAIRS)
async def test_before_the_first_content_the_caller_sees_one_clean_stream(dialect: str, first: str) -> None:
    second = second_of(first)
    async with family_house((first, second)) as house:
        house.providers[first].on("*", overloaded_in_stream(first))
        house.providers[second].on("*", answering(second, Said("from the second")))
        answer = await post(house, dialect)
        assert answer.status_code == 200
        assert answer.headers["x-failover-served"] == house.model(second)
        assert answer.headers["x-failover-reason"] == "overloaded"
        text = b"\n\n".join(event for event in answer.content.split(b"\n\n") if not event.startswith(b":"))
        assert text.count(BEGINS[dialect]) == 1
        assert text.count(ENDS[dialect]) == 1
        assert b"verload" not in text
        assert len(house.providers[first].calls) == len(house.providers[second].calls) == 1


@pytest.mark.parametrize(("dialect", "first"), PAIRS)
async def test_attempt_committed_after_the_first_content_it_ends_partial_and_nobody_else_is_called(dialect: str, first: str) -> None:
    second = second_of(first)
    async with family_house((first, second)) as house:
        house.providers[first].on("*", stream(*begun(first), end=False))
        answer = await post(house, dialect)
        assert answer.status_code == 200
        assert b"hello" in answer.content
        assert b"there" not in answer.content
        last = answer.content.rstrip(b"\n").rpartition(b"\n\n")[2]
        assert TERMINAL[dialect] in last + b"\n"
        assert b"answer_incomplete" in last
        assert answer.content.endswith(b"\n\n")
        assert ENDS[dialect] not in answer.content
        assert house.providers[second].calls == []
        usage = house.engine._parts.memory.agents["main"].usage[ProfileId(f"{NAMES[first]}:me")]  # type: ignore[index]
        assert usage.model_cooldowns["m"].reason == "timeout"
        assert {name: n for name, n in house.engine.open_windows.items() if n} == {"cooldown": 1}


@pytest.mark.parametrize("dialect", PATHS)
async def test_both_fail_before_content_is_a_plain_error_without_a_byte_of_a_stream(dialect: str) -> None:
    async with family_house((MESSAGES, GOOGLE)) as house:
        house.providers[MESSAGES].on("*", overloaded_in_stream(MESSAGES))
        house.providers[GOOGLE].on("*", stream(*preamble(GOOGLE), end=False))
        answer = await post(house, dialect)
        assert answer.status_code == 503
        assert answer.headers["content-type"] == "application/json"
        assert b"data:" not in answer.content
        reasons = {candidate["model"]: candidate["reason"] for candidate in answer.json()["error"]["candidates"]}
        assert reasons == {"claude/m": "overloaded", "gem/m": "timeout"}


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("first", FAMILIES)
async def test_the_caller_goes_away_and_upstream_is_closed_within_100_ms(dialect: str, first: str) -> None:
    second = second_of(first)
    async with family_house((first, second)) as house:
        provider = house.providers[first]
        provider.on("*", stream(*begun(first), None))
        asked = {**SAID[dialect], "stream": True}
        async with house.gateway.client.stream("POST", PATHS[dialect], json=asked) as answer:
            async for _ in answer.aiter_raw():
                break
            gone = time.monotonic()
        await asyncio.wait_for(provider.calls[0].closed.wait(), 2)
        assert time.monotonic() - gone < 0.1
        assert house.providers[second].calls == []
        assert not any(house.engine.open_windows.values())


async def test_what_was_left_out_stands_in_the_decision_log() -> None:
    async with family_house((MESSAGES,)) as house:
        thought: Any = [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "ho", "reasoning_content": "hm"},
            {"role": "user", "content": "and?"},
        ]
        assert (await post(house, CHAT, messages=thought, seed=3)).status_code == 200
        record = next(r for r in await house.engine.decisions() if r["decision"] == "candidate_succeeded")
        assert "thoughts of earlier turns" in str(record["detail"])
        assert "seed" in str(record["detail"])
        assert (await post(house, MESSAGES)).status_code == 200
        assert "detail" not in (await house.engine.decisions(limit=2))[-1]


@pytest.mark.parametrize("dialect", [CHAT, RESPONSES])
async def test_a_conversation_in_which_the_assistant_spoke_first_reaches_anthropic(dialect: str) -> None:
    spoken: Any = [{"role": "assistant", "content": "The number is four."}, {"role": "user", "content": "Repeat it."}]
    async with family_house((MESSAGES,)) as house:
        asked: dict[str, Any] = {"input" if dialect == RESPONSES else "messages": spoken}
        answer = await post(house, dialect, streamed=False, **asked)
        assert answer.status_code == 200
        assert [message["role"] for message in house.providers[MESSAGES].calls[0].body["messages"]] == ["user", "assistant", "user"]


async def test_a_candidate_that_cannot_be_asked_is_passed_over_gate_dialect_unsupported() -> None:
    async with family_house((MESSAGES, GOOGLE, CHAT)) as house:
        answer = await post(house, CHAT, streamed=False, n=2)
        assert (answer.status_code, answer.headers["x-failover-served"]) == (200, "chat/m")
        assert house.providers[MESSAGES].calls == house.providers[GOOGLE].calls == []
        rules = {r["candidateProvider"]: r["rule"] for r in await house.engine.decisions() if r["decision"] == "skip_candidate"}
        assert rules == {"claude": "gate.dialect-unsupported", "gem": "gate.dialect-unsupported"}
        last = await post(house, CHAT, streamed=False, n=2, model="gem/m", session="other")
        assert last.headers["x-failover-served"] == "chat/m"


async def test_an_image_by_its_address_is_fetched_by_nobody() -> None:
    async with family_house((GOOGLE,)) as house:
        target = FakeProvider()
        await target.start()
        try:
            address = f"http://127.0.0.1:{target.port}/secret.png"
            shown: Any = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": address}}]}]
            answer = await post(house, CHAT, streamed=False, messages=shown)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "dialect_unsupported")
            assert "an image by its address" in answer.json()["error"]["message"]
            assert target.connections == 0
        finally:
            await target.stop()


async def test_counting_tokens_goes_to_anthropic_or_is_refused() -> None:
    async with family_house((CHAT, MESSAGES)) as house:
        house.providers[MESSAGES].on("*", _counted)
        async with house.async_anthropic() as client:
            counted = await client.messages.count_tokens(
                model="claude/m", messages=[{"role": "user", "content": "hi"}], extra_headers={"x-failover-session": "s"}
            )
        assert counted.input_tokens == 12
        assert house.providers[MESSAGES].calls[0].path == "/v1/messages/count_tokens"
    async with family_house((CHAT,)) as house, house.async_anthropic() as client:
        with pytest.raises(anthropic.BadRequestError, match="counted by Anthropic"):
            await client.messages.count_tokens(model="chat/m", messages=[{"role": "user", "content": "hi"}])


async def _counted(call: Any, wire: Any) -> None:
    from tests.fakes.provider import status

    await status(200, {"input_tokens": 12})(call, wire)


SECOND_KEY = {
    ProfileId(f"resp:k{n}"): ConfiguredProfile(ProfileId(f"resp:k{n}"), "resp", "api_key", key_ref=f"env:KEY_{name}")
    for n, name in ((1, "RESP"), (2, "CHAT"))
} | {ProfileId("claude:me"): ConfiguredProfile(ProfileId("claude:me"), "claude", "api_key", key_ref="env:KEY_CLAUDE")}


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_stored_response_is_continued_on_its_own_account_only(streamed: bool) -> None:
    async with family_house((RESPONSES, MESSAGES), profiles=SECOND_KEY) as house:
        provider = house.providers[RESPONSES]
        assert (await post(house, RESPONSES, streamed=streamed)).status_code == 200
        maker = provider.calls[0].key
        for _ in range(4):  # by turns: without the memory, the other key would be next
            assert (await post(house, RESPONSES, previous_response_id="resp_1", session="elsewhere")).status_code == 200
        assert {call.key for call in provider.calls} == {maker}
        provider.on("*", error(429, "rate limit reached"))
        refused = await post(house, RESPONSES, previous_response_id="resp_1")
        assert refused.status_code == 503
        assert {call.key for call in provider.calls} == {maker}
        assert house.providers[MESSAGES].calls == []


async def test_a_response_that_nobody_knows_is_asked_for_at_one_account() -> None:
    async with family_house((RESPONSES, MESSAGES), profiles=SECOND_KEY) as house:
        provider = house.providers[RESPONSES]
        provider.on("*", failing(RESPONSES, 401, "invalid api key", "authentication_error"))
        answer = await post(house, RESPONSES, previous_response_id="resp_unknown")
        assert answer.status_code >= 400
        assert (len(provider.calls), len(house.providers[MESSAGES].calls)) == (1, 0)


async def test_parallel_calls_that_come_mixed_end_partial_and_never_wrong() -> None:
    """Anthropic's frame has one open block at a time: rather an error than arguments in the wrong call."""

    def delta(index: int, **call: Any) -> bytes:
        choice = {"index": 0, "delta": {"tool_calls": [{"index": index, **call}]}, "finish_reason": None}
        return b"data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}).encode() + b"\n\n"

    begun = [delta(n, id=f"call_{n}", type="function", function={"name": "look", "arguments": ""}) for n in (0, 1)]
    mixed = [delta(n, function={"arguments": part}) for part in ('{"at"', ": 1}") for n in (0, 1)]
    async with family_house((CHAT,)) as house:
        house.providers[CHAT].on("*", stream(*begun, *mixed))
        answer = await post(house, MESSAGES)
        assert b"answer_incomplete" in answer.content


async def test_the_sdk_raises_its_own_error_for_a_stream_that_breaks() -> None:
    said: Any = [{"role": "user", "content": "x"}]
    async with family_house((GOOGLE,), cooldowns=False) as house:
        house.providers[GOOGLE].on("*", answering(GOOGLE, Said("hello there"), fail_after=1))

        async def read(events: Any) -> None:
            async for _ in events:
                pass

        async with house.async_openai() as client:
            chat = await client.chat.completions.create(model="gem/m", messages=said, stream=True)
            with pytest.raises(openai.APIError, match="broke off"):
                await read(chat)
            responses = await client.responses.create(model="gem/m", input="x", stream=True)
            with pytest.raises(openai.APIError, match="broke off"):
                await read(responses)
        async with house.async_anthropic() as claude, claude.messages.stream(model="gem/m", max_tokens=9, messages=said) as messages:
            with pytest.raises(anthropic.APIError, match="broke off"):
                await read(messages)
