"""May this candidate be attempted now (spec section 7, `engine.policy.gate`)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.domain.acts import Clear, SetOff, SetOn
from engine.domain.ids import ModelRef
from engine.domain.sessions import Session
from engine.domain.usage import ModelCooldown, UsageStats
from engine.policy.commands import BudgetOver
from tests.policy.test_selection import LEGACY, USER
from tests.policy.transcript import MAIN, T0, World, login_of

MIN = 60_000
HOUR = 60 * MIN


def scoped(left_ms: int, reason: str = "rate_limit", model: str = "big", failed_ago: int | None = 10 * HOUR) -> UsageStats:
    last = None if failed_ago is None else T0 - failed_ago
    return UsageStats(model_cooldowns={model: ModelCooldown(T0 + left_ms, reason, 1)}, error_count=1, last_failure_at=last)


def whole(left_ms: int, reason: str | None, failed_ago: int | None = 10 * HOUR) -> UsageStats:
    last = None if failed_ago is None else T0 - failed_ago
    if reason in ("billing", "auth_permanent"):
        return UsageStats(disabled_until=T0 + left_ms, disabled_reason=reason, last_failure_at=last)
    if reason == "blocked":
        return UsageStats(blocked_until=T0 + left_ms, blocked_reason="subscription_limit", last_failure_at=last)
    return UsageStats(cooldown_until=T0 + left_ms, cooldown_reason=reason, error_count=1, last_failure_at=last)


SAME = {"fallbacks": ("acme/small", "zeta/std")}


def verdicts(world: World, **request: Any) -> dict[str, str]:
    """What became of each candidate, with every attempt failing with a 404, which opens nothing: the whole chain is walked."""
    turn = world.run({"*": (404, "model not found")}, **request)
    rules = {str(c.ref): c.rule for c in turn.ended.candidates}
    return {name: said if said.startswith("skipped") else f"{said} {rules[name]}" for name, said in turn.outcomes.items()}


def first(world: World, **request: Any) -> str:
    return verdicts(world, **request)["acme/big"]


# --- 1: skips without a window -----------------------------------------------------------------------------------------


def test_the_reasons_to_pass_over_come_in_their_order() -> None:
    """`gate.unknown-provider`, `pin.missing`, `gate.operator-off`, `gate.no-credentials`, `gate.dialect-unsupported`, `gate.skip-cache`:
    each is put away in turn, and the next one shows."""
    missing = Session(auth_profile_override="zeta:k9", auth_profile_override_source="user")  # type: ignore[arg-type]
    world = World(fallbacks=("zeta/std",), profiles=("acme:k1",), session=missing)
    world.act(SetOff("zeta"))
    request: dict[str, Any] = {"inexpressible": frozenset({ModelRef("zeta", "std")})}
    world.memory.skips[("main", ModelRef("zeta", "std"))] = T0 + 1
    assert verdicts(world, **request)["zeta/std"] == "skipped pin.missing pinned_profile_missing"
    world.memory.sessions[MAIN] = Session()
    assert verdicts(world, **request)["zeta/std"] == "skipped gate.operator-off operator_off"
    world.act(SetOn("zeta"))
    assert verdicts(world, **request)["zeta/std"] == "skipped gate.no-credentials no_credentials"
    world.memory.agents["main"].credentials["zeta:k1"] = World().memory.agents["main"].credentials["zeta:k1"]  # type: ignore[index]
    assert verdicts(world, **request)["zeta/std"] == "skipped gate.dialect-unsupported dialect_unsupported"
    assert verdicts(world)["zeta/std"] == "skipped gate.skip-cache skip_cache"
    world.now += 1
    assert verdicts(world)["zeta/std"] == "failed gate.open"
    assert World(fallbacks=("nope/x",)).run({"acme/big": 503}).outcomes["nope/x"] == "skipped gate.unknown-provider unknown_provider"


@pytest.mark.parametrize("target", ["acme", "acme/big", "acme:k1"])
def test_what_an_operator_took_out_is_used_by_nobody_until_it_is_back_gate_operator_off(target: str) -> None:
    """D17"""
    world = World()
    assert world.act(SetOff(target)).ok
    assert world.run(session="new").outcomes["acme/big"] == "skipped gate.operator-off operator_off"
    assert world.act(SetOn(target)).ok
    assert world.run(session="other").calls == ["acme/big@acme:k1"]


def test_one_profile_off_leaves_the_others_and_a_run_under_way_sees_it_gate_operator_off() -> None:
    """D17: also between a refresh and its retry."""
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"))
    world.act(SetOff("acme:k1"))
    assert world.run().calls == ["acme/big@acme:k2"]
    world = World(profiles=("acme:k2", "zeta:k1"), credentials={"acme:o1": login_of("acme:o1")})
    turn = world.turn().answers(401, "token expired")
    assert turn.lines[-1] == "<< refresh acme:o1 at once"
    world.act(SetOff("acme:o1"))
    turn.refreshed()
    assert turn.lines[-1] == "<< call acme/big with acme:k2"
    assert world.usage("acme:o1") == UsageStats(last_used=T0)


def test_the_account_that_holds_the_state_of_a_request_is_the_only_one_gate_dialect_unsupported() -> None:
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"))
    held = (ModelRef("acme", "big"), "acme:k2")
    turn = world.run({"acme/big": 503}, held_by=held)
    assert turn.calls == ["acme/big@acme:k2"]
    assert turn.outcomes["zeta/std"] == "skipped gate.dialect-unsupported dialect_unsupported"
    # The holder's siblings on the same account can go on with it; a pin on another account cannot.
    assert World(profiles=("acme:k1", "acme:k2"), **SAME).run({"acme/big": 404}, held_by=held).calls[-1] == "acme/small@acme:k2"  # type: ignore[arg-type]
    pinned = Session(auth_profile_override="acme:k1", auth_profile_override_source="user")  # type: ignore[arg-type]
    world = World(profiles=("acme:k1", "acme:k2"), session=pinned)
    assert world.run(held_by=held).outcomes["acme/big"] == "skipped gate.dialect-unsupported dialect_unsupported"
    assert World(fallbacks=("kilo/std",)).run(held_by=(ModelRef("kilo", "std"), None)).calls == ["kilo/std"]


# --- 2: open -----------------------------------------------------------------------------------------------------------


def test_one_profile_without_a_window_is_enough_gate_open() -> None:
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"), usage={"acme:k1": whole(HOUR, "billing")})
    turn = world.run()
    assert (turn.calls, turn.ended.candidates[0].rule) == (["acme/big@acme:k2"], "gate.open")
    # A window of another model is none.
    world = World(usage={"acme:k1": scoped(HOUR, model="small")})
    assert world.run().calls == ["acme/big@acme:k1"]


# --- 3 to 8: through a window ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("session", [USER, LEGACY])
@pytest.mark.parametrize("reason", ["rate_limit", "auth", "auth_permanent", "billing", "blocked", None])
def test_a_users_choice_is_tried_all_the_same_once_in_30_s_gate_user_explicit(session: Session, reason: str | None) -> None:
    """K06"""
    world = World(profiles=("nova:k1",), session=session, usage={"nova:k1": whole(HOUR, reason)})
    assert world.run({"*": (404, "model not found")}).calls == ["nova/std@nova:k1"]
    world.now += 29_999
    assert world.run().outcomes["nova/std"].startswith("skipped gate.user-explicit")
    world.now += 1
    turn = world.run()
    assert (turn.calls, turn.ended.candidates[0].rule) == (["nova/std@nova:k1"], "gate.user-explicit")


def test_with_a_list_of_its_own_only_the_first_is_the_users_choice_gate_user_explicit() -> None:
    usage = {"nova:k1": whole(HOUR, "auth"), "zeta:k1": whole(HOUR, "auth")}
    world = World(profiles=("nova:k1", "zeta:k1"), session=USER, usage=usage)
    assert verdicts(world, fallbacks=("zeta/std",)) == {
        "nova/std": "failed gate.user-explicit",
        "zeta/std": "skipped gate.auth-skip auth",
    }


@pytest.mark.parametrize("request_", [{"one_off": "acme/big"}, {"agent": "strict"}])
def test_one_off_models_and_strict_agents_are_gated_like_others_gate_auth_skip_gate_billing_throttle(request_: dict[str, Any]) -> None:
    agents = {"strict": {"primary": "acme/big", "fallbacks": []}}
    assert first(World(agents=agents, usage={"acme:k1": whole(HOUR, "auth")}), **request_) == "skipped gate.auth-skip auth"
    usage = {"acme:k1": whole(HOUR, "billing", failed_ago=MIN)}
    assert first(World(agents=agents, usage=usage), **request_) == "skipped gate.billing-throttle billing"
    usage = {"acme:k1": whole(HOUR, "billing")}
    assert first(World(agents=agents, usage=usage), **request_) == "failed gate.billing-throttle"


@pytest.mark.parametrize("reason", ["auth", "auth_permanent"])
def test_a_refused_credential_skips_its_provider_at_once_gate_auth_skip(reason: str) -> None:
    """B15 F01: near its end, too; the window's end is what opens it."""
    world = World(usage={"acme:k1": whole(MIN, reason)}, **SAME)  # type: ignore[arg-type]
    assert verdicts(world)["acme/big"] == verdicts(world)["acme/small"] == f"skipped gate.auth-skip {reason}"
    world.now += MIN
    assert first(world) == "failed gate.open"


