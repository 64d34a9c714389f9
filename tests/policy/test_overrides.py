"""Overrides, probes of the primary, live switches (spec sections 8 and 9, `engine.policy.overrides`, `engine.policy.acts`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.domain.acts import Pin, Reset, SelectModel, SetOff
from engine.domain.ids import ModelRef
from engine.domain.sessions import NOTICE_FIELDS, OWNED_FIELDS, Session
from engine.domain.turns import TurnOutcome, TurnRequest
from engine.domain.usage import ModelCooldown, UsageStats
from engine.policy.acts import plan_probe
from engine.policy.overrides import SavedOverride, recovery, rollback
from engine.policy.selection import PRIMARY_PROBE_MS
from tests.policy.test_selection import AUTO, LEGACY, USER
from tests.policy.transcript import MAIN, T0, World

MIN = 60_000
BIG = ModelRef("acme", "big")
THREE: dict[str, Any] = {"fallbacks": ("zeta/std", "nova/std"), "profiles": ("acme:k1", "zeta:k1", "nova:k1")}


def owned(session: Session) -> dict[str, object]:
    return {name: value for name in OWNED_FIELDS if (value := getattr(session, name)) is not None}


# --- stored first, taken back ------------------------------------------------------------------------------------------


def test_the_eight_fields_are_there_before_the_fallback_is_called_override_persist_first() -> None:
    """E01: and nobody but a user sets a pending switch."""
    world = World()
    turn = world.turn().answers(503)
    assert turn.lines[-1] == "<< save zeta/std"
    assert owned(world.session) == {
        "provider_override": "zeta",
        "model_override": "std",
        "model_override_source": "auto",
        "auth_profile_override": "zeta:k1",
        "auth_profile_override_source": "auto",
        "auth_profile_override_compaction_count": 0,
        "model_override_fallback_origin_provider": "acme",
        "model_override_fallback_origin_model": "big",
    }
    assert not world.session.live_model_switch_pending


def test_the_origin_stays_that_of_the_first_fallback_and_a_rotation_does_not_write_again_override_persist_first() -> None:
    world = World(fallbacks=("zeta/std", "nova/std"), profiles=("acme:k1", "zeta:k1", "nova:k1", "nova:k2"))
    world.run({"acme/big": 503})
    turn = world.run({"zeta/std": 503, "nova/std@nova:k1": 429})
    assert [line for line in turn.lines if line.startswith("<< save")] == ["<< save nova/std"]
    assert (str(world.session.override), world.session.origin) == ("nova/std", BIG)
    assert world.session.auth_profile_override == "nova:k2"


def test_a_users_pin_is_left_alone_and_a_keyless_fallback_removes_an_automatic_one_override_persist_first() -> None:
    user = Session(auth_profile_override="acme:k1", auth_profile_override_source="user", pinned_by="ann")  # type: ignore[arg-type]
    world = World(session=user)
    world.run({"acme/big": 503})
    assert (world.session.auth_profile_override, world.session.pinned_by) == ("acme:k1", "ann")
    auto = Session(auth_profile_override="acme:k1", auth_profile_override_source="auto", auth_profile_override_compaction_count=0)  # type: ignore[arg-type]
    world = World(fallbacks=("kilo/std", "zeta/std"), session=auto)
    turn = world.turn().answers(503)
    assert world.session.auth_profile_override is None
    turn.saved().answers(404)
    assert turn.lines[-1] == "<< save zeta/std"
    turn.saved().answers(404)
    assert owned(world.session) == owned(auto)


@pytest.mark.parametrize("session", [USER, LEGACY])
def test_nothing_is_written_over_a_users_choice_override_persist_first(session: Session) -> None:
    """E07"""
    world = World(profiles=("nova:k1", "zeta:k1"), session=session)
    turn = world.run({"*": 503}, fallbacks=("zeta/std",))
    assert not [line for line in turn.lines if line.startswith("<< save")]
    assert owned(world.session) == owned(session)


def test_after_the_wait_admission_is_looked_at_again_override_persist_first() -> None:
    world = World(**THREE)
    turn = world.turn().answers(503)
    world.act(SetOff("zeta"))
    turn.saved()
    assert turn.lines[-1] == "<< save nova/std"
    assert turn.walk.ledger.outcomes[ModelRef("zeta", "std")].rule == "gate.operator-off"


@pytest.mark.parametrize("end", ["fails", "stops", "is cancelled"])
def test_a_fallback_that_does_not_answer_is_taken_back_override_rollback(end: str) -> None:
    before = Session(auth_profile_override="acme:k1", auth_profile_override_source="auto", auth_profile_override_compaction_count=0)  # type: ignore[arg-type]
    world = World(session=before)
    turn = world.turn().answers(503).saved()
    match end:
        case "fails":
            turn.answers(503)
        case "stops":
            turn.answers(400, "bad")
        case _:
            turn.is_cancelled()
    assert owned(world.session) == owned(before)


FIELDS = st.fixed_dictionaries({name: st.none() | st.sampled_from(("a", "b")) for name in OWNED_FIELDS})


@given(FIELDS, FIELDS, FIELDS)
def test_a_rollback_touches_nothing_newer_override_rollback(former: dict[str, Any], written: dict[str, Any], now: dict[str, Any]) -> None:
    fields = rollback(Session(**now), SavedOverride(written, former))
    if any(now[name] != written[name] for name in OWNED_FIELDS):
        assert fields is None
    else:
        assert fields is not None
        assert owned(Session(**{**now, **fields})) == owned(Session(**former))


@pytest.mark.parametrize("what", [Reset(MAIN), SelectModel(MAIN, "nova/std"), SelectModel(MAIN, "default"), Pin(MAIN, "acme:k1")])  # type: ignore[arg-type]
def test_what_changed_while_the_winner_was_answering_is_not_written_over_override_rollback(what: Any) -> None:
    """A reset, a model pick or a pin in the meantime: nothing of this turn goes to the session, and it says nothing."""
    world = World(**THREE)
    turn = world.turn().answers(503).saved()
    world.act(what)
    after_act = world.session
    turn.has_content().completes()
    assert world.session == after_act
    assert turn.ended.notices == ()
    assert turn.ended.outcome is TurnOutcome.OK


# --- sticky, probed, back ----------------------------------------------------------------------------------------------


def test_a_fallback_that_answered_stays_until_the_probe_is_due_override_sticky_override_probe() -> None:
    """E06 F05: at +4:59 no call to the primary, at +5:00 one; half an hour of outage costs seven."""
    world = World()
    world.run({"acme/big": 503})
    for after in (1_000, PRIMARY_PROBE_MS - 1):
        world.now = T0 + after
        assert world.run().calls == ["zeta/std@zeta:k1"]
    world.now = T0 + PRIMARY_PROBE_MS
    assert world.run({"acme/big": 503}).calls == ["acme/big@acme:k1", "zeta/std@zeta:k1"]
    world = World(exempt=("acme",))
    asked = 0
    for _ in range(180):
        asked += "acme/big@acme:k1" in world.run({"acme/big": 503}).calls
        world.now += 10_000
    assert asked <= 7


def test_the_recovery_clears_override_origin_and_notice_and_moves_the_pin_override_probe() -> None:
    """E06"""
    world = World(session=AUTO)
    turn = world.run()
    assert (turn.calls, turn.ended.selection) == (["acme/big@acme:k1"], "selection.auto")
    assert owned(world.session) == {
        "auth_profile_override": "acme:k1",
        "auth_profile_override_source": "auto",
        "auth_profile_override_compaction_count": 0,
    }
    assert [getattr(world.session, name) for name in NOTICE_FIELDS] == [None] * 4
    world = World(
        primary="kilo/std",
        session=replace(AUTO, model_override_fallback_origin_provider="kilo", model_override_fallback_origin_model="std"),
    )
    world.run()
    assert owned(world.session) == {}


def test_who_sets_the_mark_override_probe() -> None:
    """The failure that led to the override is the first; a primary that the gate skips sets none; a reset and a restart drop it."""
    world = World()
    world.run({"acme/big": 503})
    assert world.memory.primary_marks == {(MAIN, BIG): T0}
    world.restart()
    world.now += 40_000
    assert world.run({"acme/big": 503}).calls[0] == "acme/big@acme:k1"
    world.act(Reset(MAIN))
    assert not world.memory.primary_marks
    cooling = World(usage={"acme:k1": UsageStats(model_cooldowns={"big": ModelCooldown(T0 + 900_000, "rate_limit", 1)})})
    cooling.run()
    assert not cooling.memory.primary_marks


def test_marks_are_bounded_override_probe() -> None:
    """J04"""
    world = World()
    for n in range(5_000):
        world.run(session=f"s{n}")
    assert len(world.memory.primary_marks) == 4_096


@pytest.mark.parametrize("how", ["new", "reset", "sessions.reset"])
@pytest.mark.parametrize("session", [AUTO, USER, LEGACY])
def test_three_words_one_routine_override_reset(how: str, session: Session) -> None:
    """E08"""
    before = replace(session, session_id="old", pending_notice="x", pinned_by="ann", pin_until=T0 + 1)
    world = World(session=before)
    assert world.act(Reset(MAIN, how)).ok
    after = world.session
    assert after.session_id not in (None, "old")
    assert after.override == (None if session is AUTO else session.override)
    assert after.model_override_source == (None if session is AUTO else session.model_override_source)
    gone = ("auth_profile_override", "pinned_by", "pin_until", "pending_notice", *OWNED_FIELDS[6:], *NOTICE_FIELDS)
    assert [getattr(after, name) for name in gone] == [None] * len(gone)


@pytest.mark.parametrize(
    ("session", "off", "plan"),
    [
        (AUTO, None, ("acme/big", "acme:k2")),
        (USER, None, ("nova/std", "nova:k1")),
        (Session(auth_profile_override="acme:k1", auth_profile_override_source="user"), None, ("acme/big", "acme:k1")),  # type: ignore[arg-type]
        (Session(), "acme:k2", ("acme/big", "acme:k1")),
        (Session(), "acme", ("acme/big", None)),
        (Session(), "acme/big", ("acme/big", None)),
        (Session(auth_profile_override="acme:k9", auth_profile_override_source="user"), None, ("acme/big", None)),  # type: ignore[arg-type]
    ],
)
def test_what_a_forced_probe_calls_override_forced_probe(session: Session, off: str | None, plan: tuple[str, str | None]) -> None:
    """The primary, with the user pin or the first of the order, whatever windows say; what is off is not probeable."""
    cooling = UsageStats(last_used=T0 - 1, disabled_until=T0 + 9_000, disabled_reason="billing")
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1", "nova:k1"), session=session, usage={"acme:k1": cooling, "nova:k1": cooling})
    if off is not None:
        world.act(SetOff(off))
    found = plan_probe(TurnRequest("", MAIN), world.settings, world.look())  # type: ignore[arg-type]
    assert (str(found.ref), found.profile) == plan
    assert (found.problem is not None) is (plan[1] is None)


def test_a_forced_probe_that_worked_is_a_recovery_whose_notice_waits_override_forced_probe_override_bulk_return() -> None:
    fields, text = recovery(AUTO, BIG, "acme:k1")  # type: ignore[arg-type]
    assert text == "↪️ Model Fallback cleared: acme/big (was zeta/std)"
    world = World(session=replace(AUTO, **fields))  # type: ignore[arg-type]
    assert (world.session.override, world.session.pending_notice) == (None, text)
    assert world.run({"*": 503}).ended.notices == ()
    world.now += 31_000
    turn = world.run()
    assert turn.ended.notices == (text,)
    assert world.session.pending_notice is None
    # Without a notice state there is nothing to clear in words.
    assert recovery(replace(AUTO, **dict.fromkeys(NOTICE_FIELDS)), BIG, None)[1] is None  # type: ignore[arg-type]


def test_killed_at_any_point_the_next_turn_comes_through_override_crash_safe() -> None:
    """A turn that ends at any of its waits leaves a session that the normal chain can go on from."""
    fails, saves = (lambda t: t.answers(503)), (lambda t: t.saved())
    answers: Any = (fails, saves, fails, saves, lambda t: t.has_content())
    for killed_after in range(len(answers) + 1):
        for dead in ((), ("zeta/std",), ("zeta/std", "nova/std")):
            world = World(**THREE)
            turn = world.turn()
            for answer in answers[:killed_after]:
                answer(turn)
            # The process is gone: the walk is not resumed, its memory is lost, what it wrote stays.
            world.restart()
            world.memory.release_trials(turn.request.turn)
            world.now += 31_000
            again = world.run(dict.fromkeys(dead, 503))
            assert again.ended.outcome is TurnOutcome.OK
            assert str(again.ended.selected) == "acme/big"


# --- the live switch ---------------------------------------------------------------------------------------------------


def test_the_pick_of_the_model_that_is_failing_keeps_to_it_walk_live_switch() -> None:
    """Its other profiles are tried, no other model is: from here on the turn is a user's selection."""
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"), cooldowns={"rateLimitedProfileRotations": 0})
    turn = world.turn()
    world.act(SelectModel(MAIN, "acme/big"))
    turn.answers(429)
    assert turn.lines[-1] == "<< call acme/big with acme:k2"
    turn.answers(429)
    assert turn.outcomes == {"acme/big": "failed"}
    assert (turn.ended.selection, turn.ended.outcome) == ("selection.user", TurnOutcome.FAILED)
    assert not world.session.live_model_switch_pending


