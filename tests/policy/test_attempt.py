"""One candidate: rotation, and what a failure or an answer does (spec section 5, `engine.policy.attempt`, `engine.policy.failures`)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.domain.acts import SelectModel
from engine.domain.failure import Failure
from engine.domain.turns import TurnOutcome
from engine.domain.usage import ModelCooldown, UsageStats
from engine.policy.commands import BudgetOver, Failed
from engine.policy.windows import all_windows
from tests.policy.transcript import MAIN, T0, Transcript, World, login_of

THREE = ("acme:k1", "acme:k2", "acme:k3", "zeta:k1")
REVOKED = (401, "This API key has been revoked")
BILLING = (402, "insufficient credits")


def window_of(world: World, profile: str) -> tuple[str, str, str | None, int] | None:
    """(kind, reason, model, how long)"""
    found = [(str(w.kind), w.reason, w.model, w.until - world.now) for w in all_windows(world.usage(profile))]
    assert len(found) <= 1
    return found[0] if found else None


ROWS: list[tuple[object, str, bool, tuple[str, str, str | None, int] | None]] = [
    ((401, "invalid api key"), "auth", True, ("cooldown", "auth", None, 30_000)),
    (REVOKED, "auth_permanent", True, ("disabled", "auth_permanent", None, 600_000)),
    (BILLING, "billing", True, ("disabled", "billing", None, 5 * 3_600_000)),
    ((429, "rate limit"), "rate_limit", True, ("cooldown", "rate_limit", "big", 30_000)),
    ((529, "overloaded"), "overloaded", True, ("cooldown", "overloaded", None, 30_000)),
    ((503, "bad gateway upstream"), "timeout", True, ("cooldown", "timeout", "big", 30_000)),
    (Failure(error_type="TimeoutError"), "timeout", True, ("cooldown", "timeout", "big", 30_000)),
    (Failure(error_type="AbortError", message="This operation was aborted"), "timeout", True, ("cooldown", "timeout", "big", 30_000)),
    (Failure(error_type="ConnectError", connected=False), "timeout", False, None),
    (Failure(code="ECONNREFUSED", connected=False), "timeout", False, None),
    (Failure(status=500, body='{"error": {"type": "server_error", "message": "oops"}}'), "server_error", False, None),
    ((404, "model not found"), "model_not_found", False, None),
    ((404, "no such session"), "session_expired", False, None),
    ("empty", "empty_response", False, None),
    (Failure(message="Unknown error (no error details in response)"), "no_error_details", False, None),
    (Failure(error_type="RuntimeError", message="out of cheese"), "unclassified", False, None),
]


@pytest.mark.parametrize(("answer", "reason", "rotates", "window"), [pytest.param(*row, id=f"{row[1]}-{n}") for n, row in enumerate(ROWS)])
def test_each_row_of_section_5_walk_advance(
    answer: object, reason: str, rotates: bool, window: tuple[str, str, str | None, int] | None
) -> None:
    """A03 A14 A18 B13 D08 D10 D18 H01 I07: rotate? window? and on to the next candidate without waiting."""
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"))
    turn = world.run({"acme/big@acme:k1": answer})
    assert turn.ended.attempts[0].reason == reason
    assert turn.calls[1] == ("acme/big@acme:k2" if rotates else "zeta/std@zeta:k1")
    assert turn.ended.outcome is TurnOutcome.OK
    assert window_of(world, "acme:k1") == window
    if window is None:
        assert world.usage("acme:k1") == UsageStats(last_used=T0)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((400, "invalid_request: unexpected tool_use_id"), "format"),
        ((422, "whatever this is"), "format"),
        ((400, "the input token count exceeds the maximum number of input tokens"), "context_overflow"),
        ((413, "Request too large"), "context_overflow"),
    ],
)
def test_the_callers_own_faults_stop_the_turn_and_harm_nobody_walk_stop_attempt_caller_fault(answer: object, reason: str) -> None:
    """B10 B17: one call, no window, no rotation; `allowFormatRetry` has nothing to retry with: no repair of a request exists here."""
    world = World(profiles=THREE)
    turn = world.run({"acme/big": answer})
    error = turn.ended.error
    assert error is not None
    assert (turn.calls, error.type, error.reason) == (["acme/big@acme:k1"], "AttemptError", reason)
    assert turn.outcomes == {"acme/big": "failed", "zeta/std": "not_reached"}
    assert world.usage("acme:k1") == UsageStats(last_used=T0)
    assert world.run(session="second").ended.outcome is TurnOutcome.OK


@pytest.mark.parametrize("code", [408, 429, 499, 500, 502, 503, 504, 520, 521, 522, 523, 524, 527, 529, 530])
def test_every_upstream_trouble_advances_the_chain_walk_advance(code: int) -> None:
    """B13"""
    assert World().run({"acme/big": code}).ended.outcome is TurnOutcome.OK


def test_balance_and_key_words_decide_within_a_400_walk_stop() -> None:
    """B11"""
    for text, reason, goes_on in (
        ("Your credit balance is too low", "billing", True),
        ("invalid api key", "auth", True),
        ("messages: unexpected tool_use_id", "format", False),
    ):
        turn = World().run({"acme/big": (400, text)})
        assert turn.ended.attempts[0].reason == reason
        assert (turn.ended.outcome is TurnOutcome.OK) is goes_on


@pytest.mark.parametrize(
    ("cap", "reason", "answer", "tried"),
    [
        ("rateLimitedProfileRotations", 0, 429, 1),
        ("rateLimitedProfileRotations", 1, 429, 2),
        ("rateLimitedProfileRotations", 2, 429, 3),
        ("overloadedProfileRotations", 0, (529, "overloaded"), 1),
        ("overloadedProfileRotations", 1, (529, "overloaded"), 2),
    ],
)
def test_rotation_stops_at_the_cap_of_its_reason_rotate_cap(cap: str, reason: int, answer: object, tried: int) -> None:
    """A16 D15: a zero is a value; each failing profile gets its window, the last one included; who was not tried is named."""
    world = World(profiles=THREE, cooldowns={cap: reason})
    turn = world.run({"acme/big": answer})
    assert [c for c in turn.calls if c.startswith("acme")] == [f"acme/big@acme:k{n}" for n in range(1, tried + 1)]
    assert all(window_of(world, f"acme:k{n}") for n in range(1, tried + 1))
    left = ", ".join(f"acme:k{n}" for n in range(tried + 1, 4))
    assert [d.detail for d in turn.ended.decisions if d.decision == "candidate_failed"] == [
        f"rotation_cap: {left} not tried" if left else None
    ]


def test_the_last_candidate_tries_every_profile_once_rotate_cap_rotate_once() -> None:
    world = World(fallbacks=(), profiles=THREE, cooldowns={"rateLimitedProfileRotations": 0})
    assert world.run({"*": 429}).calls == ["acme/big@acme:k1", "acme/big@acme:k2", "acme/big@acme:k3"]


def test_the_counters_are_one_a_reason_rotate_cap() -> None:
    world = World(profiles=THREE)
    turn = world.run({"acme/big": [429, (529, "overloaded"), 429]})
    assert turn.calls == ["acme/big@acme:k1", "acme/big@acme:k2", "acme/big@acme:k3", "zeta/std@zeta:k1"]


def test_a_profile_in_a_window_is_not_rotated_to_rotate_once_order_windowed_last() -> None:
    cooling = UsageStats(model_cooldowns={"big": ModelCooldown(T0 + 600_000, "rate_limit", 1)}, error_count=1, last_failure_at=T0 - 1)
    world = World(fallbacks=(), profiles=THREE, usage={"acme:k2": cooling})
    assert world.run({"*": (401, "invalid api key")}).calls == ["acme/big@acme:k1", "acme/big@acme:k3"]


ANSWERS: Any = st.sampled_from(
    (429, 503, 500, (401, "invalid api key"), REVOKED, BILLING, (529, "overloaded"), (404, "model not found"), "empty", "ok")
)


@given(
    st.lists(st.sampled_from(("acme/big", "acme/small", "zeta/std", "nova/std", "kilo/std", "nope/x")), max_size=8),
    st.lists(st.sampled_from(THREE), unique=True),
    st.lists(ANSWERS, min_size=1, max_size=12),
)
def test_every_turn_is_finite_and_repeats_nothing_rotate_once_walk_one_outcome_walk_advance(
    fallbacks: list[str], profiles: list[str], answers: list[object]
) -> None:
    """B09 D09 D11 D12: each (candidate, profile) at most once, each candidate exactly one outcome, the first that can answer does."""
    turn = World(fallbacks=tuple(fallbacks), profiles=tuple(profiles)).run({"*": answers})
    result = turn.ended
    assert len(turn.calls) == len(set(turn.calls)) == result.upstream_calls
    assert [c.ref for c in result.candidates] == list(dict.fromkeys(result.chain))
    outcomes = list(turn.outcomes.values())
    if result.outcome is TurnOutcome.OK:
        place = outcomes.index("succeeded")
        assert all(o == "failed" or o.startswith("skipped") for o in outcomes[:place])
        assert set(outcomes[place + 1 :]) <= {"not_reached"}
    else:
        assert all(o == "failed" or o.startswith("skipped") for o in outcomes)
    decided = [d for d in result.decisions if d.decision in ("skip_candidate", "candidate_failed", "candidate_succeeded")]
    assert [f"{d.candidate_provider}/{d.candidate_model}" for d in decided] == [
        str(c.ref) for c in result.candidates if str(c.outcome) != "not_reached"
    ]


def test_seventeen_candidates_and_errors_of_any_kind_walk_advance() -> None:
    """D09"""
    names = tuple(f"acme/m{n}" for n in range(2, 18))
    world = World(primary="acme/m1", fallbacks=names)
    answers: dict[str, object] = {"*": (404, "model not found"), "acme/m17": "ok"}
    answers["acme/m3"] = Failure(error_type="RuntimeError", message="bare")
    answers["acme/m9"] = Failure(error_type="ConnectTimeout", connected=False)
    turn = world.run(answers)
    assert list(turn.outcomes.values()) == ["failed"] * 16 + ["succeeded"]


def test_three_layers_of_wrapping_lose_no_status_walk_advance() -> None:
    """D18"""
    inner = Failure(status=401, body='{"error": {"message": "invalid api key"}}')
    for name in ("HTTPError", "SDKError", "FailoverError"):
        inner = Failure(error_type=name, cause=inner)
    turn = World(profiles=("acme:k1", "acme:k2", "zeta:k1")).run({"acme/big@acme:k1": inner})
    assert turn.ended.attempts[0].reason == "auth"
    assert turn.calls[1] == "acme/big@acme:k2"


def test_a_secret_that_cannot_be_read_is_passed_over_without_a_window_rotate_dead_secret() -> None:
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"))
    world.memory.dead = frozenset({"acme:k1"})  # type: ignore[arg-type]
    assert world.run().calls == ["acme/big@acme:k2"]
    world = World(profiles=("acme:k1", "zeta:k1"))
    world.memory.dead = frozenset({"acme:k1"})  # type: ignore[arg-type]
    turn = world.run({"zeta/std": 503})
    assert turn.outcomes["acme/big"] == "failed"
    assert turn.ended.error is not None
    entries = [(e.reason, e.skipped, e.rule) for e in turn.ended.error.attempts]
    assert entries[0] == ("auth", False, "rotate.dead-secret")
    assert len(entries) == 2
    assert world.usage("acme:k1") == UsageStats()
    # Nobody refused anything: there was nothing to refuse.
    assert "acme/big: no key of it can be read" in turn.ended.error.text
    assert "refused" not in turn.ended.error.text


def test_an_answer_clears_the_profile_and_its_own_model_and_no_more_attempt_success() -> None:
    """A09 B08"""
    before = UsageStats(
        last_used=T0 - 9,
        cooldown_until=T0 - 5,
        cooldown_reason="auth",
        disabled_until=T0 - 4,
        disabled_reason="billing",
        blocked_until=T0 - 3,
        error_count=4,
        failure_counts={"billing": 2, "rate_limit": 3},
        last_failure_at=T0 - 100,
        model_cooldowns={"big": ModelCooldown(T0 - 1, "rate_limit", 2), "small": ModelCooldown(T0 + 9_000, "timeout", 3)},
        disabled_counts={"billing": 2},
    )
    world = World(usage={"acme:k1": before})
    assert world.run().calls == ["acme/big@acme:k1"]
    after = world.usage("acme:k1")
    assert after == UsageStats(last_used=T0, last_failure_at=T0 - 100, model_cooldowns={"small": ModelCooldown(T0 + 9_000, "timeout", 3)})


def test_a_side_effect_without_words_is_an_answer_attempt_success() -> None:
    """B16: and nothing usable is `empty_response` otherwise."""
    assert World().run({"acme/big": "empty"}, side_effect_only=True).calls == ["acme/big@acme:k1"]
    turn = World().run({"acme/big": "empty"})
    assert (turn.ended.attempts[0].reason, str(turn.ended.active)) == ("empty_response", "zeta/std")


def test_after_content_nobody_else_is_called_and_the_break_is_a_timeout_for_health_attempt_committed() -> None:
    """I02"""
    world = World()
    turn = world.run({"acme/big": "drops"})
    error = turn.ended.error
    assert error is not None
    assert (turn.calls, turn.ended.outcome, error.type) == (["acme/big@acme:k1"], TurnOutcome.PARTIAL, "Partial")
    assert window_of(world, "acme:k1") == ("cooldown", "timeout", "big", 30_000)
    assert world.session.auth_profile_override == "acme:k1"


def test_a_fallback_whose_answer_breaks_off_stays_selected_attempt_committed_override_sticky() -> None:
    world = World()
    turn = world.run({"acme/big": 503, "zeta/std": "drops"})
    assert turn.ended.notices == ("↪️ Model Fallback: zeta/std (selected acme/big; timeout)",)
    assert str(world.session.override) == "zeta/std"


def test_a_cancelled_turn_changes_no_health_and_calls_nobody_else_attempt_caller_fault_walk_stop() -> None:
    """I06: before content and during the answer; the trial is free again."""
    ended = UsageStats(model_cooldowns={"big": ModelCooldown(T0 - 1, "rate_limit", 1)}, error_count=1, last_failure_at=T0 - 31_000)
    for content in (False, True):
        world = World(usage={"acme:k1": ended})
        turn = world.turn()
        if content:
            turn.has_content()
        turn.is_cancelled()
        assert turn.ended.outcome is TurnOutcome.ABORTED
        assert turn.ended.error is not None
        assert turn.ended.error.reason == "aborted_by_user"
        assert turn.calls == ["acme/big@acme:k1"]
        assert not world.memory.trials
        if not content:
            assert world.usage("acme:k1").model_cooldowns == ended.model_cooldowns


def limits(turn: Transcript) -> tuple[int | None, bool]:
    waiting = turn.waiting
    return waiting.limit_ms, waiting.fatal_limit  # type: ignore[union-attr]


def test_half_of_what_is_left_while_another_candidate_remains_attempt_budget_attempt_caller_fault() -> None:
    world = World(fallbacks=("zeta/std", "kilo/std"))
    turn = world.turn(budget_ms=60_000)
    for spent, limit in ((30_000, (30_000, False)), (15_000, (15_000, False))):
        assert limits(turn) == limit
        world.now += spent
        turn._tell("cut short", _cut())
        if turn.lines[-1].startswith("<< save"):
            turn.saved()
    assert limits(turn) == (15_000, True)
    assert world.usage("acme:k1") == UsageStats(last_used=T0)
    assert [a.reason for a in turn.walk.ledger.attempts] == ["timeout", "timeout"]


def _cut() -> Any:
    return Failed(Failure(caller_fault=True))


def test_the_budgets_end_is_the_turns_and_says_when_trying_again_makes_sense_attempt_budget_summary_model_aware() -> None:
    """Every failed turn's error carries the soonest expiry."""
    world = World(usage={"acme:k1": UsageStats(model_cooldowns={"big": ModelCooldown(T0 + 600_000, "rate_limit", 1)})})
    turn = world.turn(budget_ms=1_000).saved()
    turn._tell("the budget ended", BudgetOver(1))
    error = turn.ended.error
    assert error is not None
    assert (turn.ended.outcome, error.type, error.reason) == (TurnOutcome.FAILED, "BudgetExceeded", "run_budget_exceeded")
    assert error.soonest_cooldown_expiry == T0 + 600_000
    assert world.usage("zeta:k1") == UsageStats(last_used=T0)


