"""Spec section 6: windows, steps and counters of one profile, as pure transitions `UsageStats -> UsageStats`.
Every path that records a failure goes through `after_failure`, every success through `after_success`. No gate decisions here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from engine.domain.reasons import FailoverReason
from engine.domain.settings import HOUR_MS, CooldownSettings
from engine.domain.snapshot import ProfileState
from engine.domain.usage import ModelCooldown, UsageStats

SCOPED = frozenset({FailoverReason.RATE_LIMIT, FailoverReason.TIMEOUT})
"""`window.model-scope`: these cool only the failing model."""

DISABLING = frozenset({FailoverReason.BILLING, FailoverReason.AUTH_PERMANENT})
WINDOWED = SCOPED | DISABLING | {FailoverReason.AUTH, FailoverReason.OVERLOADED}
"""Spec section 5: the reasons that open a window at all."""

MAX_COOLDOWN_MS = 24 * HOUR_MS
MAX_BLOCK_MS = 31 * 24 * HOUR_MS
SUBSCRIPTION_LIMIT = "subscription_limit"


@dataclass(frozen=True, slots=True)
class Window:
    """One window of a profile. kind: cooldown, disabled or blocked. model None: the whole profile. step: 1-based, 0 if unknown.
    An ended one (`until <= now`) says that a trial is due."""

    kind: ProfileState
    until: int
    reason: str
    model: str | None = None
    step: int = 0

    @property
    def gate_reason(self) -> str:
        """R as the gate and `candidates[].reason` name it: a block counts as a rate limit (spec section 7)."""
        return FailoverReason.RATE_LIMIT if self.kind is ProfileState.BLOCKED else self.reason


def applicable(usage: UsageStats, model: str | None) -> list[Window]:
    """The windows that cover this model (None: any model), ended ones included: they are kept until a success, a clear or the next
    failure."""
    found: list[Window] = []
    if usage.cooldown_until:
        found.append(Window(ProfileState.COOLDOWN, usage.cooldown_until, usage.cooldown_reason or "unknown", None, usage.error_count))
    cooled = usage.model_cooldowns
    for scope in cooled if model is None else (model,):
        if (own := cooled.get(scope)) is not None and own.until:
            found.append(Window(ProfileState.COOLDOWN, own.until, own.reason or "unknown", scope, own.error_count))
    if usage.disabled_until:
        step = (usage.disabled_counts or {}).get(usage.disabled_reason or "", 0)
        found.append(Window(ProfileState.DISABLED, usage.disabled_until, usage.disabled_reason or "unknown", None, step))
    if usage.blocked_until:
        found.append(Window(ProfileState.BLOCKED, usage.blocked_until, usage.blocked_reason or SUBSCRIPTION_LIMIT))
    return found


def all_windows(usage: UsageStats) -> list[Window]:
    """Every window in the record, ended ones included."""
    return applicable(usage, None)


def is_active(window: Window, now: int, wall: int) -> bool:
    """A block ends by the wall clock (`window.clock`)."""
    return window.until > (wall if window.kind is ProfileState.BLOCKED else now)


def active(usage: UsageStats, model: str | None, now: int, wall: int) -> list[Window]:
    """The windows that keep the profile from being used for this model now."""
    return [window for window in applicable(usage, model) if is_active(window, now, wall)]


def free_at(usage: UsageStats, model: str | None, now: int, wall: int) -> int:
    """When the last of `active` ends, epoch ms; 0: none is. Looks at every profile of a chain, so it makes no windows."""
    until = 0
    if usage.cooldown_until and usage.cooldown_until > now:
        until = usage.cooldown_until
    if usage.disabled_until and usage.disabled_until > now and usage.disabled_until > until:
        until = usage.disabled_until
    if usage.blocked_until and usage.blocked_until > wall and usage.blocked_until > until:
        until = usage.blocked_until
    scoped = usage.model_cooldowns
    if scoped:
        if model is None:
            until = max([until, *(c.until for c in scoped.values() if c.until > now)])
        elif (own := scoped.get(model)) is not None and own.until > now and own.until > until:
            until = own.until
    return until


def normalised(usage: UsageStats) -> UsageStats:
    """The record as these rules keep it: a top-level cooldown scoped to a model moves to `model_cooldowns`, lending its `errorCount`
    where the record had none (`window.ladder`); `cooldownModel` counts only with rate_limit and timeout. Idempotent."""
    model = usage.cooldown_model
    if model is None:
        return usage
    if usage.cooldown_reason not in SCOPED:
        return replace(usage, cooldown_model=None)
    scoped = dict(usage.model_cooldowns)
    if model not in scoped:
        lent = 0 if scoped else usage.error_count
        scoped[model] = ModelCooldown(usage.cooldown_until or 0, str(usage.cooldown_reason), lent)
    return replace(usage, cooldown_until=None, cooldown_reason=None, cooldown_model=None, model_cooldowns=scoped)


def clamped(usage: UsageStats, now: int, rules: CooldownSettings) -> UsageStats:
    """`window.clamp`, on load: no window beyond its maximum. Idempotent, so it does not slide."""
    usage = normalised(usage)
    changed: dict[str, Any] = {}
    if usage.disabled_until:
        permanent = usage.disabled_reason == FailoverReason.AUTH_PERMANENT
        longest = rules.auth_permanent_max_ms if permanent else rules.billing_max_ms
        failed = usage.last_failure_at
        since = failed if failed is not None and failed <= now else now
        if usage.disabled_until > since + longest:
            changed["disabled_until"] = since + longest
    if usage.cooldown_until and usage.cooldown_until > now + MAX_COOLDOWN_MS:
        changed["cooldown_until"] = now + MAX_COOLDOWN_MS
    if usage.blocked_until and usage.blocked_until > now + MAX_BLOCK_MS:
        changed["blocked_until"] = now + MAX_BLOCK_MS
    late = {m: replace(c, until=now + MAX_COOLDOWN_MS) for m, c in usage.model_cooldowns.items() if c.until > now + MAX_COOLDOWN_MS}
    if late:
        changed["model_cooldowns"] = {**usage.model_cooldowns, **late}
    return replace(usage, **changed) if changed else usage


def after_failure(
    usage: UsageStats,
    reason: FailoverReason,
    model: str,
    now: int,
    rules: CooldownSettings,
    provider: str,
    *,
    hint_until: int | None = None,
    blocked_until: int | None = None,
    wall: int | None = None,
) -> tuple[UsageStats, Window | None]:
    """The record after a failure of (provider, model) on this profile, and the window it opened, None if it opened none.

    While the same window is active nothing of it changes (`window.immutable`); after its end a failure is its next step
    (`window.escalates`), because the record keeps its counts until a success or a long pause (`window.reset`).
    hint_until: the end that the provider stated (`window.hint`), epoch ms. blocked_until: a subscription's reset (`window.blocked`).
    wall: the wall clock, where it is not `now`; blocks end by it (`window.clock`).
    A reason without a window (spec section 5) leaves the record as it was.
    """
    if reason not in WINDOWED:
        return usage, None
    usage = _steps_reset_by_pause(normalised(usage), now, rules)
    before = usage
    counts = {**usage.failure_counts, str(reason): usage.failure_counts.get(reason, 0) + 1}
    usage = replace(usage, failure_counts=counts, last_failure_at=now)
    if blocked_until is not None:
        by = now if wall is None else wall
        return _block(usage, min(blocked_until, by + MAX_BLOCK_MS), by)
    if reason in DISABLING:
        return _disable(usage, before, reason, now, rules, provider)
    hint = min(hint_until, now + MAX_COOLDOWN_MS) if hint_until is not None else 0
    if reason in SCOPED:
        return _cool_model(usage, reason, model, now, rules, hint)
    return _cool_profile(usage, reason, now, rules, hint)


def after_success(usage: UsageStats, model: str) -> UsageStats:
    """`attempt.success`: whole-profile windows and counters go, and the window of the model that answered; other models keep theirs."""
    untouched = UsageStats(last_used=usage.last_used, last_failure_at=usage.last_failure_at)
    others = {m: c for m, c in normalised(usage).model_cooldowns.items() if m != model}
    return replace(untouched, model_cooldowns=others) if others else untouched


def cleared(usage: UsageStats) -> UsageStats:
    """An operator's clear: every window and counter of the profile; `lastUsed` and `lastFailureAt` stay."""
    return UsageStats(last_used=usage.last_used, last_failure_at=usage.last_failure_at)


