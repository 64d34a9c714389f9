"""One attempt with each API family: where it is sent and with which credential, what counts as content, what an error looks like."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from engine.domain.exchange import COUNT_TOKENS, Answer, AnswerBroken, AttemptFailed, Payload
from engine.domain.ids import ModelRef
from engine.domain.settings import OAuthSettings, ProviderSettings
from engine.policy.classify import classify
from engine.providers.client import HttpUpstream
from tests.fakes.families import FAMILIES, Said, answering, failing, overloaded_in_stream, preamble, stream_events
from tests.fakes.provider import FakeProvider, data, status, stream
from tests.providers.attempts import failure_of, text_of

OWN = ("openai-completions", "openai-responses", "anthropic-messages")
BODIES: dict[str, dict[str, Any]] = {
    "openai-completions": {"model": "asked", "messages": [{"role": "user", "content": "hi"}]},
    "openai-responses": {"model": "asked", "input": "hi"},
    "anthropic-messages": {"model": "asked", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
}


@pytest.fixture
async def upstream() -> AsyncIterator[HttpUpstream]:
    made = HttpUpstream()
    yield made
    await made.aclose()


async def attempt(
    upstream: HttpUpstream,
    provider: FakeProvider,
    family: str,
    *,
    dialect: str | None = None,
    stream: bool = False,
    secret: str | None = "k1",
    headers: dict[str, str] | None = None,
    task: str = "answer",
    raw: bytes | None = None,
    **settings: Any,
) -> Answer | AttemptFailed:
    """dialect: of the caller; the family's own unless it is given (Google's is nobody's)."""
    dialect = dialect or (family if family in OWN else "openai-completions")
    body = {**BODIES[dialect], **({"stream": True} if stream else {})}
    payload = Payload(dialect, body, raw or json.dumps(body).encode(), stream, headers or {}, task)
    made = ProviderSettings(**{"id": "acme", "base_url": provider.base_url, "api": family, **settings})
    return await upstream.attempt(made, ModelRef("acme", "big"), secret, payload, limit_ms=None, retry_max_wait_ms=None)


def spoken(raw: bytes) -> str:
    """The text in an answer, whatever its dialect, streamed or not."""
    text = raw.decode()
    lines = [line[6:] for line in text.splitlines() if line.startswith("data: {")] or [text]
    said = ""
    for event in map(json.loads, lines):
        if event.get("type") == "content_block_delta":
            said += event["delta"].get("text", "")
        elif event.get("type") == "response.output_text.delta":
            said += event["delta"]
        elif event.get("type") == "message":
            said += "".join(block.get("text", "") for block in event["content"])
        elif event.get("object") == "response":
            said += "".join(part.get("text", "") for item in event["output"] for part in item.get("content", ()))
        for choice in event.get("choices", ()):
            said += choice.get("delta", choice.get("message", {})).get("content") or ""
    return said


@pytest.mark.parametrize("family", OWN)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_same_dialect_the_bytes_pass_untouched(upstream: HttpUpstream, provider: FakeProvider, family: str, streamed: bool):
    provider.on("*", answering(family, Said("hello", "hm", [("look", {})])))
    odd = b'{ "model":"asked" , "seed": 1.0e2' + (b',"stream":true' if streamed else b"") + b"}"
    got = await attempt(upstream, provider, family, stream=streamed, raw=odd)
    if isinstance(got, AttemptFailed):  # the fake is strict; the bytes went up all the same
        assert b'"seed": 1.0e2' in provider.calls[0].raw
        provider.on("*", answering(family, Said("hello", "hm", [("look", {})])))
        got = await attempt(upstream, provider, family, stream=streamed)
    assert provider.calls[0].raw == odd.replace(b'"asked"', b'"big"')
    got_text = spoken(await text_of(got))
    assert got_text == "hello"


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_stream_is_held_until_its_first_content(upstream: HttpUpstream, provider: FakeProvider, family: str):
    provider.on("*", answering(family, Said("hello")))
    for dialect in OWN:
        got = await attempt(upstream, provider, family, dialect=dialect, stream=True)
        assert not isinstance(got, AttemptFailed)
        assert (got.empty, got.streamed, got.headers["content-type"]) == (False, True, "text/event-stream")
        assert spoken(await text_of(got)) == "hello"


