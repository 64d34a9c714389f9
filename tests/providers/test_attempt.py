"""One attempt that answers: what goes up, what comes back, when content has begun."""

from __future__ import annotations

import asyncio

import pytest

from engine.domain.exchange import Answer, AnswerBroken, AttemptFailed, Payload
from engine.domain.ids import ModelRef
from engine.domain.settings import ProviderSettings
from engine.providers.openai_completions import OpenAICompletions
from tests.fakes import provider as fake
from tests.fakes.provider import DONE, ROLE, STOP, TOOL_CALL, FakeProvider, completion, data, event, stream, words
from tests.providers.attempts import Attempts, failure_of, text_of


async def test_only_model_and_credential_are_replaced(provider: FakeProvider, attempt: Attempts):
    await attempt({"temperature": 1.0, "vendor_field": {"x": [1]}}, headers={"openai-beta": "a", "user-agent": "app/1"})
    call = provider.calls[0]
    assert call.path == "/v1/chat/completions"
    assert call.raw == b'{"model": "big", "messages": [{"role": "user", "content": "hi"}], "temperature": 1.0, "vendor_field": {"x": [1]}}'
    assert call.key == "k1"
    assert call.headers["openai-beta"] == "a"
    assert call.headers["user-agent"] == "app/1"
    assert call.headers["accept-encoding"] == "identity"


async def test_a_keyless_provider_gets_no_credential(provider: FakeProvider, attempt: Attempts):
    await attempt(secret=None)
    assert "authorization" not in provider.calls[0].headers


async def test_a_key_with_a_line_break_is_never_sent(provider: FakeProvider, attempt: Attempts):
    assert "invalid API key" in str(failure_of(await attempt(secret="k1\r\nx: y")).message)
    assert provider.calls == []
    await attempt(secret="k1\n")
    assert provider.calls[0].key == "k1"


async def test_a_base_url_keeps_its_query(provider: FakeProvider, attempt: Attempts):
    await attempt(base_url=provider.base_url + "/?api-version=7")
    assert provider.calls[0].path == "/v1/chat/completions?api-version=7"


async def test_the_answers_bytes_and_limits_come_back_untouched(provider: FakeProvider, attempt: Attempts):
    body = b'{ "choices" : [ {"message": {"content":"x"}} ], "unheard": 1.0 }'
    provider.on("big", fake.status(200, body, {"x-ratelimit-remaining": "7", "request-id": "r1", "set-cookie": "a=b", "server": "s"}))
    answer = await attempt()
    assert await text_of(answer) == body
    assert not isinstance(answer, AttemptFailed)
    assert dict(answer.headers) == {"content-type": "application/json", "x-ratelimit-remaining": "7", "request-id": "r1"}
    assert (answer.status, answer.streamed, answer.empty, answer.calls) == (200, False, False, 1)


async def test_connections_are_used_again(provider: FakeProvider, attempt: Attempts):
    for stream_it in (False, True, False):
        await text_of(await attempt(stream=stream_it))
    assert provider.connections == 1


async def test_a_connection_that_the_server_closed_or_that_rested_too_long_is_not_used(
    provider: FakeProvider, attempt: Attempts, monkeypatch: pytest.MonkeyPatch
):
    await attempt()
    await provider.stop()
    await provider.start()
    assert b"hello" in await text_of(await attempt())
    monkeypatch.setattr("engine.providers.http1.KEEP_IDLE_S", 0.0)
    assert b"hello" in await text_of(await attempt())
    assert provider.connections == 3


async def test_azure_takes_its_key_under_its_own_name():
    azure = ProviderSettings("azure-openai", "https://me.openai.azure.com/openai/v1", "openai-completions")
    payload = Payload("openai-completions", {"messages": []}, b'{"messages": []}', False)
    asked = OpenAICompletions().request(azure, ModelRef("azure-openai", "dep"), "k1", payload)
    assert asked.url == "https://me.openai.azure.com/openai/v1/chat/completions"
    assert asked.headers["api-key"] == "k1"
    assert "authorization" not in asked.headers


@pytest.mark.parametrize(
    "first",
    [
        event({"content": "a"}),
        event({"tool_calls": [{"index": 0, **TOOL_CALL}]}),
        event({"reasoning_content": "hm"}),
        event({"reasoning": "hm"}),
        event({"refusal": "no"}),
        event({"content": [{"type": "text", "text": "a"}]}),
    ],
)
async def test_a_stream_is_held_until_text_tool_call_or_reasoning(provider: FakeProvider, attempt: Attempts, first: bytes):
    provider.on("big", stream(b": keep-alive\n\n", ROLE, 0.05, first, STOP, DONE))
    answer = await attempt(stream=True)
    assert not isinstance(answer, AttemptFailed)
    assert not answer.empty
    assert answer.streamed
    assert await text_of(answer) == b": keep-alive\n\n" + ROLE + first + STOP + DONE


@pytest.mark.parametrize("message", [{"content": "hi"}, {"content": None, "tool_calls": [TOOL_CALL]}, {"content": "", "reasoning": "hm"}])
async def test_a_whole_answer_with_content_is_not_empty(provider: FakeProvider, attempt: Attempts, message: dict):
    provider.on("big", fake.status(200, {"choices": [{"message": message, "finish_reason": "stop"}]}))
    answer = await attempt()
    assert not isinstance(answer, AttemptFailed)
    assert not answer.empty


@pytest.mark.parametrize("body", ["", "{}", "null", "[]", {"choices": []}, completion(None), completion("")])
async def test_a_whole_answer_without_content_is_empty(provider: FakeProvider, attempt: Attempts, body: object):
    provider.on("big", fake.status(200, body))
    answer = await attempt()
    assert not isinstance(answer, AttemptFailed)
    assert answer.empty


