"""The whole way: client, gateway, the real engine, our upstream client, fake providers; all on loopback, state in memory."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

from engine.domain.clock import SystemClock
from engine.domain.ids import AgentId, ProfileId
from engine.domain.redaction import Redactor
from engine.domain.settings import AgentSettings, ConfiguredProfile, GatewaySettings, ModelPolicy, ProviderSettings, Settings
from engine.live.engine import FailoverEngine
from engine.providers.client import HttpUpstream
from store.memory import MemoryStore
from tests.fakes.provider import FakeProvider
from tests.gateway.fake_engine import Gateway, ref, running_gateway

KEYS = {"ACME": "sk-acme-secret-1", "ZETA": "sk-zeta-secret-1"}


@dataclass
class House:
    acme: FakeProvider
    zeta: FakeProvider
    engine: FailoverEngine
    gateway: Gateway


def live_settings(acme: FakeProvider, zeta: FakeProvider, **changes: Any) -> Settings:
    """acme/big, then zeta/std; one key each."""

    def provider(name: str, fake: FakeProvider) -> ProviderSettings:
        return ProviderSettings(name, fake.base_url, "openai-completions")

    def profile(name: str) -> ConfiguredProfile:
        return ConfiguredProfile(ProfileId(f"{name}:me@home.example"), name, "api_key", key_ref=f"env:{name.upper()}")

    base = Settings(
        model=ModelPolicy(ref("acme/big"), (ref("zeta/std"),)),
        agents={AgentId("strict"): AgentSettings(AgentId("strict"), ModelPolicy(ref("acme/big"), ()))},
        profiles={p.id: p for p in (profile("acme"), profile("zeta"))},
        providers={"acme": provider("acme", acme), "zeta": provider("zeta", zeta)},
        gateway=GatewaySettings(port=0),
    )
    return replace(base, **changes)


@contextlib.asynccontextmanager
async def running_house(**changes: Any) -> AsyncIterator[House]:
    acme, zeta = FakeProvider(), FakeProvider()
    await acme.start()
    await zeta.start()
    clock, redactor = SystemClock(), Redactor()
    settings = live_settings(acme, zeta, **changes)
    engine = FailoverEngine(settings, MemoryStore(), HttpUpstream(), clock=clock, environ=KEYS, redactor=redactor)
    await engine.start(ticking=False)
    try:
        async with running_gateway(engine, operator_token="op-token", mask=redactor.mask, now_ms=clock.now_ms) as gateway:
            yield House(acme, zeta, engine, gateway)
    finally:
        await engine.stop()
        await acme.stop()
        await zeta.stop()