@pytest.mark.parametrize("family", FAMILIES)
async def test_an_error_inside_a_stream_before_content_is_a_failed_attempt(upstream: HttpUpstream, provider: FakeProvider, family: str):
    provider.on("*", overloaded_in_stream(family))
    failure = failure_of(await attempt(upstream, provider, family, stream=True))
    assert classify(failure, "acme").reason == "overloaded"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dialect", OWN)
async def test_attempt_committed_a_stream_that_stops_after_content_is_broken(
    upstream: HttpUpstream, provider: FakeProvider, family: str, dialect: str
):
    provider.on(
        "*", answering(family, Said("hello there"), fail_after=len(preamble(family)) + (3 if family == "anthropic-messages" else 4))
    )
    if family == "google-generative-ai":
        provider.on("*", answering(family, Said("hello there"), fail_after=1))
    if family == "openai-completions":
        provider.on("*", answering(family, Said("hello there"), fail_after=2))
    got = await attempt(upstream, provider, family, dialect=dialect, stream=True)
    assert not isinstance(got, AttemptFailed)
    with pytest.raises(AnswerBroken):
        await text_of(got)


COMPLETE = {"openai-completions": 2, "openai-responses": 0, "anthropic-messages": 0, "google-generative-ai": 0}
"""How many events may be missing at the end of a stream: usage and `[DONE]`, which some who speak like OpenAI never say."""
LAST_WORDS = {
    "openai-completions": b"data: [DONE]",
    "openai-responses": b"event: response.completed",
    "anthropic-messages": b"event: message_stop",
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dialect", OWN)
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "dropped"])
async def test_a_stream_cut_anywhere_is_never_taken_for_a_whole_one(
    upstream: HttpUpstream, provider: FakeProvider, family: str, dialect: str, closed: bool
):
    events = stream_events(family, Said("hello there"))
    first_word = next(n for n, event in enumerate(events) if b"hello" in event)
    for length in range(len(events)):
        provider.on("*", stream(*events[:length], end=closed))
        got = await attempt(upstream, provider, family, dialect=dialect, stream=True)
        if length <= first_word:
            assert isinstance(got, AttemptFailed) or got.empty, length
        elif length < len(events) - COMPLETE[family]:
            with pytest.raises(AnswerBroken):
                await text_of(got)
        else:
            said = await text_of(got)
            assert spoken(said) == "hello there"
            assert LAST_WORDS[dialect] in said or dialect == family


@pytest.mark.parametrize("dialect", OWN)
@pytest.mark.parametrize("family", ["openai-responses", "anthropic-messages", "google-generative-ai"])
async def test_done_ends_no_answer_of_those_who_end_it_otherwise(upstream: HttpUpstream, provider: FakeProvider, family: str, dialect: str):
    events = stream_events(family, Said("hello there"))
    words = next(n for n, event in enumerate(events) if b"hello" in event)
    provider.on("*", stream(*events[: words + 1], data("[DONE]")))
    with pytest.raises(AnswerBroken):
        await text_of(await attempt(upstream, provider, family, dialect=dialect, stream=True))


