"""What comes back for a turn that answered: bytes, headers, notices, broken streams; and what a caller that goes away does."""

from __future__ import annotations

import asyncio
import contextlib
import json
from urllib.parse import unquote

import httpx
import pytest

from engine.domain.ids import ProfileId
from engine.domain.turns import TurnOutcome
from tests.fakes.provider import DONE, STOP, completion, words
from tests.gateway.fake_engine import FakeEngine, FakeTurn, Gateway, broke_off, entry, failed, running_gateway, settings

NOTICE = "↪️ Model Fallback: zeta/std (selected acme/big; rate limit)"
WHOLE = json.dumps(completion("hello", "std")).encode()
STREAM = (*words("a", "b"), STOP, DONE)


async def whole(turn: FakeTurn, headers: dict[str, str] | None = None, **gateway: object) -> httpx.Response:
    async with running_gateway(FakeEngine(settings(gateway=gateway), turn), operator_token="op-token") as running:
        return await running.chat(headers=headers)


async def test_the_bytes_and_headers_of_an_answer():
    answer = await whole(FakeTurn([WHOLE]))
    assert answer.content == WHOLE
    assert answer.headers["x-ratelimit-remaining"] == "7"
    found = {name: value for name, value in answer.headers.items() if name.startswith("x-failover")}
    assert found == {
        "x-failover-selected": "acme/big",
        "x-failover-served": "zeta/std",
        "x-failover-attempts": "2",
        "x-failover-reason": "rate_limit",
        "x-failover-turn": "t1",
    }
    assert answer.headers["server-timing"].startswith("gateway;dur=")
    assert "server" not in answer.headers


async def test_stream_and_whole_answer_have_the_same_headers():
    """I05"""
    one, other = await whole(FakeTurn([WHOLE])), await whole(FakeTurn(STREAM, streamed=True))
    for name in ("x-failover-selected", "x-failover-served", "x-failover-attempts", "x-failover-reason", "x-failover-turn"):
        assert one.headers[name] == other.headers[name]


async def test_the_profile_is_shown_to_operators_only():
    def turn() -> FakeTurn:
        return FakeTurn([WHOLE], profile=ProfileId("zeta:me@home.example"))

    assert "x-failover-profile" not in (await whole(turn())).headers
    assert "x-failover-profile" not in (await whole(turn(), {"x-failover-operator": "wrong"})).headers
    assert (await whole(turn(), {"x-failover-operator": "op-token"})).headers["x-failover-profile"] == "zeta:me@home.example"


async def test_a_notice_is_a_header_and_never_part_of_the_text():
    answer = await whole(FakeTurn([WHOLE], notices=(NOTICE,)))
    assert unquote(answer.headers["x-failover-notice"]) == NOTICE
    assert answer.content == WHOLE
    assert "x-failover-notice" not in (await whole(FakeTurn([WHOLE]))).headers


async def test_in_a_stream_a_notice_is_also_a_comment():
    answer = await whole(FakeTurn(STREAM, streamed=True, notices=(NOTICE,)))
    assert unquote(answer.headers["x-failover-notice"]) == NOTICE
    assert answer.content == f": {NOTICE}\n\n".encode() + b"".join(STREAM)


async def test_inline_notices_stand_before_the_text():
    answer = await whole(FakeTurn([WHOLE], notices=(NOTICE,)), notices="inline")
    assert answer.json()["choices"][0]["message"]["content"] == f"{NOTICE}\n\nhello"
    streamed = await whole(FakeTurn(STREAM, streamed=True, notices=(NOTICE,)), notices="inline")
    first = json.loads(streamed.text.split("data: ")[1])
    assert (first["choices"][0]["delta"]["content"], first["model"]) == (f"{NOTICE}\n\n", "std")
    assert streamed.content.endswith(b"".join(STREAM))


async def test_inline_notices_leave_a_tool_call_alone():
    body = json.dumps(completion(None, tool_calls=[{}])).encode()
    assert (await whole(FakeTurn([body], notices=(NOTICE,)), notices="inline")).content == body


async def test_a_name_with_control_characters_begins_no_header():
    answer = await whole(FakeTurn([WHOLE], reason="rate\r\nlimit: x", profile=ProfileId("é")), {"x-failover-operator": "op-token"})
    assert answer.headers["x-failover-reason"] == "rate%0D%0Alimit: x"
    assert unquote(answer.headers["x-failover-profile"]) == "é"


@pytest.mark.parametrize("raises", [True, False])
async def test_attempt_committed_a_broken_stream_ends_with_an_error_marked_partial(raises: bool):
    parts = words("a", "b")
    answer = await whole(FakeTurn([*parts, broke_off()] if raises else parts, streamed=True, partial=not raises))
    assert answer.status_code == 200
    sent = b"".join(words("a", "b"))
    assert answer.content.startswith(sent)
    event = answer.content[len(sent) :]
    error = json.loads(event.removeprefix(b"data: "))["error"]
    assert (error["partial"], error["code"], error["turn"]) == (True, "answer_incomplete", "t1")
    assert b"[DONE]" not in answer.content