def test_an_empty_account_is_asked_again_every_five_minutes_by_the_first_only_gate_billing_throttle() -> None:
    """B01 B06: an operator who topped up waits at most so long; siblings share the account."""
    world = World(usage={"acme:k1": whole(5 * HOUR, "billing", failed_ago=5 * MIN - 1)}, **SAME)  # type: ignore[arg-type]
    assert first(world) == "skipped gate.billing-throttle billing"
    world.now += 1
    seen = verdicts(world)
    assert (seen["acme/big"], seen["acme/small"]) == ("failed gate.billing-throttle", "skipped gate.billing-throttle billing")
    world.now += 5 * MIN - 1
    assert first(world, session="other") == "skipped gate.billing-throttle billing"
    world.now += 1
    assert world.run(session="third").calls == ["acme/big@acme:k1"]
    assert world.usage("acme:k1").disabled_until is None


@pytest.mark.parametrize("reason", ["rate_limit", "overloaded", "timeout", None])
def test_the_first_is_probed_near_its_windows_end_gate_primary_probe(reason: str | None) -> None:
    """F01 A17: the 30 s throttle open and at most two minutes left."""
    word = reason or "unknown"
    assert first(World(usage={"acme:k1": whole(2 * MIN + 1, reason)})) == f"skipped gate.primary-probe {word}"
    assert first(World(usage={"acme:k1": whole(2 * MIN, reason)})) == "failed gate.primary-probe"
    assert first(World(usage={"acme:k1": whole(MIN, reason, failed_ago=29_999)})) == f"skipped gate.primary-probe {word}"
    assert first(World(usage={"acme:k1": whole(MIN, reason, failed_ago=30_000)})) == "failed gate.primary-probe"
    # A failure in the future counts as none.
    assert first(World(usage={"acme:k1": whole(MIN, reason, failed_ago=-HOUR)})) == "failed gate.primary-probe"