def test_the_pick_of_a_model_that_was_tried_cannot_loop_walk_live_switch_rotate_once() -> None:
    """E02"""
    world = World(**THREE)
    turn = world.turn().answers(503).saved()
    world.act(SelectModel(MAIN, "acme/big"))
    turn.answers(503)
    assert turn.calls == ["acme/big@acme:k1", "zeta/std@zeta:k1"]
    assert turn.outcomes == {"acme/big": "failed", "zeta/std": "failed", "nova/std": "not_reached"}
    last = [d for d in turn.ended.decisions if d.decision == "candidate_failed"][-1]
    assert (last.next_candidate_model, last.fallback_step_final_outcome) == (None, "chain_exhausted")


def test_a_switch_elsewhere_restarts_once_and_its_record_says_where_to_walk_live_switch() -> None:
    """E03"""
    world = World(fallbacks=(), profiles=("acme:k1", "nova:k1"))
    turn = world.turn()
    world.act(SelectModel(MAIN, "nova/std"))
    turn.answers(503)
    assert turn.lines[-1] == "<< call nova/std with nova:k1"
    world.act(SelectModel(MAIN, "acme/big"))
    turn.answers(503)
    assert turn.calls == ["acme/big@acme:k1", "nova/std@nova:k1"]
    assert [str(ref) for ref in turn.ended.chain] == ["acme/big", "nova/std"]
    assert [d.fallback_step_to_model for d in turn.ended.decisions if d.decision == "candidate_failed"] == ["nova/std", None]


