"""The official OpenAI SDK against `failover serve`: what an application sees when its provider falls over (issue 2, "Must show" 2)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import openai
import pytest

from tests.end_to_end.serving import SENTINEL, serving, two_providers
from tests.fakes.provider import FakeProvider, error, ok

QUESTION: Any = [{"role": "user", "content": "hello?"}]
FALLBACK = "↪️ Model Fallback: zeta/std (selected acme/big; rate limit)"
CLEARED = "↪️ Model Fallback cleared: acme/big (was zeta/std)"


def heads(session: str) -> dict[str, str]:
    return {"x-failover-session": session}


def ask_sync(url: str, model: str, session: str, stream: bool) -> tuple[str, dict[str, str]]:
    """(text, headers) of one request by the synchronous client."""
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none-of-yours", max_retries=0)
    with client:
        if stream:
            with client.chat.completions.with_streaming_response.create(
                model=model, messages=QUESTION, stream=True, extra_headers=heads(session)
            ) as answer:
                parts = [chunk.choices[0].delta.content or "" for chunk in answer.parse() if chunk.choices]
                return "".join(parts), dict(answer.headers)
        raw = client.chat.completions.with_raw_response.create(model=model, messages=QUESTION, extra_headers=heads(session))
        return raw.parse().choices[0].message.content or "", dict(raw.headers)


async def ask(
    url: str, model: str, session: str, *, stream: bool = False, more: dict[str, str] | None = None
) -> tuple[str, dict[str, str]]:
    """(text, headers) of one request by the asynchronous client."""
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none-of-yours", max_retries=0) as client:
        extra = {**heads(session), **(more or {})}
        if stream:
            async with client.chat.completions.with_streaming_response.create(
                model=model, messages=QUESTION, stream=True, extra_headers=extra
            ) as answer:
                parts = [chunk.choices[0].delta.content or "" async for chunk in await answer.parse() if chunk.choices]
                return "".join(parts), dict(answer.headers)
        raw = await client.chat.completions.with_raw_response.create(model=model, messages=QUESTION, extra_headers=extra)
        return raw.parse().choices[0].message.content or "", dict(raw.headers)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_the_first_provider_answers_429_and_the_caller_gets_the_second_ones_text(
    tmp_path: Path, acme: FakeProvider, zeta: FakeProvider, stream: bool, kind: str
) -> None:
    acme.on("*", error(429, "slow down, rate limit reached"))
    zeta.on("*", ok("from zeta"))
    async with serving(tmp_path, two_providers(acme, zeta)) as gateway:

        async def send(model: str, session: str) -> tuple[str, dict[str, str]]:
            if kind == "sync":
                return await asyncio.to_thread(ask_sync, gateway.url, model, session, stream)
            return await ask(gateway.url, model, session, stream=stream)

        text, headers = await send("auto", "desk")
        assert text == "from zeta"
        assert headers["x-failover-served"] == "zeta/std"
        assert headers["x-failover-selected"] == "acme/big"
        assert unquote(headers["x-failover-notice"]) == FALLBACK
        first_calls = len(acme.calls)
        for _ in range(20):
            text, headers = await send("auto", "desk")
            assert (text, headers["x-failover-served"]) == ("from zeta", "zeta/std")
            assert "x-failover-notice" not in headers
        assert len(acme.calls) == first_calls == 1
        text, headers = await send("acme/big", "hard-coded")
        assert (text, headers["x-failover-served"]) == ("from zeta", "zeta/std")


async def test_a_forced_probe_brings_the_session_back_with_one_cleared_notice_override_forced_probe(
    tmp_path: Path, acme: FakeProvider, zeta: FakeProvider
) -> None:
    acme.on("*", error(429, "slow down, rate limit reached"), ok("from acme"))
    zeta.on("*", ok("from zeta"))
    async with serving(tmp_path, two_providers(acme, zeta)) as gateway:
        await ask(gateway.url, "auto", "desk")
        probed = await gateway.run("probe", "desk", "--json")
        assert probed.status == 0, probed.err
        assert probed.json["outcome"] == "ok"
        text, headers = await ask(gateway.url, "auto", "desk")
        assert (text, headers["x-failover-served"]) == ("from acme", "acme/big")
        assert unquote(headers["x-failover-notice"]) == CLEARED
        _, headers = await ask(gateway.url, "auto", "desk")
        assert "x-failover-notice" not in headers


async def test_acts_from_the_command_line_change_the_next_answer_and_no_key_is_ever_shown(
    tmp_path: Path, acme: FakeProvider, zeta: FakeProvider
) -> None:
    config = two_providers(acme, zeta)
    config["auth"]["profiles"]["acme:k2"] = {"provider": "acme", "mode": "api_key", "keyRef": "env:TEST_ACME2"}
    async with serving(tmp_path, config, {"TEST_ACME2": f"{SENTINEL}-second"}) as gateway:
        operator = {"x-failover-operator": gateway.operator_token}
        _, headers = await ask(gateway.url, "auto", "desk", more=operator)
        assert headers["x-failover-profile"] == "acme:k1"
        assert (await gateway.run("pin", "desk", "acme:k2")).status == 0
        _, headers = await ask(gateway.url, "auto", "desk", more=operator)
        assert headers["x-failover-profile"] == "acme:k2"
        assert acme.calls[-1].key == f"{SENTINEL}-second"
        assert (await gateway.run("model", "desk", "zeta/std")).status == 0
        _, headers = await ask(gateway.url, "auto", "desk", more=operator)
        assert headers["x-failover-served"] == "zeta/std"
        assert (await gateway.run("model", "desk", "nowhere/x")).status == 1
        assert (await gateway.run("reset", "desk")).status == 0
        for view in (
            ["status", "--json"],
            ["status"],
            ["sessions"],
            ["profiles", "list"],
            ["explain", "desk"],
            ["log", "--json"],
            ["doctor"],
        ):
            ran = await gateway.run(*view)
            assert ran.status == 0, (view, ran.err)
        assert await gateway.stop() == 0
        files = [p for p in gateway.folder.rglob("*") if p.is_file()]
        assert files
        for shown in (*gateway.seen, *(p.read_bytes().decode("latin-1") for p in files)):
            assert SENTINEL not in shown
