"""Requests that never become a turn: what is wrong and what to do, in the dialect's shape; and who may not talk to us at all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.gateway.fake_engine import FakeEngine, Gateway, running_gateway, settings

CHAT = "/v1/chat/completions"


@pytest.fixture
async def engine() -> FakeEngine:
    return FakeEngine(settings(gateway={"body_limit_mb": 0.01}))


@pytest.fixture
async def gateway(engine: FakeEngine) -> AsyncIterator[Gateway]:
    async with running_gateway(engine) as running:
        yield running


def error(answer: httpx.Response, status: int, code: str) -> str:
    assert answer.status_code == status, answer.text
    found = answer.json()["error"]
    assert found.keys() == {"message", "type", "param", "code"}
    assert found["code"] == code
    message: str = found["message"]
    return message


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "no body"),
        (b"  ", "no body"),
        (b"{", "not valid JSON"),
        (b"messages=hi", "not valid JSON"),
        (b'{"messages": NaN}', "NaN"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (b'{"messages": "\xff"}', "not UTF-8 at byte 14"),
        (b"[1]", "array"),
        (b'"x"', "string"),
        (b"null", "null"),
        (b"[" * 9000, "nested too deeply"),
        (b'{"n": ' + b"9" * 6000 + b"}", "number of thousands of digits"),
    ],
)
async def test_what_is_not_a_json_object_is_400(gateway: Gateway, engine: FakeEngine, raw: bytes, says: str):
    message = error(await gateway.client.post(CHAT, content=raw), 400, "invalid_json")
    assert says in message
    assert engine.requests == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "`messages` is missing"),
        ({"messages": None}, "`messages` is missing"),
        ({"messages": "hi"}, "must be a list"),
        ({"messages": []}, "at least one"),
        ({"messages": ["hi"]}, "message object"),
        ({"messages": [{}], "stream": "yes"}, "`stream`"),
        ({"messages": [{}], "model": 7}, "`model`"),
        ({"messages": [{}], "model": "a\r\nb: c"}, "printable"),
        ({"messages": [{}], "model": "m" * 301}, "at most 300"),
    ],
)
async def test_a_body_that_no_provider_would_take_is_400(gateway: Gateway, body: dict[str, Any], says: str):
    assert says in error(await gateway.client.post(CHAT, json=body), 400, "invalid_request")


async def test_an_unknown_model_is_404_and_lists_what_there_is(gateway: Gateway):
    message = error(await gateway.chat("nowhere/m"), 404, "model_not_found")
    for name in ("auto", "agent/ops", "acme/big", "zeta/std"):
        assert name in message


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"x-failover-kind": "party"}, "invalid_header"),
        ({"x-failover-timeout": "soon"}, "invalid_header"),
        ({"x-failover-timeout": "0"}, "invalid_header"),
        ({"x-failover-timeout": "-1"}, "invalid_header"),
        ({"x-failover-timeout": "nan"}, "invalid_header"),
        ({"x-failover-timeout": "inf"}, "invalid_header"),
        ({"x-failover-fallbacks": "acme/big, big"}, "invalid_header"),
        ({"x-failover-fallbacks": ",".join(["a/b"] * 51)}, "invalid_header"),
        ({"x-failover-side-effects": "some"}, "invalid_header"),
        ({"x-failover-agent": "nobody"}, "unknown_agent"),
        ({"x-failover-session": "x" * 201}, "invalid_session_id"),
    ],
)
async def test_a_header_that_cannot_be_understood_is_400(gateway: Gateway, headers: dict[str, str], code: str):
    error(await gateway.chat(headers=headers), 400, code)


async def test_a_body_over_the_limit_is_413(gateway: Gateway, engine: FakeEngine):
    big = json.dumps({"messages": [{"role": "user", "content": "x" * 20_000}]}).encode()

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(big), 1000):
            yield big[at : at + 1000]

    for content in (big, pieces()):
        assert "0.01 MB" in error(await gateway.client.post(CHAT, content=content), 413, "request_too_large")
    assert engine.requests == []
    assert (await gateway.chat()).status_code == 200


async def test_a_body_in_pieces_is_read_whole(gateway: Gateway, engine: FakeEngine):
    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"messages": '
        yield b'[{"role": "user"}]}'

    assert (await gateway.client.post(CHAT, content=pieces())).status_code == 200
    assert engine.payloads[0].raw == b'{"messages": [{"role": "user"}]}'


@pytest.mark.parametrize("path", ["/", "/v1", "/chat/completions", "/v1/embeddings", "/v1/modelsx", "/operator/snapshot"])
async def test_unknown_routes_are_404_in_the_dialects_shape(gateway: Gateway, path: str):
    error(await gateway.client.get(path), 404, "not_found")


async def test_a_wrong_method_is_405(gateway: Gateway):
    answer = await gateway.client.get(CHAT)
    error(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "POST"
    error(await gateway.client.post("/v1/models"), 405, "method_not_allowed")


async def test_a_foreign_host_is_refused_on_every_route(gateway: Gateway):
    """L04"""
    for path in (CHAT, "/v1/models", "/healthz", "/readyz", "/operator/x"):
        for host in ("evil.example", "evil.example:4141", "127.0.0.1.evil.example", "", "[::2]", "localhost.evil.example"):
            error(await gateway.client.get(path, headers={"host": host}), 403, "host_not_allowed")


async def test_loopback_names_are_ours(gateway: Gateway):
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:4141", "localhost."):
        assert (await gateway.client.get("/healthz", headers={"host": host})).status_code == 200


async def test_a_page_of_another_origin_is_refused(gateway: Gateway, engine: FakeEngine):
    """L04"""
    for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example", "file://", "http://["):
        error(await gateway.chat(headers={"origin": origin}), 403, "origin_not_allowed")
    assert engine.requests == []


async def test_a_page_of_this_machine_is_not(gateway: Gateway):
    assert (await gateway.chat(headers={"origin": "http://localhost:3000"})).status_code == 200


async def test_configured_names_are_ours():
    async with running_gateway(FakeEngine(settings(gateway={"hosts": ("Gateway.Internal",)}))) as gateway:
        headers = {"host": "gateway.internal:4141", "origin": "https://gateway.internal"}
        assert (await gateway.chat(headers=headers)).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": "Basic t0ken"}, 401),
        ({"x-api-key": "t0ken2"}, 401),
        ({"x-api-key": "t\xf6ken"}, 401),
        ({"authorization": "Bearer t0ken"}, 200),
        ({"authorization": "bearer t0ken"}, 200),
        ({"x-api-key": "t0ken"}, 200),
        ({"api-key": "t0ken"}, 200),
    ],
)
async def test_the_gateways_token_is_asked_for_when_there_is_one(headers: dict[str, str], status: int):
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    async with running_gateway(FakeEngine(), token="t0ken") as gateway:
        answer = await gateway.client.post(CHAT, json={"messages": [{}]}, headers=raw)
        assert answer.status_code == status
        assert (await gateway.client.get("/v1/models", headers=raw)).status_code == status
        assert (await gateway.client.get("/healthz")).status_code == 200
        if status == 401:
            assert "t0ken" not in error(answer, 401, "invalid_api_key")


async def test_a_draining_gateway_takes_no_new_requests(gateway: Gateway, engine: FakeEngine):
    engine.draining = True
    answer = await gateway.chat()
    error(answer, 503, "gateway_draining")
    assert int(answer.headers["retry-after"]) >= 1
    assert (await gateway.client.get("/readyz")).status_code == 503
    assert (await gateway.client.get("/healthz")).status_code == 200


async def test_readiness_is_that_of_the_engine(gateway: Gateway, engine: FakeEngine):
    assert (await gateway.client.get("/readyz")).status_code == 200
    engine.ready = False
    assert (await gateway.client.get("/readyz")).status_code == 503


async def test_the_models_are_listed_and_found(gateway: Gateway):
    listed = (await gateway.client.get("/v1/models")).json()
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]][:3] == ["auto", "agent/ops", "acme/big"]
    for name, owner in (("acme/big", "acme"), ("auto", "failover"), ("agent/ops", "failover"), ("quick", "acme"), ("zeta/org%2Fm", "zeta")):
        found = (await gateway.client.get(f"/v1/models/{name}")).json()
        assert (found["object"], found["owned_by"]) == ("model", owner)
    for unknown in ("nowhere/m", "%00", "acme/b%0Aig", "acme/%1B%5B31m", "acme/" + "x" * 300):
        error(await gateway.client.get(f"/v1/models/{unknown}"), 404, "model_not_found")
    head = await gateway.client.head("/v1/models")
    assert (head.status_code, head.content) == (200, b"")


async def test_a_bug_of_ours_is_a_500_and_not_the_end(gateway: Gateway, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(engine, "begin", broken)
    assert "secret" not in error(await gateway.chat(), 500, "internal_error")
    assert (await gateway.client.get("/healthz")).status_code == 200


async def test_the_operator_api_is_mounted_behind_the_same_host_check():
    seen: list[Any] = []

    async def operator(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["path"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async with running_gateway(FakeEngine(), token="t0ken", operator=operator) as gateway:
        assert (await gateway.client.get("/operator/snapshot")).status_code == 204
        assert (await gateway.client.get("/operator/snapshot", headers={"host": "evil.example"})).status_code == 403
    assert seen == ["/operator/snapshot"]