def trial_due(usage: UsageStats, model: str, now: int, wall: int) -> Window | None:
    """`gate.single-flight`: an applicable window has ended, and neither success nor clear came since: the one that ended last."""
    ended = [w for w in applicable(usage, model) if w.until <= (wall if w.kind is ProfileState.BLOCKED else now)]
    return max(ended, key=lambda w: w.until) if ended else None


def _steps_reset_by_pause(usage: UsageStats, now: int, rules: CooldownSettings) -> UsageStats:
    """`window.reset`: more than `failureWindowHours` since the last failure resets the steps; active windows keep their end."""
    if usage.last_failure_at is None or now - usage.last_failure_at <= rules.failure_window_ms:
        return usage
    scoped = {m: replace(c, error_count=0) for m, c in usage.model_cooldowns.items()}
    return replace(usage, error_count=0, failure_counts={}, disabled_counts={}, model_cooldowns=scoped)


def _step(n: int, rules: CooldownSettings) -> int:
    ladder = rules.transient_backoff_ms
    return ladder[min(n, len(ladder) - 1)]


def _block(usage: UsageStats, until: int, now: int) -> tuple[UsageStats, Window | None]:
    """`window.blocked`: that exact instant; a new statement may bring the end forward, never back."""
    opened = not usage.blocked_until or usage.blocked_until <= now
    if not opened and usage.blocked_until is not None:
        until = min(until, usage.blocked_until)
    usage = replace(usage, blocked_until=until, blocked_reason=SUBSCRIPTION_LIMIT, blocked_source="provider")
    return usage, Window(ProfileState.BLOCKED, until, SUBSCRIPTION_LIMIT) if opened else None