@pytest.mark.parametrize("parts", [(), (ROLE, STOP, DONE), (ROLE,), (DONE,), (b": nothing\n\n",)])
async def test_a_stream_that_ends_without_content_is_empty(provider: FakeProvider, attempt: Attempts, parts: tuple[bytes, ...]):
    provider.on("big", stream(*parts))
    answer = await attempt(stream=True)
    assert not isinstance(answer, AttemptFailed)
    assert answer.empty
    assert await text_of(answer) == b"".join(parts)


async def test_a_junk_line_is_counted_and_left_out(provider: FakeProvider, attempt: Attempts):
    """I04"""
    a, b, c = words("a", "b", "c")
    provider.on("big", stream(a, b"data: {oops\n\n", b + b"data: not json either\n\n" + c, STOP, DONE))
    answer = await attempt(stream=True)
    assert await text_of(answer) == a + b + c + STOP + DONE
    assert answer.skipped == 2  # type: ignore[union-attr]


async def test_a_garbled_event_with_content_breaks_the_answer(provider: FakeProvider, attempt: Attempts):
    a, b = words("a", "b")
    provider.on("big", stream(a, b[: len(b) // 2 + 30] + b"\n\n", STOP, DONE))
    assert await broken(await attempt(stream=True)) == a


async def broken(answer: Answer | AttemptFailed) -> bytes:
    """What came before the break."""
    assert not isinstance(answer, AttemptFailed)
    got = b""
    try:
        async for chunk in answer.chunks():
            got += chunk
    except AnswerBroken:
        return got
    pytest.fail(f"the answer did not break; it said {got!r}")


@pytest.mark.parametrize(
    "bad",
    [
        data({"error": {"message": "overloaded", "code": 503}}),
        b'event: error\ndata: {"message": "overloaded"}\n\n',
        event({"content": ""}, "error"),
        b"event: error\ndata: boom\n\n",
    ],
)
async def test_an_error_after_content_breaks_the_answer_and_is_not_forwarded(provider: FakeProvider, attempt: Attempts, bad: bytes):
    a, b = words("a", "b")
    for parts in ((a, b, bad, DONE), (a + b + bad + DONE,), (a, b + bad[:9], bad[9:], DONE)):
        provider.on("big", stream(*parts))
        assert await broken(await attempt(stream=True)) == a + b


async def test_a_stream_that_ends_without_a_word_of_its_end_is_broken(provider: FakeProvider, attempt: Attempts):
    a, b = words("a", "b")
    for answer in (stream(a, b), stream(a + b), stream(a, b, end=False), stream(a, b, b'data: {"choi', end=False)):
        provider.on("big", answer)
        assert await broken(await attempt(stream=True)) == a + b


@pytest.mark.parametrize("end", [(STOP, DONE), (STOP,), (DONE,), (DONE.rstrip(),)])
async def test_a_finish_reason_or_done_is_an_end(provider: FakeProvider, attempt: Attempts, end: tuple[bytes, ...]):
    for parts in ((words("a")[0], *end), (b"".join([words("a")[0], *end]),)):
        provider.on("big", stream(*parts))
        assert await text_of(await attempt(stream=True)) == b"".join([words("a")[0], *end])


async def test_silence_after_content_breaks_the_answer(provider: FakeProvider, attempt: Attempts):
    a, b = words("a", "b")
    provider.on("big", stream(a, b, None))
    assert await broken(await attempt(stream=True, idle_timeout_s=0.05)) == a + b


async def test_silence_after_done_does_not(provider: FakeProvider, attempt: Attempts, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("engine.providers.client.GOODBYE_S", 0.02)
    provider.on("big", stream(words("a")[0], DONE, None))
    assert await text_of(await attempt(stream=True)) == words("a")[0] + DONE


async def test_model_text_about_errors_is_text(provider: FakeProvider, attempt: Attempts):
    parts = words('"error"', 'event: error\ndata: {"error": 1}', '"finish_reason": "stop"', "[DONE]")
    provider.on("big", stream(*parts, STOP, DONE))
    assert await text_of(await attempt(stream=True)) == b"".join(parts) + STOP + DONE


async def test_cancelling_an_attempt_closes_its_connection(provider: FakeProvider, attempt: Attempts):
    provider.on("big", fake.hang())
    task = asyncio.ensure_future(attempt())
    await provider.called.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(provider.calls[0].closed.wait(), 1)


async def test_closing_an_answer_closes_its_connection(provider: FakeProvider, attempt: Attempts):
    provider.on("big", stream(words("a")[0], None))
    answer = await attempt(stream=True)
    assert not isinstance(answer, AttemptFailed)
    await answer.aclose()
    await answer.aclose()
    await asyncio.wait_for(provider.calls[0].closed.wait(), 1)


async def test_a_slow_reader_slows_the_provider(provider: FakeProvider, attempt: Attempts):
    sent = 0

    async def endless(_call: fake.Call, wire: fake.Wire) -> None:
        nonlocal sent
        await wire.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        piece = b"".join(words("x" * 1000)) * 50
        while True:
            await wire.chunk(piece)
            sent += len(piece)

    provider.on("big", endless)
    answer = await attempt(stream=True)
    assert not isinstance(answer, AttemptFailed)
    for _ in range(20):
        before = sent
        await asyncio.sleep(0.02)
        if sent == before:
            break
    assert sent == before < 30_000_000
    await answer.aclose()
