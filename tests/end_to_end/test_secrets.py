"""A key that a provider repeats, in every form and through every output (issue 4, "Must show" 6; field report L01), and a web page that
tries to drive the gateway (L04, L05)."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from tests.end_to_end.serving import SENTINEL, Serving, serving, two_providers
from tests.fakes.provider import Answer, Call, FakeProvider, Wire, data, error, ok, status, stream

KEY = f"{SENTINEL}+/=é".replace("é", "")  # characters that each encoding writes in its own way
FORMS = {
    "plain": KEY,
    "url": quote(KEY, safe=""),
    "json": json.dumps(KEY)[1:-1],
    "json in json": json.dumps(json.dumps({"k": KEY}))[1:-1],
    "basic": b64encode(f"user:{KEY}".encode()).decode(),
    "base64": b64encode(KEY.encode()).decode(),
}
TRACES = (
    SENTINEL,
    quote(SENTINEL, safe=""),
    b64encode(SENTINEL.encode()).decode()[:20],
    b64encode(b"user:" + SENTINEL.encode()).decode()[8:28],
)


def split(text: str) -> Answer:
    """The error's text in two chunks, the key across them."""

    async def answer(_call: Call, wire: Wire) -> None:
        body = json.dumps({"error": {"message": f"bad key {text} here", "code": "bad"}}).encode()
        middle = body.find(text[:6].encode()) + 6
        await wire.head(500, {"content-type": "application/json", "transfer-encoding": "chunked"})
        await wire.chunk(body[:middle])
        await wire.chunk(body[middle:])
        await wire.end()

    return answer


def repeating(text: str) -> list[Answer]:
    """How a provider may hand a key back."""
    said = f"rejected {text} as a key"
    return [
        error(400, said, code="invalid_request_error"),
        error(401, said),
        status(500, f"<html><body>{said}</body></html>", {"content-type": "text/html"}),
        status(302, "", {"location": f"https://elsewhere.example/?key={text}"}),
        status(429, {"error": {"message": said}}, {"x-request-id": text, "x-ratelimit-reset": text}),
        split(text),
        stream(data({"error": {"message": said, "type": "server_error"}})),
        ok(),
    ]


async def everything(gateway: Serving) -> list[tuple[str, str]]:
    """What people and programs can read, but for the store of credentials (there is no key in it: they are in the environment)."""
    views = ["status", "sessions", "doctor", "profiles list", "explain desk", "log"]
    shown = [(view, await gateway.run(*view.split())) for view in (*views, "status --json", "log --json", "sessions --json")]
    found = [(view, ran.out + ran.err) for view, ran in shown]
    async with httpx.AsyncClient(base_url=gateway.url) as client:
        operator = {"authorization": f"Bearer {gateway.operator_token}"}
        found += [(path, (await client.get(f"/operator/{path}", headers=operator)).text) for path in ("snapshot", "decisions?limit=1000")]
        found += [(path, (await client.get(path)).text) for path in ("/metrics", "/v1/models", "/readyz")]
    return found


async def test_a_key_that_a_provider_repeats_is_in_no_output(tmp_path: Path, acme: FakeProvider, zeta: FakeProvider) -> None:
    config = two_providers(acme, zeta)
    config["models"]["providers"]["acme"]["cooldowns"] = False
    async with serving(tmp_path, config, {"TEST_ACME": KEY}) as gateway, httpx.AsyncClient(timeout=20) as client:
        asked = 0
        for text in FORMS.values():
            for answer in repeating(text):
                acme.on("*", answer)
                for strict in ({}, {"x-failover-fallbacks": ""}):
                    asked += 1
                    said: dict[str, Any] = {"model": "acme/big", "messages": [{"role": "user", "content": "x"}], "stream": asked % 3 == 0}
                    heads = {"x-failover-session": "desk", **strict}
                    got = await client.post(f"{gateway.url}/v1/chat/completions", json=said, headers=heads)
                    for trace in TRACES:
                        assert trace not in got.text, (text, got.text)
                        assert trace not in str(got.headers)
        assert any(call.key == KEY for call in acme.calls)
        outputs = await everything(gateway)
        assert await gateway.stop() == 0
        files = [path for path in gateway.state.rglob("*") if path.is_file()]
        outputs += [(path.name, path.read_bytes().decode("latin-1")) for path in files]
        outputs += [("process", text) for text in gateway.seen]
        assert len(outputs) > 15
        for name, text in outputs:
            for trace in TRACES:
                assert trace not in text, (name, trace)


async def test_a_web_page_can_neither_read_nor_drive_the_gateway(tmp_path: Path, acme: FakeProvider, zeta: FakeProvider) -> None:
    async with serving(tmp_path, two_providers(acme, zeta)) as gateway, httpx.AsyncClient(base_url=gateway.url) as client:
        page = {"origin": "https://evil.example", "referer": "https://evil.example/x"}
        rebound = {"host": "evil.example"}
        said = json.dumps({"model": "auto", "messages": [{"role": "user", "content": "spend"}]})
        act = json.dumps({"act": "off", "target": "acme", "reason": "x"})
        posts = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens")
        for path in (*posts, "/operator/acts"):
            body = act if path == "/operator/acts" else said
            for headers in (page, rebound, {"origin": "null"}):
                # A form may send text/plain without asking first.
                answer = await client.post(path, content=body, headers={"content-type": "text/plain", **headers})
                assert answer.status_code == 403, path
                assert "access-control-allow-origin" not in answer.headers
            asked = await client.options(path, headers={**page, "access-control-request-method": "POST"})
            assert asked.status_code == 403
        for path in ("/v1/models", "/metrics", "/healthz", "/operator/snapshot", "/operator/instance", "/operator/events"):
            for headers in (page, rebound):
                assert (await client.get(path, headers=headers)).status_code == 403, path
        # An image's address cannot act, with a token or without; a form without a token neither.
        operator = {"authorization": f"Bearer {gateway.operator_token}"}
        assert (await client.get("/operator/acts?act=off&target=acme", headers=operator)).status_code == 405
        assert (await client.get("/operator/acts?act=off&target=acme")).status_code == 401
        assert (await client.post("/operator/acts", content=act)).status_code == 401
        assert (acme.calls, zeta.calls) == ([], [])
        ready = (await gateway.run("profiles", "list", "--json")).json
        assert {row["state"] for row in ready} == {"ready"}


async def test_errors_hold_no_profile_path_or_part_of_a_key(tmp_path: Path, acme: FakeProvider, zeta: FakeProvider) -> None:
    """L05"""
    config = two_providers(acme, zeta)
    config["auth"]["profiles"]["acme:ann@home.example"] = config["auth"]["profiles"].pop("acme:k1")
    acme.on("*", error(401, "invalid api key"))
    zeta.on("*", error(429, "rate limit reached"))
    async with serving(tmp_path, config) as gateway, httpx.AsyncClient(base_url=gateway.url) as client:
        for path, body in (
            ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}),
            ("/v1/responses", {"input": "x"}),
            ("/v1/messages", {"max_tokens": 5, "messages": [{"role": "user", "content": "x"}]}),
        ):
            answer = await client.post(path, json=body)
            assert answer.status_code >= 400
            for inside in ("ann@home.example", "acme:", "zeta:k1", str(tmp_path), SENTINEL[:12], "sqlite", "Traceback"):
                assert inside not in answer.text + str(answer.headers), (path, inside)
            assert answer.headers["x-failover-turn"] in answer.text
