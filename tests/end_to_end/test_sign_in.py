"""Logins that end (issue 4, "Must show" 4) with real processes and a token server on loopback: one refresh however many want it, and a
refresh token that was revoked. `oauth.refresh-once`."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx

from engine.domain.credentials import OAuth
from engine.domain.ids import MAIN_AGENT, ProfileId
from engine.domain.store import PutCredential
from store.opening import opened
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from tests.end_to_end.serving import Serving, serving
from tests.fakes.provider import Call, FakeProvider, Wire, after, ok, status

LOGIN = ProfileId("acme:login")


class TokenServer(FakeProvider):
    """Gives `access-1`, `access-2`, ...; a refresh token that comes a second time is refused, as strict servers do."""

    def __init__(self) -> None:
        super().__init__(after(0.2, self._grant))
        self.used: set[str] = set()

    async def _grant(self, call: Call, wire: Wire) -> None:
        token = parse_qs(call.raw.decode())["refresh_token"][0]
        if token in self.used:
            await status(400, {"error": "invalid_grant", "error_description": "refresh token reused"})(call, wire)
            return
        self.used.add(token)
        n = len(self.calls)
        await status(200, {"access_token": f"access-{n}", "refresh_token": f"refresh-{n}", "expires_in": 3600})(call, wire)


def one_login(provider: FakeProvider, tokens: FakeProvider) -> dict[str, Any]:
    oauth = {"tokenUrl": f"http://127.0.0.1:{tokens.port}/token", "clientId": "failover"}
    return {
        "agents": {"defaults": {"model": {"primary": "acme/big", "fallbacks": []}}},
        "models": {"providers": {"acme": {"baseUrl": provider.base_url, "api": "openai-completions", "oauth": oauth}}},
    }


async def sign_in(folder: Path, *, expires_in_s: float) -> None:
    login = OAuth("acme", access="access-0", refresh="refresh-0", expires=round((time.time() + expires_in_s) * 1000))
    store = SqliteStore(StateDirectory(folder / "state"))
    async with opened(store):
        await store.commit([PutCredential(MAIN_AGENT, LOGIN, login)])


async def ask(gateway: Serving, session: str) -> httpx.Response:
    async with httpx.AsyncClient(timeout=30) as client:
        said = {"model": "auto", "messages": [{"role": "user", "content": "hi"}]}
        return await client.post(f"{gateway.url}/v1/chat/completions", json=said, headers={"x-failover-session": session})


async def test_twenty_turns_in_two_processes_make_exactly_one_refresh(tmp_path: Path, acme: FakeProvider) -> None:
    tokens = TokenServer()
    await tokens.start()
    try:
        await sign_in(tmp_path, expires_in_s=-60)
        async with serving(tmp_path, one_login(acme, tokens)) as gateway:
            command = (sys.executable, "-m", "tests.end_to_end.ten_turns", str(gateway.config_file), str(gateway.state))
            pipes = {"stdin": PIPE, "stdout": PIPE, "stderr": PIPE}
            second = await asyncio.create_subprocess_exec(*command, cwd=Path(__file__).parents[2], **pipes)  # type: ignore[arg-type]
            assert second.stdin is not None
            assert second.stdout is not None
            assert await asyncio.wait_for(second.stdout.readline(), 30) == b"ready\n"
            second.stdin.write(b"now\n")
            answers = await asyncio.gather(*(ask(gateway, f"s{n}") for n in range(10)))
            told, complaints = await asyncio.wait_for(second.communicate(), 30)
            assert [answer.status_code for answer in answers] == [200] * 10
            assert json.loads(told) == ["ok"] * 10, complaints
            assert len(tokens.calls) == 1
            assert {call.key for call in acme.calls} == {"access-1"}
            assert len(acme.calls) == 20
            # Nothing of the login is in what either of them said.
            assert await gateway.stop() == 0
            for text in (*gateway.seen, told.decode(), complaints.decode(), *(answer.text for answer in answers)):
                assert not any(secret in text for secret in ("refresh-0", "refresh-1", "access-0", "access-1"))
    finally:
        await tokens.stop()


async def test_an_expired_token_is_refreshed_and_asked_again_within_the_attempt_oauth_expired_retry(
    tmp_path: Path, acme: FakeProvider
) -> None:
    tokens = TokenServer()
    await tokens.start()
    acme.on("*", status(401, {"error": {"message": "token expired", "code": "token_expired"}}), ok("again"))
    try:
        await sign_in(tmp_path, expires_in_s=3600)
        async with serving(tmp_path, one_login(acme, tokens)) as gateway:
            answer = await ask(gateway, "s")
            assert (answer.status_code, answer.headers["x-failover-attempts"]) == (200, "1")
            assert [call.key for call in acme.calls] == ["access-0", "access-1"]
            assert len(tokens.calls) == 1
            listed = (await gateway.run("profiles", "list", "--json")).json
            assert [row["windows"] for row in listed] == [[]]
    finally:
        await tokens.stop()


async def test_a_revoked_refresh_token_puts_the_login_out_and_says_what_to_do(tmp_path: Path, acme: FakeProvider) -> None:
    tokens = TokenServer()
    tokens.used.add("refresh-0")
    await tokens.start()
    try:
        await sign_in(tmp_path, expires_in_s=-60)
        async with serving(tmp_path, one_login(acme, tokens)) as gateway:
            answer = await ask(gateway, "s")
            assert answer.status_code == 400  # a chain of one that was attempted: the token server's own status
            assert answer.json()["error"]["code"] == "auth_permanent"
            assert "refresh-0" not in answer.text
            assert acme.calls == []
            (row,) = (await gateway.run("profiles", "list", "--json")).json
            assert (row["state"], row["windows"][0]["reason"]) == ("disabled", "auth_permanent")
            again = await ask(gateway, "t")
            assert (again.status_code, again.json()["error"]["code"]) == (502, "upstream_credentials_exhausted")
            assert len(tokens.calls) == 1
    finally:
        await tokens.stop()
