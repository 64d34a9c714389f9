"""The gateway in front of the real engine: what an application sees of failover, over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from urllib.parse import unquote

import httpx
import openai
import pytest

from tests.fakes import provider as fake
from tests.fakes.provider import DONE, ROLE, STOP, data, stream, words
from tests.gateway.live_house import KEYS, House, running_house

CHAT = "/v1/chat/completions"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running_house() as running:
        yield running


async def streamed(house: House, model: str = "auto", headers: dict[str, str] | None = None) -> httpx.Response:
    return await house.gateway.chat(model, headers=headers, stream=True)


async def test_an_answer_passes_untouched(house: House):
    body = b'{"choices": [ {"message": {"content": "hi"}} ], "model": "big-2025", "unheard": 1.0}'
    house.acme.on("big", fake.status(200, body, {"x-ratelimit-remaining": "5", "x-request-id": "r1"}))
    answer = await house.gateway.chat()
    assert answer.content == body
    assert (answer.headers["x-ratelimit-remaining"], answer.headers["x-request-id"]) == ("5", "r1")
    assert (answer.headers["x-failover-served"], answer.headers["x-failover-attempts"]) == ("acme/big", "1")
    assert house.acme.calls[0].key == KEYS["ACME"]


@pytest.mark.parametrize("stream_it", [False, True])
async def test_a_failed_model_falls_back_and_says_so(house: House, stream_it: bool):
    """I05"""
    house.acme.on("big", fake.error(429, "slow down"))
    answer = await house.gateway.chat(headers={"x-failover-session": "s", "x-failover-operator": "op-token"}, stream=stream_it)
    assert answer.status_code == 200
    found = answer.headers
    assert (found["x-failover-selected"], found["x-failover-served"]) == ("acme/big", "zeta/std")
    assert (found["x-failover-attempts"], found["x-failover-reason"]) == ("2", "rate_limit")
    assert found["x-failover-profile"] == "zeta:me@home.example"
    notice = unquote(found["x-failover-notice"])
    assert notice.startswith("↪️ Model Fallback: zeta/std (selected acme/big; rate limit")
    assert (f": {notice}\n\n" in answer.text) is stream_it
    assert "std" in answer.text
    again = await house.gateway.chat(headers={"x-failover-session": "s"}, stream=stream_it)
    assert "x-failover-notice" not in again.headers


async def test_an_application_with_a_hard_coded_model_fails_over_too(house: House):
    house.acme.on("hard-coded", fake.error(404, "no such model", code="model_not_found"))
    answer = await house.gateway.chat("hard-coded")
    assert (answer.headers["x-failover-selected"], answer.headers["x-failover-served"]) == ("acme/hard-coded", "zeta/std")


async def test_a_strict_request_never_calls_another_model(house: House):
    house.acme.on("big", stream(ROLE, data({"error": {"message": "overloaded"}})), fake.error(503, "x"))
    for headers, model in (({"x-failover-fallbacks": ""}, "acme/big"), ({}, "agent/strict")):
        answer = await streamed(house, model, headers)
        assert answer.status_code != 200
    assert house.zeta.calls == []


async def test_an_error_in_a_stream_before_content_is_never_seen(house: House):
    """I01"""
    house.acme.on("big", stream(ROLE, data({"error": {"message": "overloaded"}})))
    house.zeta.on("std", stream(ROLE, *words("hi"), STOP, DONE))
    answer = await streamed(house)
    assert answer.text.split("\n\n", 1)[1].encode() == ROLE + words("hi")[0] + STOP + DONE
    assert answer.headers["x-failover-served"] == "zeta/std"


@pytest.mark.parametrize("broken", [{"end": False}, {"end": True}])
async def test_attempt_committed_a_stream_that_breaks_after_content_ends_partial(house: House, broken: dict):
    house.acme.on("big", stream(ROLE, *words(*"abcde"), **broken))
    answer = await streamed(house)
    assert answer.content.startswith(ROLE + b"".join(words(*"abcde")))
    last = json.loads(answer.text.rstrip().rsplit("data: ", 1)[1])
    assert last["error"]["partial"] is True
    assert house.zeta.calls == []


async def test_a_stalled_stream_ends_with_an_error(house: House):
    """I04"""
    providers = house.engine.settings.providers
    providers["acme"] = replace(providers["acme"], idle_timeout_s=0.1)  # type: ignore[index]
    house.acme.on("big", stream(*words("a"), None))
    answer = await asyncio.wait_for(streamed(house), 2)
    assert b'"partial": true' in answer.content


async def test_everything_limited_is_429_with_the_wait(house: House):
    house.acme.on("big", fake.error(429, "slow down", headers={"retry-after": "90"}))
    house.zeta.on("std", fake.error(429, "slow down", headers={"retry-after": "40"}))
    answer = await house.gateway.chat()
    assert answer.status_code == 429
    assert answer.json()["error"]["code"] == "all_models_rate_limited"
    assert 38 <= int(answer.headers["retry-after"]) <= 40
    assert answer.headers["x-should-retry"] == "false"


async def test_dead_credentials_are_502_without_a_wait(house: House):
    for server, model in ((house.acme, "big"), (house.zeta, "std")):
        server.on(model, fake.error(402, "insufficient credits"))
    answer = await house.gateway.chat()
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_credentials_exhausted")
    assert "retry-after" not in answer.headers
    assert "me@home.example" not in answer.text


async def test_a_format_error_comes_back_as_upstream_said_it_without_the_key(house: House):
    text = f"invalid request format near {KEYS['ACME']}"
    house.acme.on("big", fake.error(400, text, type="invalid_request_error"))
    answer = await house.gateway.chat()
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert KEYS["ACME"] not in answer.text + str(answer.headers)
    assert house.zeta.calls == []


async def test_a_key_that_a_provider_repeats_in_its_headers_stays_here(house: House):
    repeated = {"x-request-id": f"for {KEYS['ACME']}", "x-ratelimit-remaining": "3"}
    house.acme.on("big", fake.status(200, fake.completion(), repeated), fake.error(400, "invalid request format", headers=repeated))
    for _ in range(2):
        answer = await house.gateway.chat()
        assert KEYS["ACME"] not in str(answer.headers)
        assert answer.headers["x-ratelimit-remaining"] == "3"


async def test_a_spent_budget_is_504(house: House):
    house.acme.on("big", fake.hang())
    house.zeta.on("std", fake.hang())
    answer = await house.gateway.chat(headers={"x-failover-timeout": "0.2"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "run_budget_exceeded")


async def test_a_caller_that_goes_away_closes_upstream_and_calls_nobody(house: House):
    for answer, stream_it in ((stream(*words("a"), None), True), (fake.hang(), False)):
        house.acme.on("big", answer)
        house.acme.calls.clear()
        house.acme.called.clear()
        _, writer = await asyncio.open_connection("127.0.0.1", house.gateway.port)
        body = json.dumps({"messages": [{"role": "user", "content": "x"}], "stream": stream_it}).encode()
        writer.write(b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%s" % (CHAT.encode(), len(body), body))
        await house.acme.called.wait()
        await asyncio.sleep(0.05)
        writer.close()
        started = asyncio.get_running_loop().time()
        await asyncio.wait_for(house.acme.calls[0].closed.wait(), 2)
        assert asyncio.get_running_loop().time() - started < 0.1
    assert house.zeta.calls == []


async def test_one_outage_is_as_many_calls_as_recorded_attempts(house: House):
    """I11"""
    for server in (house.acme, house.zeta):
        server.on("*", fake.error(503, "x"))
    answer = await house.gateway.chat()
    assert len(house.acme.calls) + len(house.zeta.calls) == int(answer.headers["x-failover-attempts"]) == 2


# --- the official SDK ---------------------------------------------------------------------------------------------------

MESSAGES: list = [{"role": "user", "content": "hi"}]


async def test_the_openai_sdk_async(house: House):
    house.acme.on("big", fake.error(529, "overloaded"))
    async with openai.AsyncOpenAI(base_url=f"{house.gateway.base_url}/v1", api_key="anything") as client:
        whole = await client.chat.completions.create(model="auto", messages=MESSAGES, user="u1")
        assert (whole.choices[0].message.content, whole.model) == ("hello", "std")
        texts = [
            c.choices[0].delta.content or ""
            async for c in await client.chat.completions.create(model="auto", messages=MESSAGES, stream=True)
        ]
        assert "".join(texts) == "hello"
        assert "auto" in {m.id async for m in client.models.list()}
        assert (await client.models.retrieve("acme/big")).owned_by == "acme"
        with pytest.raises(openai.NotFoundError) as unknown:
            await client.chat.completions.create(model="nowhere/m", messages=MESSAGES)
        assert unknown.value.code == "model_not_found"
    assert {call.key for call in house.acme.calls} == {KEYS["ACME"]}


async def test_the_openai_sdk_sync(house: House):
    def talk() -> tuple[str | None, str]:
        with openai.OpenAI(base_url=f"{house.gateway.base_url}/v1", api_key="anything") as client:
            whole = client.chat.completions.create(model="std", messages=MESSAGES)
            parts = client.chat.completions.create(model="std", messages=MESSAGES, stream=True)
            return whole.choices[0].message.content, "".join(c.choices[0].delta.content or "" for c in parts)

    assert await asyncio.to_thread(talk) == ("hello", "hello")


async def test_the_openai_sdk_sees_a_broken_stream_as_an_error(house: House):
    house.acme.on("big", stream(*words("a"), end=False))
    async with openai.AsyncOpenAI(base_url=f"{house.gateway.base_url}/v1", api_key="anything") as client:
        got = []

        async def read() -> None:
            async for chunk in await client.chat.completions.create(model="auto", messages=MESSAGES, stream=True):
                got.append(chunk.choices[0].delta.content)

        with pytest.raises(openai.APIError, match="broke off"):
            await read()
        assert got == ["a"]


async def test_the_openai_sdk_does_not_multiply_an_exhausted_chain(house: House):
    for server in (house.acme, house.zeta):
        server.on("*", fake.error(429, "slow down"))
    async with openai.AsyncOpenAI(base_url=f"{house.gateway.base_url}/v1", api_key="anything", max_retries=3) as client:
        with pytest.raises(openai.RateLimitError) as limited:
            await client.chat.completions.create(model="auto", messages=MESSAGES)
    assert limited.value.code == "all_models_rate_limited"
    assert len(house.acme.calls) + len(house.zeta.calls) == 2
