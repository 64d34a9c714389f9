"""Heads of requests that no provider must ever see, and bytes that are no request: an answer that a program can read, and nothing more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from engine.gateway.request_head import HEAD_LIMIT
from tests.fakes import provider as fake
from tests.gateway.fake_engine import FakeEngine, Gateway, running_gateway, settings
from tests.gateway.live_house import running_house

CHAT = "/v1/chat/completions"


@pytest.fixture
async def engine() -> FakeEngine:
    return FakeEngine(settings())


@pytest.fixture
async def gateway(engine: FakeEngine) -> AsyncIterator[Gateway]:
    async with running_gateway(engine) as running:
        yield running


async def said_to(gateway: Gateway, raw: bytes) -> tuple[int, dict[str, str]]:
    """Status and error of what the gateway answers to these bytes before it closes the connection."""
    host, _, port = gateway.server.address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(raw)
        answer = await asyncio.wait_for(reader.read(), 5)
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head
    found: dict[str, str] = json.loads(body)["error"]
    return int(head.split(b" ")[1]), found


@pytest.mark.parametrize(
    "headers",
    [
        {f"x-h{number}": "y" * 60 for number in range(1000)},
        {"x-one": "y" * HEAD_LIMIT},
        {"x-failover-session": "s" * HEAD_LIMIT},
    ],
)
async def test_headers_beyond_the_limit_are_431_and_reach_nobody(gateway: Gateway, engine: FakeEngine, headers: dict[str, str]):
    answer = await gateway.chat(headers=headers)
    assert answer.status_code == 431
    assert answer.json()["error"]["code"] == "headers_too_large"
    assert "32 KiB" in answer.json()["error"]["message"]
    assert engine.requests == []
    assert (await gateway.client.get("/healthz")).status_code == 200


async def test_a_target_beyond_the_limit_is_431(gateway: Gateway):
    assert (await gateway.client.get(f"/v1/models/{'x' * HEAD_LIMIT}")).status_code == 431


async def test_a_header_without_end_is_cut_off_at_the_limit(gateway: Gateway):
    status, found = await said_to(gateway, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-endless: " + b"y" * (HEAD_LIMIT + 1))
    assert (status, found["code"]) == (431, "headers_too_large")


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",  # TLS
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: a\0b\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: -5\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_400_with_the_next_step(gateway: Gateway, raw: bytes):
    status, found = await said_to(gateway, raw)
    assert (status, found["code"]) == (400, "invalid_http")
    assert "Send" in found["message"]


async def test_headers_just_under_the_limit_pass_on_a_connection_that_is_used_again(gateway: Gateway, engine: FakeEngine):
    for _ in range(3):
        answer = await gateway.chat(headers={"x-mine": "y" * (HEAD_LIMIT - 1000)})
        assert answer.status_code == 200
    assert len(engine.requests) == 3


async def test_one_callers_headers_cost_no_other_caller_its_key():
    """A provider that hangs up on big headers looks like one that is down."""
    async with running_house() as house:
        house.acme.on("big", fake.ok())
        big = {f"x-h{number}": "y" * 60 for number in range(1000)}
        assert (await house.gateway.chat(headers=big)).status_code == 431
        answer = await house.gateway.chat()
        assert answer.headers["x-failover-served"] == "acme/big"


async def test_an_encoded_body_is_415_and_says_what_to_send(gateway: Gateway, engine: FakeEngine):
    for encoding in ("gzip", "br", "GZIP, identity"):
        answer: httpx.Response = await gateway.chat(headers={"content-encoding": encoding})
        assert answer.status_code == 415, answer.text
        assert "uncompressed" in answer.json()["error"]["message"]
    assert engine.requests == []
    assert (await gateway.chat(headers={"content-encoding": "identity"})).status_code == 200


@pytest.mark.parametrize("offer", ["h2c", "websocket"])
async def test_a_request_that_offers_another_protocol_is_answered_in_this_one(gateway: Gateway, engine: FakeEngine, offer: str):
    """Java's HTTP client offers HTTP/2 with its first request, body and all."""
    headers = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": offer, "HTTP2-Settings": "AAMAAABkAAQAAP__"}
    for _ in range(2):
        answer = await gateway.chat(headers=headers)
        assert answer.status_code == 200, answer.text
    assert len(engine.requests) == 2
    assert (await gateway.client.get("/healthz", headers=headers)).status_code == 200