def test_a_far_jump_leaves_those_between_alone_walk_live_switch() -> None:
    """E02: twelve candidates, from the second to the tenth."""
    names = tuple(f"acme/m{n}" for n in range(2, 13))
    world = World(primary="acme/m1", fallbacks=names)
    turn = world.turn().answers(404).saved()
    world.act(SelectModel(MAIN, "acme/m10"))
    turn.answers(404)
    assert turn.calls[-1] == "acme/m10@acme:k1"
    turn.has_content().completes()
    assert list(turn.outcomes.values()) == ["failed"] * 2 + ["redirected"] * 7 + ["succeeded"] + ["not_reached"] * 2
    assert world.usage("acme:k1").model_cooldowns == {}


def test_a_switch_is_for_every_turn_in_flight_and_one_that_starts_cannot_take_it_away_walk_live_switch() -> None:
    world = World(**THREE)
    one, two = world.turn(), world.turn()
    world.act(SelectModel(MAIN, "nova/std"))
    three = world.turn()
    assert three.calls == ["nova/std@nova:k1"]
    assert not world.session.live_model_switch_pending
    for turn in (one, two):
        turn.answers(503)
        assert turn.lines[-1] == "<< call nova/std with nova:k1"


def test_the_switch_beats_a_stop_and_default_lets_the_chain_go_on_walk_live_switch_walk_stop() -> None:
    world = World(**THREE)
    turn = world.turn()
    world.act(SelectModel(MAIN, "nova/std"))
    assert turn.answers(400, "bad").lines[-1] == "<< call nova/std with nova:k1"
    world = World(**THREE)
    turn = world.turn()
    world.act(SelectModel(MAIN, "default"))
    assert turn.answers(503).lines[-1] == "<< save zeta/std"


