"""The turn, as transcripts (`engine.policy.walk`): what it asks for and what it is told, line by line."""

from __future__ import annotations

from engine.domain.acts import SelectModel, SetOff
from engine.domain.sessions import Session
from engine.domain.turns import CandidateOutcome
from engine.domain.usage import ModelCooldown, UsageStats
from engine.policy.acts import decide
from tests.policy.transcript import MAIN, T0, Transcript, World


def act(world: World, what: SelectModel | SetOff) -> None:
    look = world.memory.world(MAIN, "main", world.now, world.now)  # type: ignore[arg-type]
    decided = decide(what, world.settings, look, by="tester", new_session_id="s-2")
    world.memory.patch_session(MAIN, decided.session, world.now)
    for target, off in decided.off.items():
        world.memory.put_off(target, off)


def test_a_clean_turn_is_one_call_and_keeps_its_profile_pin_auto() -> None:
    world = World()
    turn = world.turn().has_content().completes()
    assert turn.lines == ["<< call acme/big with acme:k1", ">> content", "<< deliver acme/big", ">> completed", "<< ok by acme/big"]
    assert (world.session.auth_profile_override, world.session.auth_profile_override_source) == ("acme:k1", "auto")
    assert turn.result is not None
    assert turn.result.notices == ()


def test_a_fallback_is_stored_before_it_is_called_and_announced_once_override_persist_first() -> None:
    world = World()
    turn = world.turn().answers(503).saved().has_content().completes()
    assert turn.lines == [
        "<< call acme/big with acme:k1",
        ">> 503 no",
        "<< save zeta/std",
        ">> saved",
        "<< call zeta/std with zeta:k1",
        ">> content",
        "<< deliver zeta/std",
        ">> completed",
        "<< ok by zeta/std",
    ]
    assert turn.result is not None
    assert turn.result.notices == ("↪️ Model Fallback: zeta/std (selected acme/big; timeout)",)
    world.now += 60_000
    again = world.turn().has_content().completes()
    assert again.lines[0] == "<< call zeta/std with zeta:k1"
    assert again.result is not None
    assert again.result.notices == ()


def test_the_primary_is_probed_after_five_minutes_and_its_answer_is_a_recovery_override_probe() -> None:
    world = World()
    world.turn().answers(503).saved().has_content().completes()
    world.now += 5 * 60_000
    turn = world.turn().has_content().completes()
    assert turn.lines[0] == "<< call acme/big with acme:k1"
    assert turn.result is not None
    assert turn.result.notices == ("↪️ Model Fallback cleared: acme/big (was zeta/std)",)
    assert world.session.override is None
    assert world.session.auth_profile_override == "acme:k1"


def test_rotation_stops_at_the_cap_and_names_who_was_not_tried_rotate_cap() -> None:
    world = World(profiles=("acme:k1", "acme:k2", "acme:k3", "zeta:k1"))
    turn = world.turn().answers(429).answers(429).saved().has_content().completes()
    assert [line for line in turn.lines if line.startswith("<< call")] == [
        "<< call acme/big with acme:k1",
        "<< call acme/big with acme:k2",
        "<< call zeta/std with zeta:k1",
    ]
    assert turn.result is not None
    assert [d.detail for d in turn.result.decisions if d.detail] == ["rotation_cap: acme:k3 not tried"]


def test_a_format_error_stops_the_turn_and_harms_nobody_walk_stop() -> None:
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"))
    turn = world.turn().answers(400, "messages: unexpected tool_use_id")
    assert turn.lines == ["<< call acme/big with acme:k1", ">> 400 messages: unexpected tool_use_id", "<< failed"]
    assert turn.result is not None
    assert turn.result.error is not None
    assert (turn.result.error.type, turn.result.error.reason) == ("AttemptError", "format")
    assert world.memory.usage("main", "acme:k1") == UsageStats(last_used=T0)  # type: ignore[arg-type]


def test_a_fallback_that_fails_is_taken_back_field_by_field_override_rollback() -> None:
    world = World()
    world.turn().answers(503).saved().answers(503)
    assert world.session.override is None
    assert world.session.origin is None
    assert world.session.auth_profile_override is None


def test_a_rollback_never_touches_a_newer_value_override_rollback() -> None:
    world = World()
    turn = world.turn().answers(503).saved()
    act(world, SelectModel(MAIN, "nova/std"))
    turn.answers(400, "bad")
    assert str(world.session.override) == "nova/std"
    assert world.session.model_override_source == "user"


def test_cancellation_is_an_outcome_without_health_change_walk_stop() -> None:
    world = World()
    turn = world.turn().is_cancelled()
    assert turn.lines[-1] == "<< aborted"
    assert world.memory.usage("main", "acme:k1").cooldown_until is None  # type: ignore[arg-type]