async def test_half_an_event_cannot_swallow_the_error():
    answer = await whole(FakeTurn([words("a")[0], b'data: {"half', broke_off()], streamed=True))
    assert b'data: {"half\n\ndata: {"error"' in answer.content


async def test_a_whole_answer_that_breaks_is_502():
    answer = await whole(FakeTurn([b'{"choices"', broke_off()]))
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "answer_incomplete")


async def test_a_failed_turn_is_its_row_of_the_table():
    result = failed("rate_limit", entry("acme/big", "rate_limit", 429), entry("zeta/std", "overloaded", 529))
    answer = await whole(FakeTurn(result=result))
    assert (answer.status_code, answer.headers["x-should-retry"], answer.headers["retry-after"]) == (429, "false", "1")


# --- a caller that goes away --------------------------------------------------------------------------------------------


async def hang_up(gateway: Gateway, turn: FakeTurn, stream: bool, first: int) -> float:
    """Seconds from the caller's end until the turn hears of it. first: bytes that are waited for."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    body = json.dumps({"messages": [{"role": "user"}], "stream": stream}).encode()
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
    await (reader.readexactly(first) if first else asyncio.sleep(0.05))
    loop = asyncio.get_running_loop()
    gone = loop.time()
    writer.close()
    await asyncio.wait_for(turn.cancelled.wait(), 2)
    return loop.time() - gone


@pytest.mark.parametrize("stream", [True, False])
async def test_a_caller_that_goes_away_while_waiting_cancels_the_turn_at_once(stream: bool):
    turn = FakeTurn(wait_s=None)
    async with running_gateway(FakeEngine(None, turn)) as gateway:
        assert await hang_up(gateway, turn, stream, 0) < 0.1
        await asyncio.wait_for(gateway.app.idle.wait(), 1)


async def test_a_caller_that_goes_away_in_a_stream_cancels_the_turn_at_once():
    turn = FakeTurn([*words("a"), None], streamed=True)
    async with running_gateway(FakeEngine(None, turn)) as gateway:
        assert await hang_up(gateway, turn, True, 20) < 0.1
        await asyncio.wait_for(gateway.app.idle.wait(), 1)


async def test_a_caller_that_goes_away_in_its_own_request_starts_no_turn():
    engine = FakeEngine()
    async with running_gateway(engine) as gateway:
        _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
        await asyncio.sleep(0.02)
        writer.close()
        await asyncio.sleep(0.02)
        assert (await gateway.client.get("/healthz")).status_code == 200
    assert engine.requests == []


async def test_a_slow_client_holds_the_stream_back():
    piece = words("x" * 100_000)[0]
    turn = FakeTurn([piece] * 1000, streamed=True)
    async with running_gateway(FakeEngine(None, turn)) as gateway:
        _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        body = b'{"messages": [{}], "stream": true}'
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        taken = -1
        while taken != turn.sent:
            taken = turn.sent
            await asyncio.sleep(0.1)
        assert 0 < taken < 200
        writer.close()
        await asyncio.wait_for(turn.cancelled.wait(), 2)


async def test_draining_waits_for_turns_in_flight_and_then_ends():
    turn = FakeTurn([*words("a"), 0.15, *words("b"), STOP, DONE], streamed=True)
    engine = FakeEngine(None, turn)
    async with running_gateway(engine) as gateway:
        async with gateway.client.stream("POST", "/v1/chat/completions", json={"messages": [{}], "stream": True}) as answer:
            draining = asyncio.create_task(gateway.server.drain(5))
            await asyncio.sleep(0.02)
            assert (await gateway.chat()).status_code == 503
            assert (await answer.aread()).endswith(DONE)
        await asyncio.wait_for(draining, 1)


async def test_what_outlasts_the_drain_is_cancelled():
    turn = FakeTurn([*words("a"), None], streamed=True)
    async with running_gateway(FakeEngine(None, turn)) as gateway:
        with contextlib.suppress(httpx.RemoteProtocolError):
            async with gateway.client.stream("POST", "/v1/chat/completions", json={"messages": [{}], "stream": True}) as answer:
                parts = answer.aiter_raw()
                await anext(parts)
                await gateway.server.drain(0.05)
                async for _ in parts:
                    pass
        await asyncio.wait_for(turn.cancelled.wait(), 2)


async def test_an_aborted_turn_says_nothing():
    result = failed("aborted", outcome=TurnOutcome.ABORTED)
    async with running_gateway(FakeEngine(None, FakeTurn(result=result))) as gateway:
        # Nobody is there to read it; a client that is there all the same gets a server's error, never a false answer.
        assert (await gateway.chat()).status_code >= 499
