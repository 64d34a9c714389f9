"""kill -9 in the middle of a fallback (issue 2, "Must show" 3; `override.crash-safe`): nothing stuck, nothing lost, no false notice."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import openai

from tests.end_to_end.serving import Serving, serving, two_providers
from tests.end_to_end.test_sdk import CLEARED, ask
from tests.fakes.provider import FakeProvider, after, error, hang, ok


def tables(state: Path) -> dict[str, Any]:
    """Everything that decisions read, as it lies on disk."""
    found: dict[str, Any] = {}
    for file in sorted(state.rglob("*.sqlite")):
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
            names = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
            for name in sorted(names):
                if name in ("sessions", "usage_stats", "model_cooldowns", "credentials", "profile_order", "operator_off"):
                    found[f"{file.relative_to(state)}:{name}"] = sorted(map(repr, connection.execute(f"select * from {name}")))
    return found


async def until(condition: Any) -> None:
    """Waits until it is true, ten seconds at most: a process of its own has no way to tell us."""
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come true in 10 s")


async def test_killed_in_a_fallback_the_state_is_whole_and_the_session_comes_back_override_crash_safe(
    tmp_path: Path, acme: FakeProvider, zeta: FakeProvider
) -> None:
    acme.on("*", error(429, "slow down, rate limit reached"), ok("from acme"))
    zeta.on("*", ok("from zeta"), hang(), ok("from zeta"))
    async with serving(tmp_path, two_providers(acme, zeta)) as gateway:
        text, headers = await ask(gateway.url, "auto", "desk")
        assert (text, headers["x-failover-served"]) == ("from zeta", "zeta/std")
        await until(lambda: tables(gateway.state).get("failover.sqlite:sessions"))
        under_way = asyncio.create_task(ask(gateway.url, "auto", "desk"))
        await until(lambda: len(zeta.calls) == 2)
        await gateway.run("status", "--json")
        await asyncio.sleep(0.3)  # what may wait 100 ms is written by now; the fallback's own fields were durable before
        before = tables(gateway.state)
        await gateway.stop(signal.SIGKILL)
        await asyncio.gather(under_way, return_exceptions=True)
        after_kill = tables(gateway.state)
        assert after_kill == before
        await gateway.start()
        sessions = (await gateway.run("sessions", "--json")).json
        assert "zeta/std" in str(sessions)
        # Within 30 s of the failure: the fallback answers, the primary is gated, nothing is announced.
        text, headers = await ask(gateway.url, "auto", "desk")
        assert (text, headers["x-failover-served"]) == ("from zeta", "zeta/std")
        assert "x-failover-notice" not in headers
        assert len(acme.calls) == 1
        doctor = await gateway.run("doctor")
        assert doctor.status == 0, doctor.out + doctor.err


async def test_after_the_window_the_restarted_engine_probes_the_primary_and_says_so_once_override_probe(
    tmp_path: Path, acme: FakeProvider, zeta: FakeProvider
) -> None:
    acme.on("*", error(429, "slow down, rate limit reached"), ok("from acme"))
    zeta.on("*", ok("from zeta"))
    config = two_providers(acme, zeta)
    # The first step of the ladder, short enough for a test to live through; the throttle of a probe is not needed after the window.
    config["auth"]["cooldowns"] = {"transientBackoffMinutes": [0.02]}
    async with serving(tmp_path, config) as gateway:
        await ask(gateway.url, "auto", "desk")
        await until(lambda: tables(gateway.state).get("failover.sqlite:sessions"))
        await gateway.stop(signal.SIGKILL)
        await gateway.start()
        await asyncio.sleep(1.3)
        text, headers = await ask(gateway.url, "auto", "desk")
        assert (text, headers["x-failover-served"]) == ("from acme", "acme/big")
        assert unquote(headers["x-failover-notice"]) == CLEARED
        _, headers = await ask(gateway.url, "auto", "desk")
        assert "x-failover-notice" not in headers


async def test_killed_while_the_fallback_is_first_tried_nothing_is_stuck_override_persist_first(
    tmp_path: Path, acme: FakeProvider, zeta: FakeProvider
) -> None:
    acme.on("*", error(503, "bad gateway upstream"), ok("from acme"))
    zeta.on("*", hang(), after(0.0, ok("from zeta")))
    async with serving(tmp_path, two_providers(acme, zeta)) as gateway:
        under_way = asyncio.create_task(ask(gateway.url, "auto", "desk"))
        await until(lambda: len(zeta.calls) == 1)
        stored = tables(gateway.state)["failover.sqlite:sessions"]
        assert "zeta" in str(stored), "the override is durable before its attempt"
        await gateway.stop(signal.SIGKILL)
        done = await asyncio.gather(under_way, return_exceptions=True)
        assert isinstance(done[0], openai.APIConnectionError)
        await gateway.start()
        text, _ = await ask(gateway.url, "auto", "desk")
        assert text in ("from zeta", "from acme")
        assert (await gateway.run("doctor")).status == 0


def test_the_harness_knows_a_state_directory_without_files(tmp_path: Path) -> None:
    assert tables(tmp_path) == {}
    assert Serving(tmp_path, {}).state == tmp_path / "state"