def _disable(
    usage: UsageStats, before: UsageStats, reason: FailoverReason, now: int, rules: CooldownSettings, provider: str
) -> tuple[UsageStats, Window | None]:
    """`window.disabled`: doubling, at most the maximum; one slot, and an active one stays as it is."""
    if usage.disabled_until and usage.disabled_until > now:
        return usage, None
    opened = dict(before.disabled_counts if before.disabled_counts is not None else _disabling_only(before))
    n = opened.get(reason, 0)
    if reason is FailoverReason.BILLING:
        base, longest = rules.billing_backoff_ms_by_provider.get(provider, rules.billing_backoff_ms), rules.billing_max_ms
    else:
        base, longest = rules.auth_permanent_backoff_ms, rules.auth_permanent_max_ms
    # 2**n would grow without bound in a record of many failures; past the maximum it no longer matters.
    until = now + min(base * 2 ** min(n, 40), longest)
    opened[str(reason)] = n + 1
    usage = replace(usage, disabled_until=until, disabled_reason=str(reason), disabled_counts=opened)
    return usage, Window(ProfileState.DISABLED, until, str(reason), None, n + 1)


def _disabling_only(usage: UsageStats) -> dict[str, int]:
    """A record without `disabledCounts` starts from `failureCounts`."""
    return {reason: n for reason, n in usage.failure_counts.items() if reason in DISABLING}


def _cool_model(
    usage: UsageStats, reason: FailoverReason, model: str, now: int, rules: CooldownSettings, hint: int
) -> tuple[UsageStats, Window | None]:
    known = usage.model_cooldowns.get(model)
    if known is not None and known.until > now:
        return usage, None
    n = known.error_count if known is not None else 0
    until = max(now + _step(n, rules), hint)
    scoped = {m: c for m, c in usage.model_cooldowns.items() if m != model}
    # The latest one stands last: exports show it as `cooldownModel`.
    scoped[model] = ModelCooldown(until, str(reason), n + 1)
    usage = replace(usage, model_cooldowns=scoped, error_count=usage.error_count + 1)
    return usage, Window(ProfileState.COOLDOWN, until, str(reason), model, n + 1)


def _cool_profile(
    usage: UsageStats, reason: FailoverReason, now: int, rules: CooldownSettings, hint: int
) -> tuple[UsageStats, Window | None]:
    if usage.cooldown_until and usage.cooldown_until > now:
        return usage, None
    if reason is FailoverReason.OVERLOADED:
        n, counted = 0, usage.error_count
    else:
        n, counted = usage.error_count, usage.error_count + 1
    until = max(now + _step(n, rules), hint)
    usage = replace(usage, cooldown_until=until, cooldown_reason=str(reason), cooldown_model=None, error_count=counted)
    return usage, Window(ProfileState.COOLDOWN, until, str(reason), None, n + 1)
