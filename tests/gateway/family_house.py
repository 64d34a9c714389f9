"""A gateway with one provider of each API family behind it, the real engine between, state in memory; the official SDKs in front."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, OpenAI

from engine.domain.clock import SystemClock
from engine.domain.ids import ProfileId
from engine.domain.redaction import Redactor
from engine.domain.settings import ConfiguredProfile, GatewaySettings, ModelPolicy, ProviderSettings, Settings
from engine.live.engine import FailoverEngine
from engine.providers.client import HttpUpstream
from store.memory import MemoryStore
from tests.fakes.families import FAMILIES, answering
from tests.fakes.provider import FakeProvider, running_provider
from tests.gateway.fake_engine import Gateway, ref, running_gateway

NAMES = {"openai-completions": "chat", "openai-responses": "resp", "anthropic-messages": "claude", "google-generative-ai": "gem"}
"""API family -> the provider of it. Its model is `<provider>/m`."""

STRICT = {"x-failover-fallbacks": "", "x-failover-session": "desk"}
"""Only the model that is asked for."""


@dataclass
class FamilyHouse:
    """providers: by family."""

    providers: Mapping[str, FakeProvider]
    engine: FailoverEngine
    gateway: Gateway

    def model(self, family: str) -> str:
        return f"{NAMES[family]}/m"

    def openai(self) -> OpenAI:
        return OpenAI(base_url=f"{self.gateway.base_url}/v1", api_key="callers-own", max_retries=0, default_headers=STRICT)

    def async_openai(self) -> AsyncOpenAI:
        return AsyncOpenAI(base_url=f"{self.gateway.base_url}/v1", api_key="callers-own", max_retries=0, default_headers=STRICT)

    def anthropic(self) -> Anthropic:
        return Anthropic(base_url=self.gateway.base_url, api_key="callers-own", max_retries=0, default_headers=STRICT)

    def async_anthropic(self) -> AsyncAnthropic:
        return AsyncAnthropic(base_url=self.gateway.base_url, api_key="callers-own", max_retries=0, default_headers=STRICT)


@contextlib.asynccontextmanager
async def family_house(
    chain: tuple[str, ...] = FAMILIES, *, cooldowns: bool = True, patience_s: float = 20, **changes: Any
) -> AsyncIterator[FamilyHouse]:
    """chain: families, in the order in which their models are tried. cooldowns: failures open windows. patience_s: until
    a provider's first byte, and between its bytes."""
    async with contextlib.AsyncExitStack() as stack:
        providers = {family: await stack.enter_async_context(running_provider(answering(family))) for family in FAMILIES}
        waits: Any = dict.fromkeys(("first_byte_s", "idle_timeout_s", "timeout_s"), patience_s)
        first, *others = [ref(f"{NAMES[family]}/m") for family in chain]
        settings = Settings(
            model=ModelPolicy(first, tuple(others)),
            profiles={
                ProfileId(f"{name}:me"): ConfiguredProfile(ProfileId(f"{name}:me"), name, "api_key", key_ref=f"env:KEY_{name.upper()}")
                for name in NAMES.values()
            },
            providers={
                NAMES[family]: ProviderSettings(NAMES[family], fake.base_url, family, cooldowns=cooldowns, **waits)
                for family, fake in providers.items()
            },
            gateway=GatewaySettings(port=0),
        )
        clock, redactor = SystemClock(), Redactor()
        keys = {f"KEY_{name.upper()}": f"sk-{name}-secret-1" for name in NAMES.values()}
        engine = FailoverEngine(replace(settings, **changes), MemoryStore(), HttpUpstream(), clock=clock, environ=keys, redactor=redactor)
        await engine.start(ticking=False)
        try:
            async with running_gateway(engine, operator_token="op-token", mask=redactor.mask, now_ms=clock.now_ms) as gateway:
                yield FamilyHouse(providers, engine, gateway)
        finally:
            await engine.stop()
