"""Windows, steps and counters (spec section 6, `engine.policy.windows`, `engine.policy.hints`)."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.domain.export import usage_from_json, usage_json
from engine.domain.failure import Failure
from engine.domain.ids import ModelRef
from engine.domain.reasons import FailoverReason as Why
from engine.domain.settings import HOUR_MS, MINUTE_MS, CooldownSettings
from engine.domain.snapshot import ProfileState
from engine.domain.usage import NEVER_USED, ModelCooldown, UsageStats
from engine.policy.failures import judge, record
from engine.policy.hints import blocked_until, stated_wait_ms
from engine.policy.windows import (
    MAX_BLOCK_MS,
    MAX_COOLDOWN_MS,
    WINDOWED,
    active,
    after_failure,
    after_success,
    all_windows,
    clamped,
    cleared,
    free_at,
    normalised,
)
from tests.policy.transcript import T0, World

RULES = CooldownSettings()
DAY = 24 * HOUR_MS


def failed(usage: UsageStats, why: Why, now: int, model: str = "big", **more: Any) -> UsageStats:
    return after_failure(usage, why, model, now, RULES, "acme", **more)[0]


def ends(usage: UsageStats) -> dict[tuple[str, str | None], int]:
    return {(str(w.kind), w.model): w.until for w in all_windows(usage)}


def left(usage: UsageStats, now: int) -> int:
    (window,) = active(usage, None, now, now)
    return window.until - now


@pytest.mark.parametrize("why", [Why.RATE_LIMIT, Why.TIMEOUT, Why.AUTH])
def test_the_ladder_goes_up_a_step_a_failure_after_its_end_window_ladder_window_escalates(why: Why) -> None:
    """A09: expiry alone resets nothing."""
    usage, now, steps = NEVER_USED, T0, []
    for _ in range(5):
        usage = failed(usage, why, now)
        steps.append(left(usage, now))
        now += steps[-1]
    assert steps == [30_000, MINUTE_MS, 5 * MINUTE_MS, 5 * MINUTE_MS, 5 * MINUTE_MS]


def test_an_older_ladder_can_be_configured_window_ladder() -> None:
    usage, now, steps = NEVER_USED, T0, []
    older = CooldownSettings(transient_backoff_ms=(MINUTE_MS, 5 * MINUTE_MS, 25 * MINUTE_MS, 60 * MINUTE_MS))
    for _ in range(5):
        usage, window = after_failure(usage, Why.RATE_LIMIT, "big", now, older, "acme")
        assert window is not None
        steps.append((window.until - now) // MINUTE_MS)
        now = window.until
    assert steps == [1, 5, 25, 60, 60]


def test_each_model_has_a_step_of_its_own_and_the_profile_counts_them_all_window_ladder_window_model_scope() -> None:
    usage = failed(NEVER_USED, Why.RATE_LIMIT, T0, "big")
    usage = failed(usage, Why.TIMEOUT, T0, "small")
    usage = failed(usage, Why.RATE_LIMIT, T0 + 40_000, "big")
    assert {m: c.error_count for m, c in usage.model_cooldowns.items()} == {"small": 1, "big": 2}
    assert usage.error_count == 3
    # A cooldown of the whole profile goes by what the profile counted.
    usage = failed(usage, Why.AUTH, T0 + 40_000)
    assert ends(usage)[("cooldown", None)] == T0 + 40_000 + 5 * MINUTE_MS


def test_overloaded_is_always_the_first_step_and_counts_for_nobody_window_ladder() -> None:
    """A10"""
    usage, now = failed(NEVER_USED, Why.RATE_LIMIT, T0), T0 + 40_000
    for _ in range(5):
        usage = failed(usage, Why.OVERLOADED, now)
        assert ends(usage)[("cooldown", None)] == now + 30_000
        now += 31_000
    assert usage.error_count == 1


def test_an_older_record_lends_its_count_to_its_model_window_ladder() -> None:
    old = UsageStats(cooldown_until=T0 - 1, cooldown_reason="rate_limit", cooldown_model="big", error_count=2, last_failure_at=T0 - 9_000)
    assert left(failed(old, Why.RATE_LIMIT, T0), T0) == 5 * MINUTE_MS
    assert normalised(normalised(old)) == normalised(old)


def test_billing_doubles_from_its_base_to_its_maximum_window_disabled() -> None:
    usage, now, hours = NEVER_USED, T0, []
    for _ in range(5):
        usage = failed(usage, Why.BILLING, now)
        hours.append(left(usage, now) / HOUR_MS)
        now += left(usage, now)
        usage = replace(usage, last_failure_at=now)
    assert hours == [5, 10, 20, 24, 24]
    usage, minutes = NEVER_USED, []
    for _ in range(4):
        usage = failed(usage, Why.AUTH_PERMANENT, now)
        minutes.append(left(usage, now) / MINUTE_MS)
        now += left(usage, now)
    assert minutes == [10, 20, 40, 60]


def test_each_counts_its_own_and_the_maximum_beats_a_larger_base_window_disabled() -> None:
    usage = failed(NEVER_USED, Why.BILLING, T0)
    later = T0 + 6 * HOUR_MS
    usage = failed(usage, Why.AUTH_PERMANENT, later)
    assert left(usage, later) == 10 * MINUTE_MS
    assert usage.disabled_counts == {"billing": 1, "auth_permanent": 1}
    large = CooldownSettings(billing_backoff_ms_by_provider={"acme": 90 * HOUR_MS})
    _, window = after_failure(NEVER_USED, Why.BILLING, "big", T0, large, "acme")
    assert window is not None
    assert window.until == T0 + 24 * HOUR_MS
    _other, window = after_failure(NEVER_USED, Why.BILLING, "big", T0, large, "zeta")
    assert window is not None
    assert window.until == T0 + 5 * HOUR_MS


def test_a_record_without_disabled_counts_starts_from_its_failures_window_disabled() -> None:
    old = UsageStats(failure_counts={"billing": 1, "rate_limit": 9}, last_failure_at=T0 - HOUR_MS)
    assert left(failed(old, Why.BILLING, T0), T0) == 10 * HOUR_MS


def test_one_slot_and_an_active_one_stays_reason_included_window_disabled_window_immutable() -> None:
    usage = failed(NEVER_USED, Why.BILLING, T0)
    again = failed(usage, Why.AUTH_PERMANENT, T0 + 1)
    assert (ends(again), again.disabled_reason) == (ends(usage), "billing")


@pytest.mark.parametrize("why", sorted(WINDOWED))
def test_a_burst_is_one_step_and_moves_nothing_window_immutable(why: Why) -> None:
    """A07: fifty failures in one window, hints included; only `failureCounts` grows."""
    first = failed(NEVER_USED, why, T0)
    usage = first
    for n in range(1, 50):
        usage = failed(usage, why, T0 + n, hint_until=T0 + 20 * HOUR_MS)
    assert ends(usage) == ends(first)
    assert usage.error_count == first.error_count
    assert usage.failure_counts == {str(why): 50}
    assert left(failed(NEVER_USED, why, T0), T0) == left(first, T0)


def test_the_reason_of_a_window_is_that_of_the_failure_that_opened_it_window_immutable() -> None:
    usage = failed(failed(NEVER_USED, Why.AUTH, T0), Why.OVERLOADED, T0 + 1)
    assert usage.cooldown_reason == "auth"
    usage = failed(failed(NEVER_USED, Why.TIMEOUT, T0), Why.RATE_LIMIT, T0 + 1)
    assert usage.model_cooldowns["big"].reason == "timeout"


def test_a_success_and_a_long_pause_start_again_at_the_first_step_window_reset() -> None:
    """A09"""
    usage = failed(failed(NEVER_USED, Why.RATE_LIMIT, T0), Why.RATE_LIMIT, T0 + 40_000)
    assert left(failed(after_success(usage, "big"), Why.RATE_LIMIT, T0 + 500_000), T0 + 500_000) == 30_000
    at_the_edge, over = T0 + 40_000 + DAY, T0 + 40_001 + DAY
    assert left(failed(usage, Why.RATE_LIMIT, at_the_edge), at_the_edge) == 5 * MINUTE_MS
    assert left(failed(usage, Why.RATE_LIMIT, over), over) == 30_000
    # Billing alike, and a window that is still active keeps its end.
    usage = failed(NEVER_USED, Why.BILLING, T0, hint_until=None)
    assert left(failed(usage, Why.BILLING, T0 + DAY + 1), T0 + DAY + 1) == 5 * HOUR_MS
    blocked = failed(NEVER_USED, Why.RATE_LIMIT, T0, blocked_until=T0 + 3 * DAY)
    assert failed(blocked, Why.TIMEOUT, T0 + 2 * DAY).blocked_until == T0 + 3 * DAY


def test_n_models_failing_never_block_another_one_window_model_scope() -> None:
    """A01 A04 A05"""
    usage = NEVER_USED
    for n in range(20):
        usage = failed(usage, Why.RATE_LIMIT, T0 + n, f"m{n}")
    assert len(active(usage, None, T0 + 50, T0 + 50)) == 20
    assert active(usage, "another", T0 + 50, T0 + 50) == []
    for why in (Why.AUTH, Why.OVERLOADED, Why.BILLING, Why.AUTH_PERMANENT):
        assert active(failed(NEVER_USED, why, T0), "another", T0 + 1, T0 + 1)
    exported = usage_json(usage, T0 + 50)
    assert exported["cooldownModel"] == "m19"
    assert usage_from_json(json.loads(json.dumps(exported))).model_cooldowns["m0"].error_count == 1


def test_windows_stand_beside_each_other_window_model_scope_window_disabled() -> None:
    usage = failed(NEVER_USED, Why.AUTH, T0)
    usage = failed(usage, Why.RATE_LIMIT, T0)
    usage = failed(usage, Why.BILLING, T0)
    usage = failed(usage, Why.RATE_LIMIT, T0, blocked_until=T0 + DAY)
    assert set(ends(usage)) == {("cooldown", None), ("cooldown", "big"), ("disabled", None), ("blocked", None)}


def test_a_subscriptions_reset_is_that_very_instant_and_may_come_forward_window_blocked() -> None:
    usage = failed(NEVER_USED, Why.RATE_LIMIT, T0, blocked_until=T0 + 7_200_123)
    assert (usage.blocked_until, usage.blocked_reason, usage.blocked_source) == (T0 + 7_200_123, "subscription_limit", "provider")
    assert failed(usage, Why.RATE_LIMIT, T0 + 1, blocked_until=T0 + DAY).blocked_until == T0 + 7_200_123
    assert failed(usage, Why.RATE_LIMIT, T0 + 1, blocked_until=T0 + 60_000).blocked_until == T0 + 60_000
    assert failed(NEVER_USED, Why.RATE_LIMIT, T0, blocked_until=T0 + 400 * DAY).blocked_until == T0 + MAX_BLOCK_MS


def limit(**fields: object) -> Failure:
    return Failure(status=429, body=json.dumps({"error": {"type": "usage_limit_reached", "message": "limit", **fields}}))


@pytest.mark.parametrize(
    ("fields", "until"),
    [
        ({"resets_in_seconds": 7200}, T0 + 7_200_000),
        ({"resets_at": T0 // 1000 + 60}, T0 // 1000 * 1000 + 60_000),
        ({"resets_at": T0 + 60_000}, T0 + 60_000),
        ({"resets_at": T0 - 1}, None),
        ({"resets_in_seconds": -5}, None),
        ({"resets_in_seconds": "soon"}, None),
        ({"resets_at": True}, None),
        ({}, None),
    ],
)
def test_what_a_subscription_states_window_blocked(fields: dict[str, object], until: int | None) -> None:
    assert blocked_until(limit(**fields), T0) == until


def test_the_next_profile_is_tried_and_once_past_it_is_first_choice_again_window_blocked() -> None:
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"), auth={"order": {"acme": ["acme:k1", "acme:k2"]}})
    assert world.run({"acme/big@acme:k1": limit(resets_in_seconds=7200)}).calls == ["acme/big@acme:k1", "acme/big@acme:k2"]
    world.now += 7_200_000
    assert world.run(session="new").calls == ["acme/big@acme:k1"]


DATE = format_datetime(datetime.fromtimestamp(T0 / 1000 + 90, UTC), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "body", "wait"),
    [
        ({"retry-after": "7"}, {}, 7_000),
        ({"retry-after": " 1.5 "}, {}, 1_500),
        ({"retry-after-ms": "250", "retry-after": "90"}, {}, 250),
        ({"retry-after": DATE}, {}, 90_000),
        ({}, {"retry_after": 12}, 12_000),
        ({}, {"retry_after_ms": 12}, 12),
        ({}, {"details": [{"retryDelay": "34s"}]}, 34_000),
        ({"retry-after": "-1"}, {}, None),
        ({"retry-after": "nan"}, {}, None),
        ({"retry-after": "inf"}, {}, None),
        ({"retry-after": "1e9"}, {}, None),
        ({"retry-after": "0"}, {}, None),
        ({"retry-after": "٣"}, {}, None),
        ({"retry-after": "Wed, 01 Jan 2020 00:00:00 GMT"}, {}, None),
        ({"retry-after": "Wed, 99 Foo 2020"}, {}, None),
        ({}, {"retry_after": math.nan}, None),
        ({}, {"retry_after": math.inf}, None),
        ({}, {"retry_after": 10**400}, (1 << 62) * 1000),
        ({}, {"retry_after": [1]}, None),
    ],
)
def test_where_a_hint_is_read_and_what_is_none_window_hint(headers: dict[str, str], body: dict[str, object], wait: int | None) -> None:
    """C01"""
    assert stated_wait_ms(Failure(status=429, headers=headers, body=json.dumps({"error": body})), T0) == wait


@given(st.text(max_size=40), st.text(max_size=60))
def test_no_hint_ever_raises_window_hint(header: str, body: str) -> None:
    for failure in (
        Failure(headers={"retry-after": header, "retry-after-ms": header}, body=body),
        limit(resets_at=header, retry_after=body),
    ):
        wait = stated_wait_ms(failure, T0)
        assert wait is None or wait > 0
        blocked_until(failure, T0)


def test_a_cooldown_ends_at_the_later_of_ladder_and_hint_at_most_a_day_away_window_hint() -> None:
    """C01: and a long hint is no further step."""
    for why in (Why.RATE_LIMIT, Why.TIMEOUT, Why.OVERLOADED, Why.AUTH):
        assert left(failed(NEVER_USED, why, T0, hint_until=T0 + 7_000), T0) == 30_000
        usage = failed(NEVER_USED, why, T0, hint_until=T0 + 5_400_000)
        assert left(usage, T0) == 5_400_000
        assert left(failed(NEVER_USED, why, T0, hint_until=T0 + 90 * DAY), T0) == MAX_COOLDOWN_MS
    after = T0 + 5_400_001
    assert left(failed(failed(NEVER_USED, Why.RATE_LIMIT, T0, hint_until=T0 + 5_400_000), Why.RATE_LIMIT, after), after) == MINUTE_MS
    assert left(failed(NEVER_USED, Why.BILLING, T0, hint_until=T0 + 7_000), T0) == 5 * HOUR_MS


def test_nothing_outlives_its_maximum_window_clamp() -> None:
    far = T0 + 999 * DAY
    usage = UsageStats(
        cooldown_until=far,
        disabled_until=far,
        disabled_reason="billing",
        blocked_until=far,
        last_failure_at=T0 - HOUR_MS,
        model_cooldowns={"big": ModelCooldown(far, "rate_limit", 1), "small": ModelCooldown(T0 + 1, "timeout", 1)},
    )
    within = clamped(usage, T0, RULES)
    assert ends(within) == {
        ("cooldown", None): T0 + MAX_COOLDOWN_MS,
        ("cooldown", "big"): T0 + MAX_COOLDOWN_MS,
        ("cooldown", "small"): T0 + 1,
        ("disabled", None): T0 - HOUR_MS + 24 * HOUR_MS,
        ("blocked", None): T0 + MAX_BLOCK_MS,
    }
    for failed_at in (None, T0 + DAY):
        assert clamped(replace(usage, last_failure_at=failed_at), T0, RULES).disabled_until == T0 + 24 * HOUR_MS
    assert clamped(replace(usage, disabled_reason="auth_permanent"), T0, RULES).disabled_until == T0


STAMPS = st.none() | st.integers(T0 - 40 * DAY, T0 + 40 * DAY)
WHYS = st.sampled_from(sorted(WINDOWED))
RECORDS = st.builds(
    UsageStats,
    last_used=STAMPS,
    cooldown_until=STAMPS,
    cooldown_reason=st.none() | WHYS.map(str),
    cooldown_model=st.none() | st.sampled_from(("big", "small")),
    disabled_until=STAMPS,
    disabled_reason=st.none() | st.sampled_from(("billing", "auth_permanent")),
    blocked_until=STAMPS,
    error_count=st.integers(0, 9),
    failure_counts=st.dictionaries(WHYS.map(str), st.integers(1, 60), max_size=3),
    last_failure_at=STAMPS,
    model_cooldowns=st.dictionaries(
        st.sampled_from(("big", "small", "mini")), st.builds(ModelCooldown, st.integers(T0 - DAY, T0 + 40 * DAY), WHYS.map(str)), max_size=3
    ),
    disabled_counts=st.none() | st.dictionaries(st.sampled_from(("billing", "auth_permanent")), st.integers(1, 90), max_size=2),
)


@given(RECORDS, st.integers(0, 10 * DAY))
def test_clamping_again_changes_nothing_window_clamp(usage: UsageStats, later: int) -> None:
    once = clamped(usage, T0, RULES)
    assert clamped(once, T0, RULES) == once
    # Nor does it slide when the process starts again later: an end never moves back.
    again = ends(clamped(once, T0 + later, RULES))
    assert all(again[place] <= until for place, until in ends(once).items())


@given(RECORDS, WHYS, st.sampled_from(("big", "small", "new")), st.none() | st.integers(T0 + 1, T0 + 90 * DAY))
def test_a_failure_never_moves_an_active_window_window_immutable_window_blocked(
    usage: UsageStats, why: Why, model: str, until: int | None
) -> None:
    """A07 A15: whatever the record, whatever the failure; a block alone may come forward."""
    before = normalised(usage)
    block = until if why is Why.RATE_LIMIT else None
    after, opened = after_failure(before, why, model, T0, RULES, "acme", hint_until=until, blocked_until=block)
    for window in active(before, None, T0, T0):
        now = ends(after)[(str(window.kind), window.model)]
        assert now <= window.until if window.kind is ProfileState.BLOCKED else now == window.until
    assert after.last_failure_at == T0
    if opened is not None:
        assert opened.until > T0
        assert opened.until - T0 <= MAX_BLOCK_MS
    # A reset by a long pause forgets old counts; nothing else does.
    assert after.failure_counts[str(why)] >= 1


@given(RECORDS, st.sampled_from(("big", "small", "new")))
def test_a_success_leaves_stamps_and_other_models_only_attempt_success(usage: UsageStats, model: str) -> None:
    after = after_success(usage, model)
    others = {m: c for m, c in normalised(usage).model_cooldowns.items() if m != model}
    assert after == UsageStats(last_used=usage.last_used, last_failure_at=usage.last_failure_at, model_cooldowns=others)
    assert cleared(usage) == UsageStats(last_used=usage.last_used, last_failure_at=usage.last_failure_at)


@given(RECORDS, st.sampled_from(("big", "new", None)), st.integers(-DAY, DAY))
def test_when_a_profile_is_free_is_the_end_of_its_last_window_order_windowed_last(usage: UsageStats, model: str | None, jump: int) -> None:
    usage = normalised(usage)
    assert free_at(usage, model, T0, T0 + jump) == max((w.until for w in active(usage, model, T0, T0 + jump)), default=0)


@given(RECORDS, st.integers(-3 * DAY, 3 * DAY))
def test_only_a_block_ends_by_the_wall_clock_window_clock(usage: UsageStats, jump: int) -> None:
    """Setting the wall clock neither freezes nor ends a ladder's window; what a provider stated is an instant of the wall clock."""
    usage = normalised(usage)
    still, moved = active(usage, None, T0, T0), active(usage, None, T0, T0 + jump)
    assert [w for w in still if w.kind is not ProfileState.BLOCKED] == [w for w in moved if w.kind is not ProfileState.BLOCKED]
    blocked = [w for w in moved if w.kind is ProfileState.BLOCKED]
    assert bool(blocked) == bool(usage.blocked_until and usage.blocked_until > T0 + jump)