def test_the_throttle_is_the_providers_whoever_probed_gate_primary_probe() -> None:
    world = World(usage={"acme:k1": whole(MIN, "rate_limit")})
    assert first(world, session="a") == "failed gate.primary-probe"
    world.now += 29_999
    assert first(world, session="b") == "skipped gate.primary-probe rate_limit"
    world.now += 1
    assert first(world, session="c") == "failed gate.primary-probe"


def test_alone_in_its_chain_the_throttle_is_enough_gate_primary_probe() -> None:
    """F02"""
    assert first(World(fallbacks=(), usage={"acme:k1": whole(9 * HOUR, "rate_limit")})) == "failed gate.primary-probe"


def test_a_block_is_asked_near_its_end_or_once_an_hour_gate_primary_probe() -> None:
    """F02: also with nothing else to try."""
    for fallbacks in ((), ("zeta/std",)):
        world = World(fallbacks=fallbacks, usage={"acme:k1": whole(72 * HOUR, "blocked", failed_ago=0)})
        probed = 0
        for _ in range(3 * 60):
            world.now += MIN
            probed += first(world, session=f"s{world.now}") == "failed gate.primary-probe"
        assert probed == 3
    assert first(World(usage={"acme:k1": whole(2 * MIN, "blocked", failed_ago=30_000)})) == "failed gate.primary-probe"