def test_after_content_nobody_else_is_called_attempt_committed() -> None:
    world = World(fallbacks=("zeta/std", "nova/std"), profiles=("acme:k1", "zeta:k1", "nova:k1"))
    turn = world.turn().has_content().breaks()
    assert turn.lines[-2:] == [">> broke off", "<< partial by acme/big"]
    assert world.memory.usage("main", "acme:k1").model_cooldowns["big"].reason == "timeout"  # type: ignore[arg-type]


def test_an_ended_window_is_one_turns_trial_and_others_go_on_gate_single_flight() -> None:
    ended = UsageStats(model_cooldowns={"big": ModelCooldown(T0 - 1, "rate_limit", 1)}, error_count=1, last_failure_at=T0 - 31_000)
    world = World(usage={"acme:k1": ended})
    trial = world.turn("a")
    other = world.turn("b")
    assert trial.lines == ["<< call acme/big with acme:k1"]
    assert other.lines == ["<< save zeta/std"]
    trial.has_content()
    assert world.turn("c").lines == ["<< call acme/big with acme:k1"]


def test_the_last_of_the_chain_waits_for_the_trial_and_decides_again_gate_single_flight() -> None:
    ended = UsageStats(model_cooldowns={"big": ModelCooldown(T0 - 1, "rate_limit", 1)}, error_count=1, last_failure_at=T0 - 31_000)
    world = World(fallbacks=(), usage={"acme:k1": ended})
    trial, waiting = world.turn("a"), world.turn("b")
    assert waiting.lines == ["<< await acme:k1 for big"]
    trial.has_content().completes()
    assert waiting.trial_ended().lines[-1] == "<< call acme/big with acme:k1"


def test_a_switch_during_a_failing_attempt_jumps_ahead_walk_live_switch() -> None:
    world = World(fallbacks=("zeta/std", "nova/std"), profiles=("acme:k1", "zeta:k1", "nova:k1"))
    turn = world.turn()
    act(world, SelectModel(MAIN, "nova/std"))
    turn.answers(503).has_content().completes()
    assert turn.lines[2] == "<< call nova/std with nova:k1"
    assert turn.result is not None
    assert [c.outcome for c in turn.result.candidates] == [
        CandidateOutcome.FAILED,
        CandidateOutcome.REDIRECTED,
        CandidateOutcome.SUCCEEDED,
    ]


def test_a_profile_put_off_between_attempts_is_not_called_gate_operator_off() -> None:
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"))
    turn = world.turn()
    act(world, SetOff("acme:k2"))
    turn.answers(401, "invalid api key")
    assert turn.lines[-1] == "<< save zeta/std"


def test_an_overloaded_provider_is_given_its_pause_before_a_rotation_rotate_cap() -> None:
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"), cooldowns={"overloadedBackoffMs": 1500})
    turn = world.turn().answers(529, "overloaded")
    assert turn.lines[-1] == "<< sleep 1500"
    assert turn.slept().lines[-1] == "<< call acme/big with acme:k2"


def test_a_connection_never_made_tries_no_other_key_and_opens_no_window_walk_advance() -> None:
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"))
    turn = world.turn().raises("ConnectError", connected=False)
    assert turn.lines[-1] == "<< save zeta/std"
    assert world.memory.usage("main", "acme:k1") == UsageStats(last_used=T0)  # type: ignore[arg-type]


def test_a_user_pin_never_jumps_to_another_profile_pin_user() -> None:
    pinned = Session(auth_profile_override="acme:k2", auth_profile_override_source="user")  # type: ignore[arg-type]
    world = World(fallbacks=(), profiles=("acme:k1", "acme:k2"), session=pinned)
    turn = world.turn().answers(429)
    assert turn.lines == ["<< call acme/big with acme:k2", ">> 429 no", "<< failed"]
    assert world.session.auth_profile_override == "acme:k2"


def lines_of(turn: Transcript) -> list[str]:
    return [line for line in turn.lines if line.startswith("<< call")]


def test_every_turn_is_finite_even_if_everything_fails_for_ever_rotate_once() -> None:
    world = World(fallbacks=("zeta/std", "zeta/std", "acme/big"), profiles=("acme:k1", "acme:k2", "zeta:k1"))
    turn = world.turn().answers(401, "invalid api key").answers(401, "invalid api key").saved().answers(401, "invalid api key")
    assert len(lines_of(turn)) == 3
    assert turn.result is not None
    assert turn.result.error is not None
    assert turn.result.error.type == "FallbackSummaryError"