def test_what_a_provider_states_is_counted_from_the_wall_clock_window_clock_window_hint() -> None:
    world, wall = World(), T0 + HOUR_MS
    big = ModelRef("acme", "big")
    in_90_s = format_datetime(datetime.fromtimestamp(wall / 1000 + 90, UTC), usegmt=True)
    said = judge(Failure(status=429, body='{"error": {"message": "rate limit"}}', headers={"retry-after": in_90_s}), big, None, "gate.open")
    usage, _ = record(NEVER_USED, said, big, world.settings, T0, wall)
    assert usage.model_cooldowns["big"].until == T0 + 90_000
    usage, _ = record(NEVER_USED, judge(limit(resets_in_seconds=60), big, None, "gate.open"), big, world.settings, T0, wall)
    assert usage.blocked_until == wall + 60_000


def test_an_exempt_provider_has_no_windows_stored_ones_included_window_model_scope_gate_open() -> None:
    cooling = UsageStats(disabled_until=T0 + DAY, disabled_reason="billing", last_failure_at=T0 - 1)
    world = World(usage={"acme:k1": cooling}, exempt=("acme",))
    assert world.run({"acme/big": 429}).calls[0] == "acme/big@acme:k1"
    assert world.usage("acme:k1") == replace(cooling, last_used=T0)