@pytest.mark.parametrize(
    ("reason", "probed"),
    [("rate_limit", True), ("overloaded", True), ("timeout", True), (None, True), ("blocked", False)],
)
def test_a_sibling_has_a_throttle_of_its_own_gate_sibling_probe(reason: str | None, probed: bool) -> None:
    """F03: however far the end; a block is the account's, so no sibling asks."""
    world = World(usage={"acme:k1": whole(9 * HOUR, reason, failed_ago=1)}, **SAME)  # type: ignore[arg-type]
    word = "rate_limit" if reason == "blocked" else reason or "unknown"
    skipped = f"skipped gate.sibling-probe {word}"
    assert verdicts(world)["acme/small"] == ("failed gate.sibling-probe" if probed else skipped)
    world.now += 29_999
    assert verdicts(world, session="b")["acme/small"] == skipped
    # It marks nothing else: the provider's own throttle still counts from the last failure.
    assert world.memory.throttles == {}


def test_a_sibling_without_a_window_is_not_gated_at_all_gate_open_gate_sibling_probe() -> None:
    """F03 A01"""
    turn = World(usage={"acme:k1": scoped(MIN)}, **SAME).run({"acme/big": 429})  # type: ignore[arg-type]
    assert turn.calls == ["acme/big@acme:k1", "acme/small@acme:k1"]
    assert [c.rule for c in turn.ended.candidates] == ["gate.primary-probe", "gate.open", None]


def test_one_probe_a_provider_a_turn_and_the_first_candidates_counts_gate_one_probe_per_provider() -> None:
    """F04: the next turn has its own."""
    usage = {"acme:k1": whole(MIN, "overloaded")}
    world = World(usage=usage, fallbacks=("acme/small", "acme/mini", "zeta/std"))
    seen = verdicts(world)
    assert seen["acme/big"] == "failed gate.primary-probe"
    assert seen["acme/small"] == seen["acme/mini"] == "skipped gate.one-probe-per-provider overloaded"
    world.now += 1_000
    seen = verdicts(world, session="b")
    assert seen["acme/small"] == "failed gate.sibling-probe"
    assert seen["acme/mini"] == "skipped gate.one-probe-per-provider overloaded"


@pytest.mark.parametrize(
    ("usage", "verdict"),
    [
        (whole(2 * MIN, "timeout"), "failed gate.other-provider-probe"),
        (whole(2 * MIN + 1, "timeout"), "skipped gate.other-provider-probe timeout"),
        (whole(MIN, "timeout", failed_ago=1), "skipped gate.other-provider-probe timeout"),
        (whole(MIN, None), "failed gate.other-provider-probe"),
        (whole(MIN, "billing"), "skipped gate.billing-throttle billing"),
        (whole(MIN, "auth"), "skipped gate.auth-skip auth"),
    ],
)
def test_a_cooled_fallback_elsewhere_is_not_hammered_gate_other_provider_probe(usage: UsageStats, verdict: str) -> None:
    assert verdicts(World(usage={"zeta:k1": usage}))["zeta/std"] == verdict


