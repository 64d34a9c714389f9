"""Notices, summaries, logins and the decision log (spec sections 8.1, 9, 11 and 12)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from engine.domain.acts import Reset, SelectModel, SetOff
from engine.domain.failure import Failure
from engine.domain.sessions import Session
from engine.domain.turns import FailureEntry, RunKind, TurnOutcome
from engine.domain.usage import ModelCooldown, UsageStats
from engine.policy.summary import reader_text, wait_words
from tests.policy.test_overrides import THREE
from tests.policy.test_selection import AUTO
from tests.policy.transcript import MAIN, T0, Transcript, World, login_of, ref

MIN = 60_000
BIG_OUT = {"acme/big": 503}


def cooling(left_ms: int, reason: str = "rate_limit", model: str = "big") -> UsageStats:
    return UsageStats(model_cooldowns={model: ModelCooldown(T0 + left_ms, reason, 1)}, error_count=1, last_failure_at=T0 - 1)


# --- notices -----------------------------------------------------------------------------------------------------------


def test_one_notice_a_transition_and_one_when_it_is_over_notice_fallback_notice_cleared() -> None:
    """G01: three turns on the fallback, also after a restart; side effects without words are turns like others."""
    world = World()
    told: list[str] = []
    for n in range(3):
        told += world.run(BIG_OUT, side_effect_only=n == 0).ended.notices
        world.restart()
        world.now += 1_000
    assert told == ["↪️ Model Fallback: zeta/std (selected acme/big; timeout)"]
    world.now += 10 * MIN
    assert world.run().ended.notices == ("↪️ Model Fallback cleared: acme/big (was zeta/std)",)
    world.now += 10 * MIN
    assert world.run().ended.notices == ()


def test_a_second_hop_is_a_notice_and_a_round_trip_is_four_notice_fallback_notice_cleared() -> None:
    """G02"""
    world = World(**THREE)
    assert world.run(BIG_OUT).ended.notices == ("↪️ Model Fallback: zeta/std (selected acme/big; timeout)",)
    hop = world.run({"zeta/std": (401, "invalid api key")}).ended.notices
    assert hop == ("↪️ Model Fallback: nova/std (selected acme/big; auth)",)
    world = World()
    told = 0
    for _ in range(2):
        told += len(world.run(BIG_OUT).ended.notices)
        world.now += 10 * MIN
        told += len(world.run().ended.notices)
        world.now += 10 * MIN
    assert told == 4


def test_a_new_reason_for_the_same_pair_is_noted_silently_notice_fallback() -> None:
    """G02 G03: selected and active differ, with reason and since when."""
    world = World()
    world.run(BIG_OUT)
    since = world.session.fallback_notice_since
    world.now += 6 * MIN
    turn = world.run({"acme/big": (402, "insufficient credits")})
    assert turn.ended.notices == ()
    session = world.session
    assert (session.fallback_notice_reason, session.fallback_notice_since, since) == ("billing", T0, T0)
    assert (session.fallback_notice_selected_model, session.fallback_notice_active_model) == ("acme/big", "zeta/std")


@pytest.mark.parametrize(
    ("world", "answers", "reason"),
    [
        (World(), {"acme/big": (404, "model not found")}, "model not found"),
        (World(**THREE), {"acme/big": 503, "zeta/std": (401, "invalid api key")}, "timeout (+1 more attempts)"),
        (World(profiles=("acme:k1", "acme:k2", "zeta:k1")), {"acme/big": 429}, "rate limit (+1 more attempts)"),
        (World(usage={"acme:k1": cooling(10 * MIN)}), {}, "rate limit"),
        (World(profiles=("zeta:k1",)), {}, "no credentials"),
        # A skip does not count, and the first failure goes before it.
        (World(fallbacks=("nope/x", "zeta/std"), profiles=("acme:k1", "zeta:k1")), BIG_OUT, "timeout"),
    ],
)
def test_the_reason_is_that_of_the_first_failed_attempt_notice_fallback(world: World, answers: dict[str, object], reason: str) -> None:
    told = world.run(answers).ended.notices
    assert [text.partition("; ")[2].removesuffix(")") for text in told] == [reason]


def test_without_a_failure_or_a_skip_the_selected_model_was_unavailable_notice_fallback() -> None:
    """The session holds a fallback of which nobody has been told: by import, or by a crash after it was stored."""
    world = World(session=replace(AUTO, fallback_notice_selected_model=None, fallback_notice_active_model=None))
    world.memory.primary_marks[(MAIN, world.settings.primary)] = T0
    assert world.run().ended.notices == ("↪️ Model Fallback: zeta/std (selected acme/big; selected model unavailable)",)


@pytest.mark.parametrize("what", [Reset(MAIN), SelectModel(MAIN, "acme/big"), SelectModel(MAIN, "default")])
def test_whoever_leaves_by_hand_is_told_nothing_and_the_next_fallback_is_news_notice_cleared(what: Any) -> None:
    world = World()
    world.run(BIG_OUT)
    world.act(what)
    world.now += 10 * MIN
    assert world.run().ended.notices == ()
    world.act(SelectModel(MAIN, "default"))
    world.now += 10 * MIN
    assert len(world.run(BIG_OUT).ended.notices) == 1


@pytest.mark.parametrize("what", [Reset(MAIN), SelectModel(MAIN, "nova/std"), SelectModel(MAIN, "default"), None])
def test_a_cleared_notice_that_waits_goes_with_the_rest_of_the_notice_state_notice_cleared(what: Any) -> None:
    """By a reset, a `/model` or a stale origin: it would tell of a model that nobody is on any more."""
    waiting = Session(pending_notice="↪️ Model Fallback cleared: acme/big (was zeta/std)")
    if what is None:
        waiting = replace(AUTO, pending_notice=waiting.pending_notice, model_override_fallback_origin_model="other")
    world = World(**THREE, session=waiting)
    if what is not None:
        assert world.act(what).ok
    assert world.run().ended.notices == ()


# --- summaries ---------------------------------------------------------------------------------------------------------


def soonest(world: World, **request: Any) -> int | None:
    error = world.run({"*": (404, "model not found")}, **request).ended.error
    assert error is not None
    return error.soonest_cooldown_expiry


@pytest.mark.parametrize(
    ("world", "expiry"),
    [
        (World(usage={"acme:k1": cooling(40_000), "zeta:k1": cooling(90_000, model="std")}), 40_000),
        # Another model's window is not this chain's.
        (World(usage={"acme:k1": cooling(40_000, model="small"), "zeta:k1": cooling(90_000, model="std")}), 90_000),
        # Limited in exactly that model: the latest of the profiles; of others the earliest; the sooner of the two.
        (World(fallbacks=(), profiles=("acme:k1", "acme:k2"), usage={"acme:k1": cooling(40_000), "acme:k2": cooling(90_000)}), 90_000),
        (
            World(
                fallbacks=(),
                profiles=("acme:k1", "acme:k2"),
                usage={"acme:k1": cooling(40_000, "timeout"), "acme:k2": cooling(90_000, "timeout")},
            ),
            40_000,
        ),
        (
            World(fallbacks=(), profiles=("acme:k1", "acme:k2"), usage={"acme:k1": cooling(40_000), "acme:k2": cooling(30_000, "timeout")}),
            30_000,
        ),
        (World(), None),
        (World(usage={"acme:k1": cooling(40_000)}, exempt=("acme",)), None),
    ],
)
def test_when_trying_again_makes_sense_summary_model_aware(world: World, expiry: int | None) -> None:
    """C06"""
    found = soonest(world)
    assert found == (T0 + expiry if expiry is not None else None)


def test_what_nobody_may_use_says_nothing_about_when_summary_model_aware() -> None:
    usage = {"acme:k1": cooling(40_000), "acme:k2": cooling(90_000, "timeout"), "zeta:k1": cooling(20_000, model="std")}
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"), usage=usage)
    world.act(SetOff("zeta"))
    assert soonest(world) == T0 + 40_000
    world.act(SetOff("acme:k1"))
    assert soonest(world) == T0 + 90_000
    pinned = Session(auth_profile_override="acme:k2", auth_profile_override_source="user")  # type: ignore[arg-type]
    assert soonest(World(profiles=("acme:k1", "acme:k2"), fallbacks=(), usage=usage | {}, session=pinned)) == T0 + 90_000


def entry(model: str, reason: str) -> FailureEntry:
    made = ref(model)
    return FailureEntry(made.provider, made.model, None, reason, None, None, None, False, None)


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        (("rate_limit", "overloaded"), ("temporary", "Try again in 40 s")),
        (("billing", "auth"), ("top it up", "check the key")),
        (("billing", "rate_limit"), ("acme/m0: the account is out of credit", "acme/m1: rate-limited")),
        (("format",), ("the request must change",)),
    ],
)
def test_what_a_reader_is_told_comes_from_the_recorded_reasons_summary_model_aware(
    reasons: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """G06: a wait only where waiting helps, and nobody is called unreachable who answered."""
    text = reader_text([entry(f"acme/m{n}", reason) for n, reason in enumerate(reasons)], T0 + 40_000, T0)
    assert all(word in text for word in words)
    assert ("Try again" in text) is set(reasons).issubset({"rate_limit", "overloaded"})
    assert "unreachable" not in text.lower()


@pytest.mark.parametrize(("ms", "words"), [(1, "1 s"), (40_000, "40 s"), (60_000, "60 s"), (60_001, "2 min"), (3_600_000, "60 min")])
def test_waits_in_words_summary_model_aware(ms: int, words: str) -> None:
    assert wait_words(ms) == words


def test_one_entry_is_that_error_and_several_are_a_summary_summary_model_aware() -> None:
    one = World(fallbacks=()).run({"*": (404, "model not found")}).ended.error
    assert one is not None
    assert (one.type, one.message) == ("AttemptError", "acme/big: model not found (model_not_found)")
    world = World(fallbacks=("nope/x", "zeta/std"))
    two = world.run({"acme/big": 503, "zeta/std": Failure(status=404)}).ended.error
    assert two is not None
    assert two.type == "FallbackSummaryError"
    assert (
        two.message == "All models failed (3): acme/big: no (timeout) | nope/x: unknown_provider (unknown_provider) "
        "| zeta/std: HTTP 404 (model_not_found)"
    )


# --- logins ------------------------------------------------------------------------------------------------------------


def with_login(expires_in_ms: int | None = 3_600_000, refresh: str = "made-up") -> World:
    return World(profiles=("zeta:k1",), credentials={"acme:o1": login_of("acme:o1", expires_in_ms, refresh)})


@pytest.mark.parametrize(("left", "refreshed"), [(5 * MIN + 1, False), (5 * MIN, True), (-1, True), (None, True)])
def test_a_login_is_refreshed_five_minutes_before_its_end_oauth_refresh_once(left: int | None, refreshed: bool) -> None:
    turn = with_login(left).run()
    assert ("<< refresh acme:o1" in turn.lines) is refreshed
    assert turn.calls == ["acme/big@acme:o1"]


def test_a_refresh_that_fails_while_the_token_lives_does_not_matter_yet_oauth_refresh_once() -> None:
    down = {"refresh:acme:o1": Failure(status=500)}
    assert with_login(MIN).run(down).calls == ["acme/big@acme:o1"]
    assert with_login(-1).run(down).calls == ["zeta/std@zeta:k1"]


@pytest.mark.parametrize(
    ("failure", "reason", "kind"),
    [
        (Failure(status=400, body='{"error": "invalid_grant"}'), "auth_permanent", "disabled"),
        (Failure(message="refresh token was revoked"), "auth_permanent", "disabled"),
        (Failure(message="token reused"), "auth_permanent", "disabled"),
        (Failure(message="please sign in again"), "auth_permanent", "disabled"),
        (Failure(status=500), "auth", "cooldown"),
        (Failure(error_type="ConnectError", connected=False), "timeout", None),
    ],
)
def test_why_a_refresh_failed_oauth_refresh_once(failure: Failure, reason: str, kind: str | None) -> None:
    world = with_login(-1)
    turn = world.run({"refresh:acme:o1": failure})
    assert turn.ended.attempts[0].reason == reason
    usage = world.usage("acme:o1")
    assert (usage.disabled_until is not None, usage.cooldown_until is not None) == (kind == "disabled", kind == "cooldown")


def test_an_expired_token_is_one_refresh_and_one_retry_in_the_same_attempt_oauth_expired_retry() -> None:
    """B03"""
    world = with_login()
    turn = world.run({"acme/big": [(401, "token expired"), "ok"]})
    assert turn.calls == ["acme/big@acme:o1"] * 2
    assert (len(turn.ended.attempts), turn.ended.upstream_calls) == (1, 2)
    assert world.usage("acme:o1") == UsageStats(last_used=T0)
    # Once: a second refusal is a failure like any other. A key is not refreshed.
    turn = with_login().run({"acme/big": (401, "token expired")})
    assert turn.calls == ["acme/big@acme:o1"] * 2 + ["zeta/std@zeta:k1"]
    assert "refresh" not in "".join(World().run({"acme/big": (401, "token expired")}).lines)


# --- the log -----------------------------------------------------------------------------------------------------------


def records(turn: Transcript) -> list[dict[str, Any]]:
    return [json.loads(json.dumps(d.to_json())) for d in turn.ended.decisions]


def test_a_record_for_each_candidate_decided_upon_and_one_for_the_turn_log_record() -> None:
    """H01 H02: `turn_finished` repeats the first failure, also when something answered in the end."""
    world = World(**THREE, usage={"zeta:k1": cooling(10 * MIN, model="std")})
    turn = world.run({"acme/big": (503, "gone away")}, agent="ops")
    one, two, three, four = records(turn)
    common = {
        "event": "model_fallback_decision",
        "at": T0,
        "turn": "turn-1",
        "session": "main",
        "agent": "ops",
        "requestedProvider": "acme",
        "requestedModel": "big",
        "total": 3,
        "configGeneration": 1,
        "fallbackConfigured": True,
    }
    assert all(record.items() >= common.items() for record in (one, two, three, four))
    assert (
        one.items()
        >= {
            "decision": "candidate_failed",
            "rule": "gate.open",
            "candidateProvider": "acme",
            "candidateModel": "big",
            "profile": "acme:k1",
            "attempt": 1,
            "reason": "timeout",
            "status": 503,
            "error": "gone away",
            "nextCandidateProvider": "zeta",
            "nextCandidateModel": "std",
            "isPrimary": True,
            "fallbackStepFromModel": "acme/big",
            "fallbackStepToModel": "zeta/std",
            "fallbackStepFromFailureReason": "timeout",
            "fallbackStepFromFailureDetail": "gone away",
            "fallbackStepFinalOutcome": "next_fallback",
        }.items()
    )
    assert (
        two.items()
        >= {"decision": "skip_candidate", "rule": "gate.other-provider-probe", "reason": "rate_limit", "until": T0 + 10 * MIN}.items()
    )
    assert three.items() >= {"decision": "candidate_succeeded", "attempt": 3, "fallbackStepFinalOutcome": "succeeded"}.items()
    assert "nextCandidateModel" not in three
    assert (
        four.items()
        >= {
            "decision": "turn_finished",
            "outcome": "ok",
            "upstreamCalls": 2,
            "reason": "timeout",
            "fallbackStepFromModel": "acme/big",
            "fallbackStepToModel": "nova/std",
            "fallbackStepFinalOutcome": "succeeded",
        }.items()
    )


def test_a_probed_candidate_has_two_records_and_a_dead_end_says_so_log_record() -> None:
    world = World(fallbacks=(), usage={"acme:k1": replace(cooling(MIN), last_failure_at=T0 - MIN)})
    turn = world.run({"*": 429})
    assert [(r["decision"], r["rule"]) for r in records(turn)] == [
        ("probe_cooldown_candidate", "gate.primary-probe"),
        ("candidate_failed", "gate.primary-probe"),
        ("turn_finished", "walk.stop"),
    ]
    assert [r.get("fallbackStepFinalOutcome") for r in records(turn)] == [None, "chain_exhausted", "chain_exhausted"]


def test_an_error_is_cut_at_400_characters_log_record() -> None:
    failed = records(World().run({"acme/big": (503, "x" * 5_000)}))[0]
    assert len(failed["error"]) == len(failed["fallbackStepFromFailureDetail"]) == 400


def test_a_thousand_identical_auth_skips_are_a_few_records_that_add_up_log_coalesce() -> None:
    """H03: the count comes with the candidate's next record, whatever that says; nothing else is suppressed."""
    refused = UsageStats(cooldown_until=T0 + 45_000, cooldown_reason="auth", error_count=1, last_failure_at=T0 - 1)
    world = World(usage={"acme:k1": refused})
    skips = told = others = 0
    for n in range(1_000):
        turn = world.run(kind=RunKind.CRON, session="job")
        skips += turn.outcomes["acme/big"].startswith("skipped")
        mine = [d for d in turn.ended.decisions if d.candidate_model == "big"]
        told += sum((d.decision == "skip_candidate") + (d.count or 0) for d in mine)
        others += len(turn.ended.decisions) - len(mine)
        assert len(mine) <= 1 or n == 0
        world.now += 45
    assert world.now == T0 + 45_000
    turn = world.run(kind=RunKind.CRON, session="job")
    last = next(d for d in turn.ended.decisions if d.candidate_model == "big")
    told += last.count or 0
    assert (last.decision, skips, told, others) == ("candidate_succeeded", 1_000, 1_000, 2_000)


def test_another_session_candidate_or_reason_is_another_record_log_coalesce() -> None:
    refused = UsageStats(cooldown_until=T0 + 45_000, cooldown_reason="auth", error_count=1, last_failure_at=T0 - 1)
    world = World(usage={"acme:k1": refused}, fallbacks=("acme/small", "zeta/std"))
    made = [d.decision for s in ("a", "b") for d in world.run(session=s).ended.decisions]
    assert made.count("skip_candidate") == 4
    world.act(SetOff("acme"))
    assert [d.decision for d in world.run(session="a", kind=RunKind.CRON).ended.decisions].count("skip_candidate") == 2
    assert world.run(session="a", kind=RunKind.CRON).ended.outcome is TurnOutcome.OK
