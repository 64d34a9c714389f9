"""Two engines on one state directory (`--shared`): what one learns the other honours, and a trial is one in both (`gate.single-flight`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from engine.domain.acts import Pin
from engine.domain.exchange import Answered
from engine.domain.ids import ProfileId, SessionKey, TurnId
from engine.domain.leases import Lease
from engine.domain.settings import Settings
from engine.domain.store import ClaimLease
from engine.domain.turns import TurnOutcome
from engine.live.leases import LEASE_MS
from engine.live.turn import LiveTurn
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from tests.live.harness import Bench, Held, ScriptedUpstream, StillClock, chain, fails, keys, ok, running, settings_of, stored_with, waits

K1 = ProfileId("acme:k1")
ALONE = settings_of(chain("acme/big"))
THEN_ZETA = settings_of(chain("acme/big", "zeta/std"))


@asynccontextmanager
async def two(folder: Path, settings: Settings = ALONE) -> AsyncIterator[tuple[Bench, Bench]]:
    """They share directory, provider and time, and nothing else."""
    directory, clock, upstream = StateDirectory(folder / "state"), StillClock(), ScriptedUpstream()
    await (await stored_with(keys("acme:k1", "zeta:k1"), SqliteStore(directory))).close()
    async with AsyncExitStack() as stack:
        benches = [
            await stack.enter_async_context(
                running(settings, store=Held(SqliteStore(directory)), clock=clock, upstream=upstream, shared=True)
            )
            for _ in range(2)
        ]
        yield benches[0], benches[1]


async def learned(bench: Bench, other: Bench) -> None:
    """The other has seen all that this one did: its next look, which comes within 250 ms."""
    await bench.store.commit([])
    await other.engine.tick()


async def test_a_window_that_one_opened_is_honoured_by_the_other(tmp_path: Path):
    async with two(tmp_path, THEN_ZETA) as (one, other):
        one.upstream.on("acme/big", fails(429))
        await one.turn("a")
        await learned(one, other)
        result = await other.turn("b")
        assert one.upstream.refs() == ["acme/big", "zeta/std", "zeta/std"]
        assert result.candidates[0].rule == "gate.primary-probe"


async def test_each_tells_what_the_other_did_and_one_writes_it_down(tmp_path: Path):
    async with two(tmp_path, THEN_ZETA) as (one, other):
        one.upstream.on("acme/big", fails(429))
        await one.turn("a")
        await learned(one, other)
        for bench in (one, other):
            lines = [line.text for line in (await bench.engine.snapshot()).feed if "rate_limit" in line.text and line.profile]
            assert len(lines) == 1, lines
        await other.store.commit([])
        directory = StateDirectory(tmp_path / "state")
        store = SqliteStore(directory)
        stored = await store.open()
        await store.close()
        assert len([record for record in stored.feed if record.get("profile") and "rate_limit" in str(record["text"])]) == 1


async def due(one: Bench, other: Bench) -> None:
    """A window of acme:k1 has ended, and both know it: the next attempt is a trial."""
    one.upstream.on("acme/big", fails(429))
    await one.turn("a")
    await learned(one, other)
    one.clock.advance(31)


async def held_trial(bench: Bench) -> tuple[asyncio.Event, LiveTurn]:
    """A trial of acme:k1 that is called and answers when the event is set."""
    gate = asyncio.Event()
    bench.upstream.on("acme/big", waits(gate))
    calls = len(bench.upstream.calls)
    trying = bench.begin("new")
    await bench.upstream.called(calls + 1)
    return gate, trying


async def test_gate_single_flight_a_trial_in_one_is_in_flight_for_the_other_before_it_has_looked(tmp_path: Path):
    async with two(tmp_path, THEN_ZETA) as (one, other):
        await due(one, other)
        gate, trying = await held_trial(one)
        result = await asyncio.wait_for(other.turn("b"), 5)
        assert (result.outcome, str(result.active)) == (TurnOutcome.OK, "zeta/std")
        assert (result.candidates[0].rule, str(result.candidates[0].outcome)) == ("gate.single-flight", "skipped")
        gate.set()
        assert isinstance(await trying.answer(), Answered)
        trying.cancel()


@pytest.mark.parametrize("how", ["answered", "failed"])
async def test_gate_single_flight_the_last_of_the_chain_waits_for_the_other_s_trial(tmp_path: Path, how: str):
    async with two(tmp_path) as (one, other):
        await due(one, other)
        gate = asyncio.Event()
        one.upstream.on("acme/big", waits(gate, ok() if how == "answered" else fails(429)), ok())
        trying = one.begin("a")
        await one.upstream.called(2)
        waiting = other.begin("b")
        await other.store.commit([])
        assert len(one.upstream.calls) == 2
        gate.set()
        await trying.answer()
        trying.cancel()
        await trying.result()
        await learned(one, other)
        answered = await waiting.answer()
        assert isinstance(answered, Answered) == (how == "answered")
        assert len(one.upstream.calls) == (3 if how == "answered" else 2)
        waiting.cancel()


async def test_gate_single_flight_a_killed_gateway_s_trial_is_free_when_its_lease_ends(tmp_path: Path):
    async with two(tmp_path) as (one, other):
        await due(one, other)
        lease = Lease(K1, "big", TurnId("of the dead"), one.clock.wall_ms() + LEASE_MS)
        await one.store.commit([ClaimLease(lease, one.clock.wall_ms())])
        await other.engine.tick()
        waiting = other.begin("b")
        await other.store.commit([])
        assert len(one.upstream.calls) == 1
        other.upstream.on("acme/big", ok())
        other.clock.advance(LEASE_MS / 1000)
        await other.engine.tick()
        assert isinstance(await waiting.answer(), Answered)
        waiting.cancel()


async def test_gate_single_flight_a_trial_that_takes_long_is_renewed_and_given_back(tmp_path: Path):
    async with two(tmp_path, THEN_ZETA) as (one, other):
        await due(one, other)
        _, trying = await held_trial(one)
        for _ in range(3):
            one.clock.advance(LEASE_MS / 2000 + 1)
            await one.engine.tick()
            await learned(one, other)
        assert other.engine._parts.memory.trials.keys() == {("acme:k1", "big")}
        trying.cancel()
        await trying.result()
        await learned(one, other)
        assert other.engine._parts.memory.trials == {}


async def test_with_a_store_that_cannot_be_written_a_trial_is_made_all_the_same(tmp_path: Path):
    async with two(tmp_path) as (one, other):
        await due(one, other)
        assert isinstance(other.store, Held)
        other.store.broken = "no space is left"
        other.upstream.on("acme/big", ok())
        assert (await other.turn("b")).outcome is TurnOutcome.OK
        other.store.broken = None


async def test_a_pin_of_one_holds_in_the_other(tmp_path: Path):
    async with two(tmp_path) as (one, other):
        assert (await one.act(Pin(SessionKey("main"), K1))).ok
        await other.engine.tick()
        assert other.session().auth_profile_override == "acme:k1"
