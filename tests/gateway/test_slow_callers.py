"""Callers that send too slowly, too much, or go on after they are refused: each gets an answer it can read, and holds nothing for long."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import pytest

from engine.gateway.request_body import MAX_VALUES
from engine.gateway.request_head import BoundedHead
from tests.gateway.fake_engine import FakeEngine, Gateway, running_gateway, settings

CHAT = "/v1/chat/completions"
HEAD = b"POST %s HTTP/1.1\r\nhost: localhost\r\n"
MB = 1024 * 1024


class Hasty(BoundedHead):
    head_s = 0.05


@contextlib.asynccontextmanager
async def connected(gateway: Gateway) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def answer_of(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Status and error of the next answer."""
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
    error: dict[str, str] = json.loads(await asyncio.wait_for(reader.readexactly(length), 5))["error"]
    return int(head.split(b" ")[1]), error


# --- too slow --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begun", [HEAD % b"/healthz", b"G", HEAD % b"/healthz" + b"x-slow: "])
async def test_a_head_that_dribbles_is_408(begun: bytes):
    async with running_gateway(FakeEngine(), connection=Hasty) as gateway, connected(gateway) as (reader, writer):
        writer.write(begun)
        status, error = await answer_of(reader)
        assert (status, error["code"]) == (408, "request_timeout")
        assert "Send it again" in error["message"]


async def test_a_connection_on_which_nothing_is_said_is_closed_without_a_word():
    async with running_gateway(FakeEngine(), connection=Hasty) as gateway, connected(gateway) as (reader, _):
        assert await asyncio.wait_for(reader.read(), 5) == b""


async def test_a_slow_answer_and_a_quiet_connection_between_two_requests_are_no_slow_head():
    engine = FakeEngine()
    engine.turns[0].wait_s = 3 * Hasty.head_s
    async with running_gateway(engine, connection=Hasty) as gateway, connected(gateway) as (reader, writer):
        body = b'{"messages": [{}]}'
        for _ in range(2):
            writer.write(HEAD % CHAT.encode() + b"content-length: %d\r\n\r\n" % len(body) + body)
            assert (await asyncio.wait_for(reader.readuntil(b"{}"), 5)).startswith(b"HTTP/1.1 200")
            async with connected(gateway) as (silent, _):
                await asyncio.wait_for(silent.read(), 5)  # so long was nothing said


@pytest.mark.parametrize(("path", "keys"), [(CHAT, {"message", "type", "param", "code"}), ("/v1/messages", {"type", "message", "code"})])
async def test_a_body_that_dribbles_is_408_in_the_dialects_shape(path: str, keys: set[str]):
    async with running_gateway(FakeEngine(), body_s=0.05) as gateway, connected(gateway) as (reader, writer):
        writer.write(HEAD % path.encode() + b'content-length: 100\r\n\r\n{"mess')
        status, error = await answer_of(reader)
        assert (status, set(error)) == (408, keys)
        assert "6 bytes" in error["message"]


async def test_a_slow_line_may_take_longer_while_its_body_comes():
    engine = FakeEngine()
    body = b'{"messages": [{"role": "user"}], "x": "' + b"x" * 2000 + b'"}'
    async with running_gateway(engine, body_s=0.05) as gateway, connected(gateway) as (reader, writer):
        writer.write(HEAD % CHAT.encode() + b"content-length: %d\r\n\r\n" % len(body) + body[:1000])
        await writer.drain()
        asyncio.get_running_loop().call_later(0.3, writer.write, body[1000:])  # six times the patience, at 1,000 bytes a second
        assert (await asyncio.wait_for(reader.readline(), 5)).startswith(b"HTTP/1.1 200")


# --- too much --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("connection", [b"close", b"keep-alive"])
@pytest.mark.parametrize("framing", [b"content-length: %d\r\n\r\n" % (8 * MB), b"transfer-encoding: chunked\r\n\r\n%x\r\n" % (8 * MB)])
async def test_a_413_reaches_a_caller_that_is_still_sending(connection: bytes, framing: bytes):
    """Closed with bytes unread, a connection is reset, and the answer is lost with it."""
    async with running_gateway(FakeEngine(settings(gateway={"body_limit_mb": 0.01}))) as gateway, connected(gateway) as (reader, writer):
        writer.write(HEAD % CHAT.encode() + b"connection: " + connection + b"\r\n" + framing)
        for _ in range(8):
            writer.write(b"x" * MB)
            await writer.drain()
        status, error = await answer_of(reader)
        assert (status, error["code"]) == (413, "request_too_large")


async def test_a_refusal_before_the_body_is_read_reaches_its_caller_and_the_connection_stays_in_step():
    async with running_gateway(FakeEngine(), token="t0ken") as gateway, connected(gateway) as (reader, writer):
        for _ in range(2):
            writer.write(HEAD % CHAT.encode() + b"content-length: %d\r\n\r\n" % MB + b"x" * MB)
            await writer.drain()
            assert (await answer_of(reader))[0] == 401


async def test_a_body_of_millions_of_values_is_refused_before_it_is_parsed():
    async with running_gateway(FakeEngine()) as gateway:
        for filling in (b"[],", b"1,", b'"",', b'{"a":1},'):
            body = b'{"messages":[' + filling * (3 * MAX_VALUES) + b"1]}"
            answer = await gateway.client.post(CHAT, content=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large"), filling
            assert "JSON values" in answer.json()["error"]["message"]


async def test_a_text_full_of_braces_and_quotes_is_one_value():
    code = "if (a[1], \"\\b\\\\\", '{}') { [x, y] } " * 40_000
    body = {"messages": [{"role": "user", "content": code}]}
    engine = FakeEngine()
    async with running_gateway(engine) as gateway:
        assert (await gateway.client.post(CHAT, json=body)).status_code == 200
        assert engine.payloads[0].body == body
