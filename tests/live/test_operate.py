"""Operators' acts: durable before confirmed, audited, undone while they stand, refused with a reason."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.domain.acts import BulkReturn, Clear, Pin, Probe, Reset, SelectModel, SetOff, SetOn, SetOrder, Undo, Unpin
from engine.domain.ids import AgentId, ProfileId, SessionKey
from engine.domain.store import AppendAudit
from engine.domain.turns import TurnOutcome
from engine.live.probe import MAX_TOKENS
from engine.simulation.run import simulate
from tests.live.harness import Bench, Held, answering, chain, does, fails, keys, names, ok, running, settings_of, stored_with

MAIN = SessionKey("main")
K1, K2 = ProfileId("acme:k1"), ProfileId("acme:k2")


async def on_fallback(bench: Bench, *sessions: str) -> None:
    bench.upstream.on("acme/big", fails(503))
    for session in sessions or ("main",):
        assert (await bench.turn(session)).outcome is TurnOutcome.OK
        assert bench.session(session).model_override == "std"


TWO = settings_of(chain("acme/big", "zeta/std"))


async def test_pin_user_is_stored_before_it_is_confirmed_and_told():
    store = Held(await stored_with(keys("acme:k1", "acme:k2", "zeta:k1")))
    async with running(store=store) as bench:
        store.lock()
        acting = asyncio.ensure_future(bench.act(Pin(MAIN, K2, reason="test"), by="ann on tty1"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not acting.done()
        store.unlock()
        result = await acting
        assert result.ok
        assert result.undoable
        assert (bench.session().auth_profile_override, bench.session().pinned_by) == (K2, "ann on tty1")
        stored = await store.inner.open()
        assert stored.sessions[MAIN].pinned_by == "ann on tty1"
        told = names(await bench.events_from())
        assert told.index("pin_set") < told.index("operator_act")
        audit = [change.record for _, changes in store.log for change in changes if isinstance(change, AppendAudit)]
        assert (audit[0]["by"], audit[0]["act"], audit[0]["ok"]) == ("ann on tty1", "pin", True)
        assert audit[0]["before"] != audit[0]["after"]
        await bench.turn()
        assert bench.upstream.keys() == ["acme/big@acme:k2"]


async def test_an_act_that_cannot_be_stored_is_refused_and_nothing_is_changed():
    store = Held(await stored_with(keys("acme:k1", "acme:k2", "zeta:k1")))
    async with running(store=store) as bench:
        store.broken = "failover.sqlite: the disk is full."
        result = await bench.act(Pin(MAIN, K2))
        assert not result.ok
        assert "the disk is full" in result.message
        assert bench.session().auth_profile_override is None
        assert not (await bench.act(SetOff("acme"))).ok
        assert bench.engine._parts.memory.off == {}


async def test_undo_restores_what_stood_before_while_the_act_still_stands():
    async with running() as bench:
        await bench.act(Pin(MAIN, K1))
        second = await bench.act(Pin(MAIN, K2))
        assert (await bench.engine.snapshot()).undo == (second.act_id, second.message)
        assert (await bench.act(Undo())).ok
        assert bench.session().auth_profile_override == K1
        assert (await bench.act(Undo())).ok
        assert bench.session().auth_profile_override is None
        refused = await bench.act(Undo())
        assert (refused.ok, refused.message) == (False, "there is no act to take back")


async def test_undo_is_refused_when_somebody_wrote_the_fields_since():
    async with running() as bench:
        first = await bench.act(Pin(MAIN, K1))
        await bench.act(Pin(MAIN, K2), by="bob")
        refused = await bench.act(Undo(first.act_id))
        assert not refused.ok
        assert "changed since" in refused.message
        assert bench.session().auth_profile_override == K2


async def test_reset_and_probe_have_no_undo_and_say_so():
    async with running() as bench:
        await bench.act(Pin(MAIN, K1))
        result = await bench.act(Reset(MAIN))
        assert (result.ok, result.undoable) == (True, False)
        assert bench.session().auth_profile_override is None
        refused = await bench.act(Undo())
        assert "reset has no undo" in refused.message


async def test_a_model_selection_is_undone_after_a_turn_has_consumed_the_pending_switch():
    async with running() as bench:
        await bench.act(SelectModel(MAIN, "zeta/std"))
        await bench.act(Pin(MAIN, ProfileId("zeta:k1")), by="bob")
        assert (await bench.turn()).selection == "selection.user"
        assert not bench.session().live_model_switch_pending
        assert (await bench.act(Undo())).ok
        assert bench.session().override is None
        assert bench.session().live_model_switch_pending


async def test_off_and_on_are_for_everybody_and_undone():
    async with running(TWO) as bench:
        assert (await bench.act(SetOff("acme", reason="incident"))).ok
        assert str((await bench.turn()).active) == "zeta/std"
        assert {str(v.state) for v in (await bench.engine.snapshot()).profiles if v.provider == "acme"} == {"off"}
        assert (await bench.act(Undo())).ok
        assert bench.engine._parts.memory.off == {}
        await bench.act(SetOff("acme"))
        assert (await bench.act(SetOn("acme"))).ok
        assert not (await bench.act(SetOff("nobody"))).ok


async def test_a_stored_order_beats_the_file_and_its_undo_removes_it():
    async with running() as bench:
        await bench.act(SetOrder("acme", (K2, K1)))
        await bench.turn("a")
        assert bench.upstream.keys() == ["acme/big@acme:k2"]
        assert (await bench.act(Undo())).ok
        stored = await bench.store.open()
        assert stored.agents[next(iter(stored.agents))].order == {}


async def test_clear_puts_windows_back_when_it_is_undone():
    async with running(settings_of(chain("acme/big")), credentials=keys("acme:k1")) as bench:
        bench.upstream.on("acme/big", fails(402, "insufficient credits"))
        await bench.turn()
        until = bench.usage("acme:k1").disabled_until
        assert until is not None
        assert (await bench.act(Clear(K1))).ok
        assert bench.usage("acme:k1").disabled_until is None
        assert (await bench.act(Undo())).ok
        assert bench.usage("acme:k1").disabled_until == until


async def test_clear_and_verify_leaves_the_windows_when_the_call_fails():
    async with running(settings_of(chain("acme/big")), credentials=keys("acme:k1")) as bench:
        bench.upstream.on("acme/big", fails(402, "insufficient credits"))
        await bench.turn()
        before = bench.usage("acme:k1")
        result = await bench.act(Clear(K1, verify=True))
        assert (result.ok, result.outcome) == (False, "upstream_failed")
        assert bench.usage("acme:k1") == before
        bench.upstream.on("acme/big", ok())
        result = await bench.act(Clear(K1, verify=True))
        assert (result.ok, result.outcome) == (True, "ok")
        assert bench.usage("acme:k1").disabled_until is None
        assert bench.upstream.calls[-1].payload.body["max_tokens"] == MAX_TOKENS


async def test_override_forced_probe_that_answers_brings_the_session_back_with_a_stored_notice():
    async with running(TWO, credentials=keys("acme:k1", "zeta:k1")) as bench:
        await on_fallback(bench)
        bench.upstream.on("acme/big", ok())
        result = await bench.act(Probe(MAIN))
        assert (result.ok, result.outcome) == (True, "ok")
        session = bench.session()
        assert (session.override, session.pending_notice) == (None, "↪️ Model Fallback cleared: acme/big (was zeta/std)")
        assert (await bench.store.open()).sessions[MAIN].pending_notice == session.pending_notice
        assert bench.usage("acme:k1").model_cooldowns == {}
        assert "↪️ Model Fallback cleared: acme/big (was zeta/std)" in [line.text for line in (await bench.engine.snapshot()).feed]
        assert (await bench.turn()).notices == ("↪️ Model Fallback cleared: acme/big (was zeta/std)",)


async def test_override_forced_probe_that_fails_changes_no_window():
    async with running(TWO, credentials=keys("acme:k1", "zeta:k1")) as bench:
        await on_fallback(bench)
        before = bench.usage("acme:k1")
        result = await bench.act(Probe(MAIN))
        assert (result.ok, result.outcome) == (False, "upstream_failed")
        assert "timeout" in result.message
        after = bench.usage("acme:k1")
        assert (after.model_cooldowns, after.error_count) == (before.model_cooldowns, before.error_count)
        assert bench.session().model_override == "std"


async def test_override_forced_probe_with_an_empty_answer_is_no_success_here_and_in_simulate():
    """One rule (`attempt.success`): usable content, or the session stays where it is served."""

    async def nothing():
        return
        yield b""

    async with running(TWO, credentials=keys("acme:k1", "zeta:k1")) as bench:
        await on_fallback(bench)
        bench.upstream.on("acme/big", answering(nothing, empty=True))
        result = await bench.act(Probe(MAIN))
        assert (result.ok, result.outcome) == (False, "upstream_failed")
        assert "empty_response" in result.message
        assert bench.session().model_override == "std"
    profiles = {name: {"type": "api_key", "provider": name[:4], "key": "x"} for name in ("acme:k1", "zeta:k1")}
    scenario = {"config": chain("acme/big", "zeta/std"), "start": 1_767_600_000_000, "profiles": profiles}
    steps = [{"turn": {"session": "main"}}, {"probe": {"session": "main"}}]
    played: Any = simulate({**scenario, "providers": {"acme/big": [{"status": 503}, {"text": ""}]}, "steps": steps})
    assert played["steps"][1]["probe"]["outcome"] == "upstream_failed"
    assert played["final"]["sessions"]["main"]["modelOverride"] == "std"


async def test_override_forced_probe_of_what_is_off_is_not_probeable():
    async with running() as bench:
        await bench.act(SetOff("acme"))
        result = await bench.act(Probe(MAIN))
        assert (result.ok, result.outcome) == (False, "not_probeable")
        assert bench.upstream.calls == []


async def test_a_probe_of_a_record_that_names_its_model_calls_that_model():
    async with running(TWO) as bench:
        result = await bench.act(Probe(SessionKey("main#zeta/std")))
        assert result.ok
        assert bench.upstream.refs() == ["zeta/std"]


async def test_override_bulk_return_makes_one_probe_per_primary():
    async with running(TWO, credentials=keys("acme:k1", "zeta:k1")) as bench:
        await on_fallback(bench, "a", "b", "c")
        calls = len(bench.upstream.calls)
        bench.upstream.on("acme/big", ok())
        result = await bench.act(BulkReturn())
        assert result.ok
        assert "3 back" in result.message
        assert len(bench.upstream.calls) == calls + 1
        assert [bench.session(key).override for key in "abc"] == [None, None, None]


async def test_override_bulk_return_leaves_them_when_the_primary_fails():
    async with running(TWO, credentials=keys("acme:k1", "zeta:k1")) as bench:
        await on_fallback(bench, "a", "b")
        result = await bench.act(BulkReturn())
        assert not result.ok
        assert bench.session("a").model_override == "std"


async def test_read_only_refuses_every_act_in_the_engine():
    async with running(read_only=True) as bench:
        for act in (Pin(MAIN, K1), Probe(MAIN), Undo(), Clear(K1, verify=True), BulkReturn()):
            result = await bench.act(act)
            assert not result.ok
            assert "read-only" in result.message
        assert bench.upstream.calls == []
        assert (await bench.engine.snapshot()).read_only


async def test_an_act_on_a_key_is_for_the_records_of_its_models_and_for_later_ones():
    async with running(TWO) as bench:
        await bench.turn("chat#acme/big", requested=settings_of().primary)
        await bench.act(Pin(SessionKey("chat"), K2))
        assert bench.session("chat#acme/big").auth_profile_override == K2
        await bench.turn("chat#zeta/std", requested=(settings_of().model.fallbacks or ())[1])
        assert bench.session("chat#zeta/std").auth_profile_override == K2
        await bench.act(Unpin(SessionKey("chat")))
        assert [bench.session(f"chat#{ref}").auth_profile_override for ref in ("acme/big", "zeta/std")] == [None, None]
        assert (await bench.act(Undo())).ok
        assert bench.session("chat#zeta/std").auth_profile_override == K2


async def test_a_derived_session_takes_no_pin():
    async with running() as bench:
        turn = bench.engine.begin(bench.request("hash-1"), bench.payload, derived_for="curl")
        turn.cancel()
        await turn.result()
        result = await bench.act(Pin(SessionKey("hash-1"), K1))
        assert not result.ok
        assert "takes no pin" in result.message


async def test_walk_live_switch_by_an_operator_reaches_a_turn_in_flight():
    """E03: the selection made during the first attempt decides what comes after its failure."""
    async with running(settings_of(chain("acme/big"))) as bench:

        async def select(_call: object) -> None:
            assert (await bench.act(SelectModel(MAIN, "zeta/std"))).ok

        bench.upstream.on("acme/big", does(select, fails(503)))
        result = await bench.turn()
        assert (result.outcome, str(result.active)) == (TurnOutcome.OK, "zeta/std")
        assert bench.session().model_override_source == "user"


@pytest.mark.parametrize("key", ["", "  ", "a\tb", "\x1b[31mred", "x" * 201, "x" * 201 + "#acme/big", "derived:1234:5678"])
async def test_an_act_on_a_session_that_cannot_be_is_refused_and_leaves_no_record(key: str):
    async with running(TWO) as bench:
        for act in (Pin(SessionKey(key), K1), SelectModel(SessionKey(key), "zeta/std"), Reset(SessionKey(key)), Probe(SessionKey(key))):
            result = await bench.act(act)
            assert not result.ok
            assert "session" in result.message or "derived" in result.message
        assert bench.engine._parts.memory.sessions == {}
        assert bench.upstream.keys() == []


async def test_an_act_on_a_session_that_may_still_come_is_carried_out():
    async with running(TWO) as bench:
        for key in ("x" * 200, "x" * 200 + "#acme/big", "caf\u00e9", "[/red]", "a#b"):
            assert (await bench.act(Pin(SessionKey(key), K1))).ok


async def test_an_order_names_each_profile_once_and_an_agent_that_there_is():
    async with running(TWO) as bench:
        twice = await bench.act(SetOrder("acme", (K1, K2, K1)))
        assert (twice.ok, "twice" in twice.message) == (False, True)
        nobody = await bench.act(SetOrder("acme", (K1,), agent=AgentId("nobody")))
        assert (nobody.ok, "no agent nobody" in nobody.message) == (False, True)
        assert (await bench.act(SetOrder("acme", (K2, K1)))).ok