def test_the_reason_is_that_of_who_is_free_soonest_by_the_window_that_ends_last_gate_auth_skip_gate_primary_probe() -> None:
    two = ("acme:k1", "acme:k2", "zeta:k1")
    # k2 is free sooner, so its rate limit speaks, not k1's refusal.
    assert first(World(profiles=two, usage={"acme:k1": whole(HOUR, "auth"), "acme:k2": scoped(HOUR - 1)})).endswith("rate_limit")
    # Of one profile's windows the one that ends last decides.
    both = UsageStats(cooldown_until=T0 + HOUR, cooldown_reason="auth", model_cooldowns={"big": ModelCooldown(T0 + 2 * HOUR, "timeout", 1)})
    assert first(World(usage={"acme:k1": both})) == "skipped gate.primary-probe timeout"
    # Equal ends: auth_permanent, auth, billing, overloaded, timeout, rate_limit, unknown.
    tie = UsageStats(disabled_until=T0 + HOUR, disabled_reason="billing", cooldown_until=T0 + HOUR, cooldown_reason="auth")
    assert first(World(usage={"acme:k1": tie})) == "skipped gate.auth-skip auth"
    tie = UsageStats(cooldown_until=T0 + HOUR, cooldown_reason=None, model_cooldowns={"big": ModelCooldown(T0 + HOUR, "rate_limit")})
    assert first(World(usage={"acme:k1": tie})) == "skipped gate.primary-probe rate_limit"


# --- trials ------------------------------------------------------------------------------------------------------------

ENDED = scoped(-1, failed_ago=31_000)


def test_after_a_windows_end_one_tries_and_the_others_use_another_profile_gate_single_flight() -> None:
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"), usage={"acme:k1": ENDED, "acme:k2": UsageStats(last_used=T0 - 1)})
    assert world.turn("a").calls == ["acme/big@acme:k1"]
    assert world.turn("b").calls == ["acme/big@acme:k2"]


def test_a_failed_trial_is_one_step_not_n_gate_single_flight_window_escalates() -> None:
    world = World(usage={"acme:k1": ENDED})
    trial = world.turn("trial")
    others = [world.turn(f"s{n}") for n in range(20)]
    assert {line for other in others for line in other.lines} == {"<< save zeta/std"}
    trial.answers(429)
    assert world.usage("acme:k1").model_cooldowns["big"] == ModelCooldown(T0 + MIN, "rate_limit", 2)


@pytest.mark.parametrize("how", ["success", "clear", "cancelled", "failed"])
def test_a_trial_ends_with_content_failure_clear_or_cancellation_gate_single_flight(how: str) -> None:
    world = World(fallbacks=(), usage={"acme:k1": ENDED})
    trial, waiting = world.turn("a"), world.turn("b")
    assert waiting.lines == ["<< await acme:k1 for big"]
    match how:
        case "success":
            trial.has_content()
        case "clear":
            world.act(Clear("acme:k1"))  # type: ignore[arg-type]
        case "cancelled":
            trial.is_cancelled()
        case "failed":
            trial.answers(429)
    waiting.trial_ended()
    if how == "failed":
        # It opened a window again: the only candidate of its chain is throttled now.
        assert waiting.outcomes == {"acme/big": "skipped gate.primary-probe rate_limit"}
    else:
        assert waiting.calls == ["acme/big@acme:k1"]


