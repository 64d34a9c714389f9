"""From an HTTP request to a turn: what the engine is asked for, and what of the caller reaches the provider."""

from __future__ import annotations

from typing import Any

import pytest

from engine.domain.ids import AgentId
from engine.domain.turns import RunKind, TurnRequest
from tests.gateway.fake_engine import FakeEngine, ref, running_gateway, settings


async def asked(
    engine: FakeEngine | None = None, model: str | None = "auto", headers: dict[str, str] | None = None, **body: Any
) -> TurnRequest:
    engine = engine or FakeEngine()
    async with running_gateway(engine) as gateway:
        answer = await gateway.chat(model, headers={"x-session-id": "s", **(headers or {})}, **body)
        assert answer.status_code == 200, answer.text
    return engine.requests[-1]


async def test_auto_uses_the_sessions_own_selection():
    for name in ("auto", "default", None):
        request = await asked(model=name)
        assert (request.requested, request.session, request.agent, request.fallbacks) == (None, "s", None, None)


async def test_selection_requested_for_a_named_model_with_a_record_of_its_own():
    request = await asked(model="std")
    assert (request.requested, request.session, request.fallbacks) == (ref("zeta/std"), "s#zeta/std", None)


async def test_an_agents_name_is_that_agents_turn():
    request = await asked(model="agent/ops")
    assert (request.requested, request.session, request.agent) == (None, "s", AgentId("ops"))
    assert (await asked(headers={"x-failover-agent": "ops"})).agent == AgentId("ops")


async def test_a_strict_gateway_makes_a_named_model_strict():
    engine = FakeEngine(settings(gateway={"requested": "strict"}))
    assert (await asked(engine, "std")).fallbacks == ()
    assert (await asked(engine, "auto")).fallbacks is None
    assert (await asked(engine, "std", {"x-failover-fallbacks": "acme/big"})).fallbacks == (ref("acme/big"),)


async def test_a_callers_fallbacks_are_exactly_its_list():
    assert (await asked(model="std", headers={"x-failover-fallbacks": "acme/big, quick,nowhere/m"})).fallbacks == (
        ref("acme/big"),
        ref("acme/small"),
        ref("nowhere/m"),
    )
    assert (await asked(headers={"x-failover-fallbacks": ""})).fallbacks == ()


async def test_a_cron_or_heartbeat_model_belongs_to_the_run():
    for kind in (RunKind.CRON, RunKind.HEARTBEAT):
        request = await asked(model="std", headers={"x-failover-kind": str(kind)})
        assert (request.kind, request.cron_model, request.requested, request.session) == (kind, ref("zeta/std"), None, "s")


async def test_budget_and_side_effects_come_from_headers():
    request = await asked(headers={"x-failover-timeout": "2.5", "x-failover-side-effects": "only"})
    assert (request.budget_ms, request.side_effect_only) == (2500, True)


async def test_models_that_the_request_cannot_be_put_to_are_told_gate_dialect_unsupported():
    headers = {"x-failover-fallbacks": "claude/opus, zeta/std"}
    assert (await asked(headers=headers)).inexpressible == set()
    assert (await asked(headers=headers, n=2)).inexpressible == {ref("claude/opus")}


async def test_an_unknown_model_may_mean_auto():
    engine = FakeEngine(settings(gateway={"unknown_model": "auto"}))
    assert (await asked(engine, "nowhere/m")).requested is None


async def test_the_bodys_ids_name_the_session():
    engine = FakeEngine()
    async with running_gateway(engine) as gateway:
        await gateway.chat(user="u1", prompt_cache_key="p1")
        await gateway.chat(user="u1", prompt_cache_key=7)
        await gateway.chat()
    assert [request.session for request in engine.requests[:2]] == ["p1", "u1"]
    assert engine.derived_for[:2] == [None, None]
    assert engine.requests[2].session.startswith("derived:")
    assert "python-httpx" in str(engine.derived_for[2])


async def test_the_body_and_harmless_headers_go_on_and_credentials_do_not():
    engine = FakeEngine()
    raw = b'{"messages": [{"role":"user"}], "seed": 1.0, "stream": false}'
    secret = {"authorization": "Bearer c", "x-api-key": "c", "cookie": "c", "x-failover-operator": "c", "proxy-authorization": "c"}
    async with running_gateway(engine, operator_token="op") as gateway:
        await gateway.client.post("/v1/chat/completions", content=raw, headers={**secret, "openai-beta": "b", "x-title": "app"})
    payload = engine.payloads[0]
    assert (payload.raw, payload.api, payload.stream) == (raw, "openai-completions", False)
    assert payload.headers.keys() == {"openai-beta", "x-title", "user-agent"}


@pytest.mark.parametrize(("value", "streams"), [(True, True), (False, False), (None, False)])
async def test_stream_is_what_the_body_says(value: bool | None, streams: bool):
    engine = FakeEngine()
    async with running_gateway(engine) as gateway:
        await gateway.chat(stream=value)
    assert engine.payloads[0].stream is streams


async def test_a_new_configuration_counts_from_the_next_request():
    engine = FakeEngine()
    async with running_gateway(engine) as gateway:
        assert (await gateway.chat("new-name")).status_code == 200
        engine.settings = settings(models=(ref("acme/big"),))
        assert (await gateway.chat("new-name")).status_code == 404