def test_a_run_with_its_own_model_ignores_a_switch_walk_live_switch_selection_per_run() -> None:
    world = World(**THREE)
    turn = world.turn(one_off="zeta/std")
    world.act(SelectModel(MAIN, "nova/std"))
    turn.answers(503)
    assert turn.calls == ["zeta/std@zeta:k1"]
    assert world.session.live_model_switch_pending


def test_an_old_mark_counts_for_nothing_once_a_turn_has_started_walk_live_switch() -> None:
    world = World(**THREE, session=replace(USER, live_model_switch_pending=True))
    turn = world.run({"nova/std": 503})
    assert turn.outcomes == {"nova/std": "failed"}
    assert not world.session.live_model_switch_pending


def test_a_turn_keeps_the_configuration_it_started_with_walk_config_generation() -> None:
    """K01 K03: the next one has the new chain; existing windows keep their ends."""
    world = World(**THREE)
    turn = world.turn()
    world.reconfigure("agents", "defaults", "model", value={"primary": "acme/big", "fallbacks": ["kilo/std"]})
    assert turn.answers(503).lines[-1] == "<< save zeta/std"
    turn.saved().has_content().completes()
    assert {d.config_generation for d in turn.ended.decisions} == {1}
    until = world.usage("acme:k1").model_cooldowns["big"].until
    world.now += 1_000
    fresh = world.run({"acme/big": 503}, session="new")
    assert [str(ref) for ref in fresh.ended.chain] == ["acme/big", "kilo/std"]
    assert {d.config_generation for d in fresh.ended.decisions} == {2}
    assert world.usage("acme:k1").model_cooldowns["big"].until == until


def test_a_healthy_primary_answers_alone_walk_one_outcome() -> None:
    """D16"""
    world = World(**THREE)
    for _ in range(20):
        world.now += 1_000
        turn = world.run()
        assert turn.calls == ["acme/big@acme:k1"]
        assert turn.outcomes == {"acme/big": "succeeded", "zeta/std": "not_reached", "nova/std": "not_reached"}


def test_an_outage_costs_the_primary_one_call_and_its_probes_override_sticky_gate_primary_probe() -> None:
    """A17: sixty seconds, a turn every three."""
    world = World()
    asked = served = 0
    for _ in range(20):
        calls = world.run({"acme/big": 503}).calls
        asked, served = asked + ("acme/big@acme:k1" in calls), served + ("zeta/std@zeta:k1" in calls)
        world.now += 3_000
    assert (asked, served) == (1, 20)
