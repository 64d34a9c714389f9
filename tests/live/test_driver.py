"""Driving a walk over an upstream and a store: what the caller gets, what is called, what is durable when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine.domain.exchange import Answered
from engine.domain.ids import MAIN_AGENT, ModelRef, ProfileId, SessionKey
from engine.domain.turns import TurnOutcome, TurnResult
from engine.live.pipe import HELD_BYTES
from engine.policy.walk import Walk
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from tests.live.harness import (
    Held,
    answering,
    broken,
    chain,
    does,
    fails,
    hangs,
    keys,
    names,
    ok,
    running,
    settings_of,
    stored_with,
    waits,
)


async def test_the_first_candidates_bytes_come_as_they_are():
    async with running() as bench:
        bench.upstream.on("acme/big", ok("he", "llo"))
        body, result = await bench.read()
        assert body == b"hello"
        assert (result.outcome, result.active, result.upstream_calls) == (TurnOutcome.OK, ModelRef("acme", "big"), 1)
        assert bench.upstream.calls[0].answer.closed


async def test_a_failing_candidate_is_left_for_the_next_and_the_caller_is_told_who_answered():
    async with running() as bench:
        bench.upstream.on("acme/big", fails(503))
        bench.upstream.on("acme/small", fails(503))
        turn = bench.begin()
        answered = await turn.answer()
        assert isinstance(answered, Answered)
        assert (str(answered.selected), str(answered.served), answered.profile) == ("acme/big", "zeta/std", "zeta:k1")
        assert answered.reason == "timeout"
        assert answered.attempts == len(bench.upstream.calls)
        assert answered.notices == ("↪️ Model Fallback: zeta/std (selected acme/big; timeout (+3 more attempts))",)
        assert [chunk async for chunk in turn.chunks()] == [b"hello"]
        assert (await turn.result()).outcome is TurnOutcome.OK


async def test_when_nobody_answers_the_answer_is_the_result():
    async with running(settings_of(chain("acme/big"))) as bench:
        bench.upstream.on("*", fails(500, "broken"))
        turn = bench.begin()
        answer = await turn.answer()
        assert isinstance(answer, TurnResult)
        assert answer.outcome is TurnOutcome.FAILED
        assert [chunk async for chunk in turn.chunks()] == []


async def test_override_persist_first_is_in_the_file_before_the_fallback_is_called(tmp_path: Path):
    store = await stored_with(keys("acme:k1", "zeta:k1"), SqliteStore(StateDirectory(tmp_path)))
    seen: list[str] = []

    async def look(_call: object) -> None:
        # What a process that starts now would find.
        other = SqliteStore(StateDirectory(tmp_path))
        try:
            stored = await other.open()
        finally:
            await other.close()
        session = stored.sessions[SessionKey("main")]
        seen.append(f"{session.override} {session.model_override_source} from {session.origin}")
        seen.append(str(stored.agents[MAIN_AGENT].usage[ProfileId("acme:k1")].model_cooldowns["big"].reason))

    async with running(settings_of(chain("acme/big", "zeta/std")), store=store) as bench:
        bench.upstream.on("acme/big", fails(503))
        bench.upstream.on("zeta/std", does(look))
        assert (await bench.turn()).outcome is TurnOutcome.OK
    assert seen == ["zeta/std auto from acme/big", "timeout"]


async def test_a_rotation_waits_for_nothing_while_the_store_is_locked():
    """E17: the mark of the failed profile does not delay the next one."""
    store = Held(await stored_with(keys("acme:k1", "acme:k2", "zeta:k1")))
    async with running(store=store) as bench:
        bench.upstream.on("acme/big@acme:k1", fails(429))
        store.lock()
        turn = bench.begin()
        try:
            await bench.upstream.called(2)
            first, second = bench.upstream.calls
            assert bench.upstream.keys() == ["acme/big@acme:k1", "acme/big@acme:k2"]
            assert second.began - first.began < 0.05
            assert isinstance(await turn.answer(), Answered)
        finally:
            store.unlock()
        assert [chunk async for chunk in turn.chunks()] == [b"hello"]
        await turn.result()


async def test_a_locked_store_delays_an_override_by_a_bounded_time_and_an_alarm_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("engine.live.writer.SETTLE_S", 0.05)
    store = Held(await stored_with(keys("acme:k1", "zeta:k1")))
    async with running(settings_of(chain("acme/big", "zeta/std")), store=store) as bench:
        bench.upstream.on("acme/big", fails(503))
        store.lock()
        turn = bench.begin()
        assert isinstance(await turn.answer(), Answered)
        assert bench.upstream.calls[1].began - bench.upstream.calls[0].began < 0.5
        assert "state is not durable" in bench.engine._parts.alarms.texts[0]
        assert bench.session().model_override == "std"
        store.unlock()
        await bench.engine._parts.writer.settle()
        assert bench.engine._parts.alarms.texts == ()
        assert names(await bench.events_from()).count("alarm_cleared") == 1
        turn.cancel()


async def test_a_turn_waits_for_a_stalled_store_only_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("engine.live.writer.SETTLE_S", 0.2)
    store = Held(await stored_with(keys("acme:k1", "zeta:k1")))
    async with running(store=store) as bench:
        bench.upstream.on("acme/big", fails(503))
        bench.upstream.on("acme/small", fails(503))
        store.lock()
        turn = bench.begin()
        await turn.answer()
        spent = asyncio.get_running_loop().time() - bench.upstream.calls[0].began
        store.unlock()
        assert bench.upstream.refs() == ["acme/big", "acme/small", "zeta/std"]
        assert spent < 0.4
        turn.cancel()


async def test_an_aborted_attempt_is_closed_at_once_and_changes_no_health():
    """I06: a caller that goes away."""
    async with running() as bench:
        bench.upstream.on("acme/big", hangs())
        turn = bench.begin()
        await bench.upstream.called(1)
        turn.cancel()
        result = await turn.result()
        assert bench.upstream.calls[0].cancelled
        assert result.outcome is TurnOutcome.ABORTED
        assert bench.upstream.refs() == ["acme/big"]
        assert bench.usage("acme:k1").failure_counts == {}
        assert isinstance(await turn.answer(), TurnResult)


async def test_cancelling_before_the_first_step_calls_nobody():
    async with running() as bench:
        turn = bench.begin()
        turn.cancel()
        assert (await turn.result()).outcome is TurnOutcome.ABORTED
        assert bench.upstream.calls == []


async def test_a_caller_that_leaves_in_the_stream_closes_upstream_and_keeps_the_override():
    async with running(settings_of(chain("acme/big", "zeta/std"))) as bench:
        bench.upstream.on("acme/big", fails(503))

        async def endless() -> AsyncIterator[bytes]:
            while True:
                yield b"x" * 1024
                await asyncio.sleep(0)

        bench.upstream.on("zeta/std", answering(endless))
        turn = bench.begin()
        await turn.answer()
        async for _ in turn.chunks():
            break
        turn.cancel()
        result = await turn.result()
        assert result.outcome is TurnOutcome.ABORTED
        assert bench.upstream.calls[-1].answer.closed
        assert bench.session().model_override == "std"
        assert bench.usage("zeta:k1").failure_counts == {}


async def test_a_slow_client_stops_the_reading_of_the_provider():
    async with running() as bench:

        async def much() -> AsyncIterator[bytes]:
            for _ in range(1000):
                yield b"x" * 16_384

        bench.upstream.on("acme/big", answering(much))
        turn = bench.begin()
        await turn.answer()
        for _ in range(200):
            await asyncio.sleep(0)
        answer = bench.upstream.calls[0].answer
        assert answer.read <= HELD_BYTES + 16_384
        total = sum([len(chunk) async for chunk in turn.chunks()])
        assert total == 1000 * 16_384
        assert (await turn.result()).outcome is TurnOutcome.OK


async def test_attempt_committed_a_break_after_content_ends_the_turn_as_partial():
    async with running() as bench:
        bench.upstream.on("acme/big", broken("he", "ll"))
        body, result = await bench.read()
        assert body == b"hell"
        assert result.outcome is TurnOutcome.PARTIAL
        assert bench.upstream.refs() == ["acme/big"]
        assert bench.usage("acme:k1").model_cooldowns["big"].reason == "timeout"


async def test_attempt_budget_cuts_the_first_candidate_short_and_the_next_one_answers():
    async with running(settings_of(chain("acme/big", "zeta/std"))) as bench:
        bench.upstream.on("acme/big", hangs())
        result = await bench.turn(budget_ms=200)
        assert 50 < (bench.upstream.calls[0].limit_ms or 0) <= 100
        assert bench.upstream.calls[0].cancelled
        assert result.outcome is TurnOutcome.OK
        assert result.attempts[0].reason == "timeout"
        assert bench.usage("acme:k1").failure_counts == {}


async def test_attempt_budget_of_the_last_candidate_ends_the_turn():
    async with running(settings_of(chain("acme/big"))) as bench:
        bench.upstream.on("acme/big", hangs())
        result = await bench.turn(budget_ms=50)
        assert result.error is not None
        assert result.error.type == "BudgetExceeded"
        assert bench.usage("acme:k1").failure_counts == {}


async def test_policy_time_runs_faster_in_a_demo_and_http_limits_stay_real():
    async with running(settings_of(chain("acme/big")), speed=60.0) as bench:
        bench.upstream.on("acme/big", hangs())
        result = await bench.turn(budget_ms=6_000)
        assert 50 < (bench.upstream.calls[0].limit_ms or 0) <= 100
        assert result.error is not None
        assert result.error.type == "BudgetExceeded"


async def test_a_walk_that_raises_ends_its_turn_alone(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    async with running() as bench:
        real = Walk.run

        def bad(self):
            if self.request.session == "bad":
                self.world.trials[(ProfileId("acme:k1"), "big")] = self.request.turn
                raise RuntimeError("secret-acme:k1 is in here")
                yield
            return (yield from real(self))

        monkeypatch.setattr(Walk, "run", bad)
        result = await bench.turn("bad")
        assert result.outcome is TurnOutcome.FAILED
        assert result.error is not None
        assert result.error.type == "InternalError"
        assert bench.engine._parts.memory.trials == {}
        assert "secret-acme:k1" not in (await bench.engine.snapshot()).feed[-1].text
        assert (await bench.turn("good")).outcome is TurnOutcome.OK


async def test_an_upstream_that_raises_is_one_failed_attempt(caplog: pytest.LogCaptureFixture):
    async with running() as bench:

        async def bug(_call):
            raise KeyError("choices")

        bench.upstream.on("acme/big", bug)
        result = await bench.turn()
        assert result.outcome is TurnOutcome.OK
        assert result.attempts[0].reason == "unclassified"
        assert bench.usage("acme:k1").failure_counts == {}


async def test_gate_single_flight_the_last_of_the_chain_waits_for_the_trial():
    async with running(settings_of(chain("acme/big")), credentials=keys("acme:k1")) as bench:
        bench.upstream.on("acme/big", fails(429))
        await bench.turn("a")
        bench.clock.advance(31)
        gate = asyncio.Event()
        bench.upstream.on("acme/big", waits(gate))
        first = bench.begin("a")
        await bench.upstream.called(2)
        second = bench.begin("b")
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(bench.upstream.calls) == 2
        gate.set()
        assert isinstance(await first.answer(), Answered)
        assert isinstance(await second.answer(), Answered)
        for turn in (first, second):
            assert [chunk async for chunk in turn.chunks()] == [b"hello"]
            assert (await turn.result()).outcome is TurnOutcome.OK


async def test_gate_single_flight_a_trial_that_is_cancelled_is_free_for_the_next():
    async with running(settings_of(chain("acme/big")), credentials=keys("acme:k1")) as bench:
        bench.upstream.on("acme/big", fails(429))
        await bench.turn("a")
        bench.clock.advance(31)
        bench.upstream.on("acme/big", hangs(), ok())
        first = bench.begin("a")
        await bench.upstream.called(2)
        second = bench.begin("b")
        first.cancel()
        assert isinstance(await second.answer(), Answered)
        second.cancel()
        assert (await first.result()).outcome is TurnOutcome.ABORTED


async def test_rotate_dead_secret_a_reference_that_cannot_be_resolved_is_passed_over():
    profiles: dict[str, Any] = {
        name: {"provider": "acme", "mode": "api_key", "keyRef": reference}
        for name, reference in (("acme:gone", "env:NOT_SET"), ("acme:env", "env:ACME"))
    }
    config = settings_of(chain("acme/big", auth={"profiles": profiles}))
    async with running(config, credentials={}, environ={"ACME": "secret-acme:env"}) as bench:
        result = await bench.turn()
        assert result.outcome is TurnOutcome.OK
        assert bench.upstream.keys() == ["acme/big@acme:env"]
        states = {view.profile: str(view.state) for view in (await bench.engine.snapshot()).profiles}
        assert states == {"acme:gone": "missing", "acme:env": "ready"}


async def test_events_tell_a_turn_in_order_and_hold_no_secret():
    async with running(settings_of(chain("acme/big", "zeta/std"))) as bench:
        bench.upstream.on("acme/big", fails(429, "slow down, secret-acme:k1"))
        await bench.turn()
        events = [event for event in await bench.events_from() if "turn" in event]
        told = names(events)
        assert told[0] == "turn_started"
        assert told[1:3] == ["attempt_started", "window_opened"]
        assert told.index("override_set") < told.index("notice") < told.index("turn_finished")
        assert told[-1] == "turn_finished"
        finished = next(e for e in events if e["event"] == "attempt_finished")
        assert (finished["reason"], finished["status"], finished["profile"]) == ("rate_limit", 429, "acme:k1")
        assert events[-1]["outcome"] == "ok"
        assert "secret-acme" not in str(events)
        decisions = await bench.engine.decisions()
        assert [d["decision"] for d in decisions] == ["turn_finished", "candidate_succeeded", "candidate_failed"]
        assert "secret-acme" not in str(decisions)


async def test_nothing_begins_while_draining_and_a_turn_in_flight_is_let_out():
    async with running() as bench:
        gate = asyncio.Event()
        bench.upstream.on("acme/big", waits(gate))
        turn = bench.begin()
        await bench.upstream.called(1)
        stopping = asyncio.ensure_future(bench.engine.stop(drain_s=5))
        await asyncio.sleep(0)
        assert bench.engine.draining
        assert not bench.engine.ready
        with pytest.raises(Exception, match="draining"):
            bench.begin("late")
        gate.set()
        assert isinstance(await turn.answer(), Answered)
        assert [chunk async for chunk in turn.chunks()] == [b"hello"]
        assert (await turn.result()).outcome is TurnOutcome.OK
        await stopping