@pytest.mark.parametrize("dialect", ["openai-responses", "anthropic-messages"])
@pytest.mark.parametrize("unsaid", [b'"usage"', b'"finish_reason": "stop"'])
async def test_a_vendor_that_leaves_out_usage_or_finish_reason_still_ends_its_answer(
    upstream: HttpUpstream, provider: FakeProvider, dialect: str, unsaid: bytes
):
    provider.on("*", stream(*(event for event in stream_events("openai-completions", Said("hello there")) if unsaid not in event)))
    said = await text_of(await attempt(upstream, provider, "openai-completions", dialect=dialect, stream=True))
    assert spoken(said) == "hello there"
    assert LAST_WORDS[dialect] in said


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dialect", OWN)
async def test_words_never_get_lost_in_an_event_that_was_cut(upstream: HttpUpstream, provider: FakeProvider, family: str, dialect: str):
    events = stream_events(family, Said("hello {there}"))
    for n, event in enumerate(events):
        if b"llo" not in event and b"there" not in event:
            continue
        begin, end = event.index(b"data: ") + len(b'data: {"'), len(event) - 3
        for length in {*range(begin, end, 11), *(place for place in range(begin, end) if event[place - 1 : place] == b"}")}:
            provider.on("*", stream(*events[:n], event[:length] + b"\n\n", *events[n + 1 :]))
            got = await attempt(upstream, provider, family, dialect=dialect, stream=True)
            if isinstance(got, AttemptFailed):
                assert "garbled" in str(got.failure.message)
                continue
            try:
                said = await text_of(got)
            except AnswerBroken:
                continue
            assert spoken(said) == "hello {there}", event[:length]


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_stream_without_content_is_empty(upstream: HttpUpstream, provider: FakeProvider, family: str):
    provider.on(
        "*", answering(family, Said("")) if family != "google-generative-ai" else stream(data({"candidates": [{"finishReason": "STOP"}]}))
    )
    got = await attempt(upstream, provider, family, stream=True)
    assert not isinstance(got, AttemptFailed)
    assert got.empty


@pytest.mark.parametrize("family", FAMILIES)
async def test_junk_costs_nothing_and_garbled_content_breaks(upstream: HttpUpstream, provider: FakeProvider, family: str):
    events = [*preamble(family)]
    provider.on("*", stream(*events, b"data: {oops\n\n", data("junk"), b": ping\n\n"))
    got = await attempt(upstream, provider, family, stream=True)
    assert not isinstance(got, AttemptFailed)
    assert got.empty
    carriers = {"anthropic-messages": '{"delta": {"te', "google-generative-ai": '{"candidates": [', "openai-responses": '{"delta": "h'}
    provider.on("*", stream(*events, data(carriers.get(family, '{"choices": [{"del'))))
    assert "garbled" in str(failure_of(await attempt(upstream, provider, family, stream=True)).message)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("code", "kind", "text", "reason"),
    [
        (401, "authentication_error", "invalid x-api-key", "auth"),
        (429, "rate_limit_error", "rate limit reached for requests", "rate_limit"),
        (529, "overloaded_error", "Overloaded", "overloaded"),
        (400, "invalid_request_error", "messages: roles must alternate", "format"),
    ],
)
async def test_errors_are_what_they_say(
    upstream: HttpUpstream, provider: FakeProvider, family: str, code: int, kind: str, text: str, reason: str
):
    provider.on("*", failing(family, code, text, kind))
    assert classify(failure_of(await attempt(upstream, provider, family)), "acme").reason == reason


async def test_googles_status_inside_a_stream_counts(upstream: HttpUpstream, provider: FakeProvider):
    error = {"error": {"code": 429, "message": "Resource has been exhausted (e.g. check quota).", "status": "RESOURCE_EXHAUSTED"}}
    provider.on("*", stream(data(error)))
    failure = failure_of(await attempt(upstream, provider, "google-generative-ai", stream=True))
    assert (failure.status, classify(failure, "google").reason) == (429, "rate_limit")
    provider.on("*", status(200, [error]))
    assert failure_of(await attempt(upstream, provider, "google-generative-ai", stream=True)).status == 429


async def test_a_prompt_that_google_declines_is_no_empty_answer(upstream: HttpUpstream, provider: FakeProvider):
    provider.on("*", status(200, {"promptFeedback": {"blockReason": "SAFETY"}}))
    assert "SAFETY" in str(failure_of(await attempt(upstream, provider, "google-generative-ai")).message)


LOGIN = OAuthSettings("https://token.example", "client")


