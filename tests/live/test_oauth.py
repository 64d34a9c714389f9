"""`oauth.refresh-once`: one refresh in flight, across tasks and processes; the result is kept or, if newer ones are there, dropped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx

from engine.domain.credentials import OAuth
from engine.domain.ids import MAIN_AGENT, ProfileId
from engine.domain.store import PutCredential, StateStore
from engine.domain.turns import TurnOutcome
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from tests.live.harness import T0, Bench, ScriptedUpstream, chain, fails, ok, running, settings_of, stored_with

O1 = ProfileId("acme:o1")
EXPIRED = OAuth("acme", access="access-0000", refresh="refresh-0000", expires=T0 - 1)


def config() -> Any:
    base: dict[str, Any] = chain("acme/big")
    acme = {**base["models"]["providers"]["acme"], "oauth": {"tokenUrl": "http://127.0.0.1:1/token", "clientId": "failover"}}
    return settings_of({**base, "models": {"providers": {"acme": acme}}})


class Idp:
    """A token endpoint that accepts each refresh token once. gate: answers wait for it."""

    def __init__(self) -> None:
        self.forms: list[Mapping[str, list[str]]] = []
        self.asked = asyncio.Event()
        self.used: set[str] = set()
        self.gate: asyncio.Event | None = None
        self.answer: httpx.Response | Exception | None = None

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self._answer))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        form = parse_qs(request.content.decode())
        self.forms.append(form)
        self.asked.set()
        number = len(self.forms)
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is not None:
            return self.answer
        token = form["refresh_token"][0]
        if token in self.used:
            return httpx.Response(400, json={"error": "invalid_grant", "error_description": "refresh token reused"})
        self.used.add(token)
        return httpx.Response(
            200, json={"access_token": f"access-{number:04}", "refresh_token": f"refresh-{number:04}", "expires_in": 3600}
        )


def stored_login(bench: Bench) -> OAuth:
    credential = bench.engine._parts.memory.agents[MAIN_AGENT].credentials[O1]
    assert isinstance(credential, OAuth)
    return credential


async def test_twenty_turns_with_an_expired_login_make_one_refresh():
    """E16"""
    idp = Idp()
    async with running(config(), credentials={O1: EXPIRED}, token_client=idp.client) as bench:
        results = await asyncio.gather(*(bench.turn(f"s{n}") for n in range(20)))
        assert [result.outcome for result in results] == [TurnOutcome.OK] * 20
        assert len(idp.forms) == 1
        assert {call.secret for call in bench.upstream.calls} == {"access-0001"}
        assert stored_login(bench).expires == T0 + 3_600_000
        again = await bench.store.open()
        assert again.agents[MAIN_AGENT].credentials[O1] == stored_login(bench)


async def test_two_processes_on_one_store_make_one_refresh(tmp_path: Path):
    """E16: the family of tokens survives only if nobody uses a refresh token twice."""
    idp = Idp()
    stores: list[StateStore] = [SqliteStore(StateDirectory(tmp_path)) for _ in range(2)]
    await stored_with({O1: EXPIRED}, stores[0])
    await stores[0].close()
    first, second = (SqliteStore(StateDirectory(tmp_path)) for _ in range(2))
    async with (
        running(config(), store=first, token_client=idp.client) as one,
        running(config(), store=second, token_client=idp.client, upstream=ScriptedUpstream()) as two,
    ):
        turns = [bench.turn(f"s{n}") for n in range(10) for bench in (one, two)]
        results = await asyncio.gather(*turns)
        assert [result.outcome for result in results] == [TurnOutcome.OK] * 20
        assert len(idp.forms) == 1
        assert {call.secret for bench in (one, two) for call in bench.upstream.calls} == {"access-0001"}


async def test_oauth_expired_retry_refreshes_once_inside_the_attempt_and_records_no_failure():
    """B03"""
    idp = Idp()
    valid = replace(EXPIRED, expires=T0 + 3_600_000)
    async with running(config(), credentials={O1: valid}, token_client=idp.client) as bench:
        bench.upstream.on("acme/big", fails(401, "token expired"), ok())
        result = await bench.turn()
        assert (result.outcome, len(result.attempts), len(idp.forms)) == (TurnOutcome.OK, 1, 1)
        assert [call.secret for call in bench.upstream.calls] == ["access-0000", "access-0001"]
        assert bench.usage("acme:o1").failure_counts == {}


async def test_a_turn_that_gives_up_waiting_does_not_take_the_refresh_from_the_others():
    idp = Idp()
    idp.gate = asyncio.Event()
    async with running(config(), credentials={O1: EXPIRED}, token_client=idp.client) as bench:
        first, second = bench.begin("a"), bench.begin("b")
        await idp.asked.wait()
        first.cancel()
        assert (await first.result()).outcome is TurnOutcome.ABORTED
        idp.gate.set()
        await second.answer()
        second.cancel()
        assert len(idp.forms) == 1


async def test_a_refused_refresh_is_permanent_and_its_text_holds_no_token():
    idp = Idp()
    idp.used.add("refresh-0000")
    async with running(config(), credentials={O1: EXPIRED}, token_client=idp.client) as bench:
        result = await bench.turn()
        assert result.attempts[0].reason == "auth_permanent"
        assert bench.upstream.calls == []
        assert bench.usage("acme:o1").disabled_reason == "auth_permanent"


async def test_an_unreachable_token_endpoint_is_a_connection_never_made():
    idp = Idp()
    idp.answer = httpx.ConnectError("[Errno 111] Connection refused")
    async with running(config(), credentials={O1: EXPIRED}, token_client=idp.client) as bench:
        result = await bench.turn()
        assert result.attempts[0].reason == "timeout"
        assert bench.usage("acme:o1").failure_counts == {}


async def test_a_refresh_that_fails_while_the_token_is_valid_uses_the_token_and_tries_again_later():
    idp = Idp()
    idp.answer = httpx.Response(500, text="busy")
    soon = replace(EXPIRED, expires=T0 + 60_000)
    async with running(config(), credentials={O1: soon}, token_client=idp.client) as bench:
        assert (await bench.turn()).outcome is TurnOutcome.OK
        assert bench.upstream.calls[0].secret == "access-0000"
        idp.answer = None
        assert (await bench.turn()).outcome is TurnOutcome.OK
        assert bench.upstream.calls[1].secret == "access-0002"


async def test_a_result_is_never_written_over_a_newer_login():
    idp = Idp()
    idp.gate = asyncio.Event()
    async with running(config(), credentials={O1: EXPIRED}, token_client=idp.client) as bench:
        turn = bench.begin()
        await idp.asked.wait()
        newer = OAuth("acme", access="access-new", refresh="refresh-new", expires=T0 + 7_200_000)
        await bench.store.commit([PutCredential(MAIN_AGENT, O1, newer)])
        idp.gate.set()
        await turn.answer()
        turn.cancel()
        kept = (await bench.store.open()).agents[MAIN_AGENT].credentials[O1]
        assert isinstance(kept, OAuth)
        assert (kept.access, kept.refresh, kept.expires) == (newer.access, newer.refresh, newer.expires)


async def test_a_merge_while_the_token_is_fetched_does_not_bring_the_old_one_back(tmp_path: Path):
    """Another process writes while ours asks: memory then holds the login with our claim, and that one is replaced too."""
    idp = Idp()
    idp.gate = asyncio.Event()
    first, second = (SqliteStore(StateDirectory(tmp_path)) for _ in range(2))
    await stored_with({O1: EXPIRED}, first)
    await first.close()
    async with running(config(), store=SqliteStore(StateDirectory(tmp_path)), token_client=idp.client) as bench:
        turn = bench.begin()
        await idp.asked.wait()
        await second.open()
        await second.commit([PutCredential(MAIN_AGENT, ProfileId("acme:other"), replace(EXPIRED, refresh="other"))])
        await second.close()
        await bench.engine._merge()
        idp.gate.set()
        await turn.answer()
        turn.cancel()
        assert {call.secret for call in bench.upstream.calls} == {"access-0001"}
        assert stored_login(bench).access == "access-0001"


async def test_an_answer_without_a_token_is_a_failure_and_not_a_crash():
    for body in ("", "[]", "null", json.dumps({"access_token": 7}), json.dumps({"access_token": ""})):
        idp = Idp()
        idp.answer = httpx.Response(200, text=body)
        async with running(config(), credentials={O1: EXPIRED}, token_client=idp.client) as bench:
            assert (await bench.turn()).attempts[0].reason == "auth"