@pytest.mark.parametrize("waits_for", ["save", "sleep", "refresh"])
def test_the_budget_ends_every_wait_attempt_budget(waits_for: str) -> None:
    """A pause between keys, the store and a token endpoint take their time from it as well."""
    if waits_for == "sleep":
        world = World(profiles=THREE, cooldowns={"overloadedBackoffMs": 5_000})
        turn = world.turn(budget_ms=1_000).answers(529, "overloaded")
    elif waits_for == "save":
        world = World()
        turn = world.turn(budget_ms=1_000).answers(503)
    else:
        world = World(profiles=(), credentials={"acme:o1": login_of("acme:o1", expires_in_ms=1_000)})
        turn = world.turn(budget_ms=1_000)
    assert turn.lines[-1].startswith(f"<< {waits_for}")
    turn._tell("the budget ended", BudgetOver())
    assert turn.ended.error is not None
    assert turn.ended.error.reason == "run_budget_exceeded"
    assert world.session.override is None


def test_a_window_is_written_for_who_answered_whatever_the_session_has_become_attempt_attribution() -> None:
    """A13"""
    world = World(profiles=("acme:k1", "zeta:k1", "nova:k1"))
    turn = world.turn()
    world.act(SelectModel(MAIN, "nova/std"))
    turn.answers(429)
    assert set(world.usage("acme:k1").model_cooldowns) == {"big"}
    assert world.usage("nova:k1").model_cooldowns == {}


def hinted(seconds: object, status: int = 429) -> Failure:
    return Failure(status=status, body=json.dumps({"error": {"message": "rate limit"}}), headers={"retry-after": str(seconds)})


def test_a_hint_is_recorded_and_never_slept_on_by_the_walk_attempt_retry_after_window_hint() -> None:
    """C04 C05: each attempt's own response decides, and the next candidate is called at once."""
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"))
    turn = world.run({"acme/big@acme:k1": hinted(1806), "acme/big@acme:k2": hinted(60)})
    assert turn.calls == ["acme/big@acme:k1", "acme/big@acme:k2", "zeta/std@zeta:k1"]
    assert [a.at_ms for a in turn.ended.attempts] == [0, 0, 0]
    assert window_of(world, "acme:k1") == ("cooldown", "rate_limit", "big", 1_806_000)
    assert window_of(world, "acme:k2") == ("cooldown", "rate_limit", "big", 60_000)