@pytest.mark.parametrize(
    ("family", "secret", "settings", "header", "value"),
    [
        ("openai-responses", "k1", {}, "authorization", "Bearer k1"),
        ("anthropic-messages", "k1", {}, "x-api-key", "k1"),
        ("anthropic-messages", "sk-ant-oat01-x", {}, "authorization", "Bearer sk-ant-oat01-x"),
        ("anthropic-messages", "opaque", {"oauth": LOGIN}, "authorization", "Bearer opaque"),
        ("anthropic-messages", "sk-ant-api03-x", {"oauth": LOGIN}, "x-api-key", "sk-ant-api03-x"),
        ("google-generative-ai", "AIza1", {"oauth": LOGIN}, "x-goog-api-key", "AIza1"),
        ("google-generative-ai", "ya29.x", {}, "authorization", "Bearer ya29.x"),
    ],
)
async def test_a_credential_goes_where_its_kind_belongs(
    upstream: HttpUpstream, provider: FakeProvider, family: str, secret: str, settings: dict[str, Any], header: str, value: str
):
    provider.on("*", answering(family))
    await attempt(upstream, provider, family, secret=secret, **settings)
    call = provider.calls[0]
    assert call.headers[header] == value
    assert [name for name in call.headers if secret in call.headers[name]] == [header]
    assert secret not in call.path
    assert secret.encode() not in call.raw


@pytest.mark.parametrize(
    ("family", "streamed", "path"),
    [
        ("openai-responses", False, "/v1/responses"),
        ("anthropic-messages", True, "/v1/messages"),
        ("google-generative-ai", False, "/v1/models/big:generateContent"),
        ("google-generative-ai", True, "/v1/models/big:streamGenerateContent?alt=sse"),
    ],
)
async def test_a_path_follows_the_base_url(upstream: HttpUpstream, provider: FakeProvider, family: str, streamed: bool, path: str):
    provider.on("*", answering(family))
    await attempt(upstream, provider, family, stream=streamed)
    assert provider.calls[0].path == path


async def test_anthropics_own_headers_pass_as_they_came_and_go_to_nobody_else(upstream: HttpUpstream, provider: FakeProvider):
    own = {"anthropic-version": "2024-01-01", "anthropic-beta": "a,b", "x-title": "app"}
    provider.on("*", answering("anthropic-messages"))
    await attempt(upstream, provider, "anthropic-messages", headers=own)
    assert {name: provider.calls[0].headers.get(name) for name in own} == own
    provider.on("*", answering("openai-completions"))
    await attempt(upstream, provider, "openai-completions", dialect="anthropic-messages", headers=own)
    assert {name for name in own if name in provider.calls[1].headers} == {"x-title"}
    provider.on("*", answering("anthropic-messages"))
    await attempt(upstream, provider, "anthropic-messages", dialect="openai-completions", headers={"openai-beta": "x"})
    assert provider.calls[2].headers["anthropic-version"] == "2023-06-01"
    assert "openai-beta" not in provider.calls[2].headers


async def test_tokens_are_counted_by_anthropic_alone(upstream: HttpUpstream, provider: FakeProvider):
    provider.on("*", status(200, {"input_tokens": 12}))
    got = await attempt(upstream, provider, "anthropic-messages", task=COUNT_TOKENS)
    assert json.loads(await text_of(got)) == {"input_tokens": 12}
    assert provider.calls[0].path == "/v1/messages/count_tokens"
    failure = failure_of(await attempt(upstream, provider, "openai-completions", dialect="anthropic-messages", task=COUNT_TOKENS))
    assert failure.caller_fault
    assert len(provider.calls) == 1


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("store", "kept"), [(True, "resp_1"), (None, "resp_1"), (False, None)])
async def test_the_id_of_a_kept_response_is_seen(
    upstream: HttpUpstream, provider: FakeProvider, streamed: bool, store: bool | None, kept: str | None
):
    response: dict[str, Any] = {"id": "resp_1", "object": "response", "output": [{"type": "function_call", "id": "f"}]}
    response = response if store is None else {**response, "store": store}
    events = stream(data({"type": "response.created", "response": response}), data({"type": "response.completed", "response": response}))
    provider.on("*", events if streamed else status(200, response))
    got = await attempt(upstream, provider, "openai-responses", stream=streamed)
    assert not isinstance(got, AttemptFailed)
    assert got.response_id == kept
    await text_of(got)