def test_who_waits_for_a_trial_waits_within_its_own_budget_gate_single_flight_attempt_budget() -> None:
    world = World(fallbacks=(), usage={"acme:k1": ENDED})
    world.turn("a")
    waiting = world.turn("b", budget_ms=5_000)
    assert waiting.waiting.limit_ms == 5_000  # type: ignore[union-attr]
    waiting._tell("the budget ended", BudgetOver())
    assert waiting.ended.error is not None
    assert waiting.ended.error.reason == "run_budget_exceeded"


def test_a_trial_taken_while_the_override_was_stored_is_waited_for_by_the_last_gate_single_flight_override_persist_first() -> None:
    world = World(usage={"zeta:k1": scoped(-1, model="std", failed_ago=31_000)})
    turn = world.turn("a").answers(503)
    assert turn.lines[-1] == "<< save zeta/std"
    other = world.turn("b", one_off="zeta/std")
    assert other.calls == ["zeta/std@zeta:k1"]
    assert turn.saved().lines[-1] == "<< await zeta:k1 for std"
    other.has_content().completes()
    turn.trial_ended()
    assert turn.lines[-1] == "<< call zeta/std with zeta:k1"


def test_a_cooldown_probe_is_one_turn_and_one_profile_gate_single_flight_gate_primary_probe() -> None:
    two = ("acme:k1", "acme:k2", "zeta:k1")
    world = World(profiles=two, usage={"acme:k1": whole(MIN, "rate_limit"), "acme:k2": whole(MIN + 1, "rate_limit")})
    turn = world.turn("a")
    assert turn.calls == ["acme/big@acme:k1"]
    assert world.turn("b").lines == ["<< save zeta/std"]
    assert turn.answers(429).lines[-1] == "<< save zeta/std"


# --- 10: the skip cache ------------------------------------------------------------------------------------------------


def skipping(ttl: str = "60000") -> World:
    return World(env={"OPENCLAW_FALLBACK_SKIP_TTL_MS": ttl}, profiles=("acme:k1", "zeta:k1", "zeta:k2", "nova:k1"), exempt=("zeta",))


def test_a_refused_fallback_is_passed_over_until_exactly_then_gate_skip_cache() -> None:
    """K06: per session, never the first, gone with the process."""
    world = skipping()
    answers = {"acme/big": (404, "model not found"), "zeta/std": (401, "invalid api key")}
    world.run(answers)
    assert world.run(answers).outcomes["zeta/std"] == "skipped gate.skip-cache skip_cache"
    assert "zeta/std@zeta:k1" in world.run(answers, session="other").calls
    world.now += 59_999
    assert world.run(answers).outcomes["zeta/std"] == "skipped gate.skip-cache skip_cache"
    world.now += 1
    assert "zeta/std@zeta:k1" in world.run(answers).calls
    assert world.run(answers).outcomes["zeta/std"] == "skipped gate.skip-cache skip_cache"
    world.restart()
    assert "zeta/std@zeta:k1" in world.run(answers).calls
    assert world.run(requested="zeta/std").calls[0] == "zeta/std@zeta:k1"


def test_only_refused_credentials_of_later_candidates_are_kept_gate_skip_cache() -> None:
    world = skipping()
    world.run({"acme/big": (401, "invalid api key"), "zeta/std": 429})
    assert world.memory.skips == {}
    # The last reason counts: a second key that was limited is no refusal of the candidate.
    world.run({"acme/big": 404, "zeta/std@zeta:k1": (401, "invalid api key"), "zeta/std@zeta:k2": 429}, session="b")
    assert world.memory.skips == {}


@pytest.mark.parametrize("ttl", ["", "0", "-5", "1e3", "1000ms", " "])
def test_it_is_off_unless_a_whole_number_says_otherwise_gate_skip_cache(ttl: str) -> None:
    """K04"""
    assert skipping(ttl).settings.skip_ttl_ms is None
    assert (skipping("500").settings.skip_ttl_ms, skipping("9999999").settings.skip_ttl_ms) == (1_000, 600_000)
