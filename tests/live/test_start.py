"""A start: state restored, clamped and repaired, and told in one line; a killed engine leaves nobody stuck."""

from __future__ import annotations

import asyncio
from pathlib import Path

from engine.domain.ids import MAIN_AGENT, ProfileId, SessionKey
from engine.domain.redaction import Redactor
from engine.domain.store import PatchSession, PatchUsage
from engine.domain.turns import TurnOutcome
from engine.domain.usage import ModelCooldown
from engine.live.engine import FailoverEngine
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from tests.live.harness import T0, ScriptedUpstream, StillClock, chain, fails, hangs, keys, running, settings_of, stored_with

MAIN = SessionKey("main")
HOUR = 3_600_000


async def test_the_summary_says_what_was_restored_over_clamped_and_repaired():
    store = await stored_with(keys("acme:k1", "acme:k2"))
    await store.commit(
        [
            PatchUsage(
                MAIN_AGENT, ProfileId("acme:k1"), {"disabled_until": T0 + 90 * HOUR, "disabled_reason": "billing", "last_failure_at": T0}
            ),
            PatchUsage(
                MAIN_AGENT, ProfileId("acme:k2"), {"last_used": T0 + HOUR, "model_cooldowns": {"big": ModelCooldown(T0 - 1, "timeout", 1)}}
            ),
            PatchSession(MAIN, {"model_override": "std", "model_override_source": "auto"}),
            PatchSession(
                SessionKey("p"),
                {"auth_profile_override": "acme:k1", "auth_profile_override_source": "user", "pinned_by": "ann", "pin_until": T0 - 1},
            ),
        ]
    )
    async with running(store=store) as bench:
        feed = [line.text for line in (await bench.engine.snapshot()).feed]
        assert feed[-1] == (
            "restored 2 profiles, 2 sessions, 1 window; 1 window had ended; 1 pin had ended; "
            "1 window clamped to the maximum; 2 records repaired"
        )
        assert "p: the pin to acme:k1 has ended" in feed
        assert bench.usage("acme:k1").disabled_until == T0 + 24 * HOUR
        assert bench.usage("acme:k2").last_used == T0
        assert bench.session().model_override is None
        assert bench.session("p").auth_profile_override is None
    stored = await store.open()
    assert stored.agents[MAIN_AGENT].usage[ProfileId("acme:k1")].disabled_until == T0 + 24 * HOUR


async def test_window_clamp_is_idempotent_over_restarts():
    store = await stored_with(keys("acme:k1"))
    await store.commit([PatchUsage(MAIN_AGENT, ProfileId("acme:k1"), {"disabled_until": T0 + 90 * HOUR, "disabled_reason": "billing"})])
    async with running(store=store) as bench:
        until = bench.usage("acme:k1").disabled_until
    async with running(store=store) as bench:
        assert bench.usage("acme:k1").disabled_until == until
        assert (await bench.engine.snapshot()).feed[-1].text == "restored 1 profile, 0 sessions, 1 window"


async def test_the_feed_goes_on_where_it_stopped():
    store = await stored_with(keys("acme:k1"))
    async with running(store=store) as bench:
        first = (await bench.engine.snapshot()).feed[-1]
    async with running(store=store) as bench:
        feed = (await bench.engine.snapshot()).feed
        assert feed[0] == first
        assert feed[-1].seq == first.seq + 1


async def test_override_crash_safe_a_session_that_died_on_its_fallback_is_validated_by_its_next_turn(tmp_path: Path):
    """The process is gone while the fallback is being tried: nothing is flushed, nothing is said goodbye to."""
    config = settings_of(chain("acme/big", "zeta/std"))
    first = await stored_with(keys("acme:k1", "zeta:k1"), SqliteStore(StateDirectory(tmp_path)))
    upstream, clock = ScriptedUpstream(), StillClock()
    killed = FailoverEngine(config, first, upstream, clock=clock, environ={}, redactor=Redactor())
    await killed.start(ticking=False)
    upstream.on("acme/big", fails(503))
    upstream.on("zeta/std", hangs())
    from tests.live.harness import Bench

    Bench(killed, upstream, clock, first).begin()
    await upstream.called(2)
    try:
        second = SqliteStore(StateDirectory(tmp_path))
        async with running(config, store=second, clock=StillClock(T0 + 1000)) as bench:
            session = bench.session()
            assert (str(session.override), str(session.origin), session.model_override_source) == ("zeta/std", "acme/big", "auto")
            assert bench.usage("acme:k1").model_cooldowns["big"].until == T0 + 30_000
            result = await bench.turn()
            assert result.outcome is TurnOutcome.OK
            # No mark survives a process: the primary probe is due, its window speaks against it, and the fallback answers.
            assert str(result.active) == "zeta/std"
    finally:
        await killed.stop()


async def test_a_start_with_a_newer_store_fails_and_leaves_nothing_open(tmp_path: Path):
    store = SqliteStore(StateDirectory(tmp_path))
    async with running(store=store, credentials={}) as bench:
        assert (await bench.engine.snapshot()).feed[-1].text.startswith("restored 0 profiles")


async def test_a_stop_that_is_cut_short_ends_the_turns_and_closes_the_store():
    async with running() as bench:
        bench.upstream.on("acme/big", hangs())
        turn = bench.begin("a")
        await bench.upstream.called(1)
        stopping = asyncio.ensure_future(bench.engine.stop(drain_s=60))
        await asyncio.sleep(0)
        stopping.cancel()
        await asyncio.wait({stopping})
        result = await turn.result()
        assert result.outcome is TurnOutcome.KILLED
        assert [(str(a.outcome), str(a.ref)) for a in result.attempts] == [("killed", "acme/big")]
