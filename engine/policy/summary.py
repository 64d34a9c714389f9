"""Spec 8.1: what a failed turn says: the error, its reader-facing text, and when trying again makes sense. Derived from what was
recorded, nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.domain.ids import ModelRef, ProfileId
from engine.domain.reasons import FailoverReason, SkipReason
from engine.domain.settings import Settings
from engine.domain.snapshot import ProfileState
from engine.domain.turns import FailureEntry, TurnError
from engine.policy.order import ineligible, resolve_order, windowed_last
from engine.policy.pins import pin_for
from engine.policy.windows import active
from engine.policy.world import World

_TEMPORARY = frozenset({FailoverReason.RATE_LIMIT, FailoverReason.OVERLOADED})
_CREDENTIALS = frozenset(
    {
        FailoverReason.AUTH,
        FailoverReason.AUTH_PERMANENT,
        FailoverReason.BILLING,
        SkipReason.NO_CREDENTIALS,
        SkipReason.PINNED_PROFILE_MISSING,
    }
)

_SAYS: dict[str, str] = {
    FailoverReason.AUTH: "the credential was refused: check the key or sign in again (`failover profiles add`)",
    FailoverReason.AUTH_PERMANENT: "the credential was revoked: replace it (`failover profiles add`)",
    FailoverReason.BILLING: "the account is out of credit: top it up, then `failover clear PROFILE --verify`",
    FailoverReason.RATE_LIMIT: "rate-limited",
    FailoverReason.OVERLOADED: "overloaded",
    FailoverReason.TIMEOUT: "the provider did not answer in time, or failed on its side: try again",
    FailoverReason.SERVER_ERROR: "the provider reported an internal error",
    FailoverReason.FORMAT: "the provider rejected the request as invalid: the request must change, not the model",
    FailoverReason.MODEL_NOT_FOUND: "the provider does not know this model: check the model id",
    FailoverReason.SESSION_EXPIRED: "the provider no longer knows this conversation: start a new one",
    FailoverReason.CONTEXT_OVERFLOW: "the prompt is larger than the model's context window: shorten or compact it",
    FailoverReason.EMPTY_RESPONSE: "the provider sent an empty answer",
    FailoverReason.UNCLASSIFIED: "the provider's answer is nothing that can be used: `failover explain SESSION` has its words",
    FailoverReason.UNKNOWN: "the provider's error is unknown: `failover explain SESSION` has its words",
    FailoverReason.NO_ERROR_DETAILS: "the provider reported a failure without details",
    SkipReason.UNKNOWN_PROVIDER: "the provider is not configured (`models.providers`)",
    SkipReason.NO_CREDENTIALS: "no usable credential: add one (`failover profiles add`)",
    SkipReason.OPERATOR_OFF: "taken out of service by an operator (`failover on` brings it back)",
    SkipReason.SKIP_CACHE: "skipped: a moment ago it had no credential that works",
    SkipReason.PINNED_PROFILE_MISSING: "the pinned profile is gone: `failover unpin SESSION` clears the pin",
    SkipReason.DIALECT_UNSUPPORTED: "its dialect cannot express this request",
}

_NO_SECRET = "no key of it can be read: what it refers to is missing, or a sign-in has ended (`failover doctor` says which)"
"""`rotate.dead-secret`: counted as `auth`, but nobody refused anything."""


def entry_error(entry: FailureEntry) -> str:
    """How an entry is named in a summary: the message, else `HTTP <status>`, else the reason."""
    return entry.error or (f"HTTP {entry.status}" if entry.status is not None else entry.reason)


def turn_error(entries: Sequence[FailureEntry], chain: Sequence[ModelRef], settings: Settings, world: World) -> TurnError:
    """The error of a turn in which nothing answered: exactly one entry is itself, more are a FallbackSummaryError."""
    soonest = soonest_expiry(chain, settings, world)
    if len(entries) == 1:
        only = entries[0]
        message = f"{only.provider}/{only.model}: {entry_error(only)} ({only.reason})"
        return TurnError("AttemptError", message, only.reason, soonest, reader_text(entries, soonest, world.now), tuple(entries))
    listed = " | ".join(f"{e.provider}/{e.model}: {entry_error(e)} ({e.reason})" for e in entries)
    reasons = {e.reason for e in entries}
    reason = entries[-1].reason if entries else None
    if len(reasons) == 1:
        reason = reasons.pop()
    return TurnError(
        "FallbackSummaryError",
        f"All models failed ({len(entries)}): {listed}",
        reason,
        soonest,
        reader_text(entries, soonest, world.now),
        tuple(entries),
    )


def soonest_expiry(chain: Sequence[ModelRef], settings: Settings, world: World) -> int | None:
    """`summary.model-aware`: when a candidate of the chain may be free again at the soonest, epoch ms; None: no window says so."""
    found = [until for ref in chain if (until := _candidate_expiry(ref, settings, world)) is not None]
    return min(found, default=None)


def _candidate_expiry(ref: ModelRef, settings: Settings, world: World) -> int | None:
    provider = settings.providers.get(ref.provider)
    if provider is None or provider.keyless or ref.provider in world.off or str(ref) in world.off:
        return None
    pin = pin_for(ref.provider, world)
    pool: tuple[ProfileId, ...]
    if pin.user is not None:
        pool = () if pin.missing or ineligible(pin.user, ref.provider, settings, world) else (pin.user,)
    else:
        pool = resolve_order(ref.provider, settings, world).profiles
    _, cooling = windowed_last((p for p in pool if p not in world.off), ref.model, settings, ref.provider, world)
    limited: list[int] = []
    others: list[int] = []
    for profile, until in cooling:
        windows = active(world.usage[profile], ref.model, world.now, world.wall)
        scoped = all(w.kind is ProfileState.COOLDOWN and w.model == ref.model and w.reason == FailoverReason.RATE_LIMIT for w in windows)
        (limited if scoped else others).append(until)
    ends = ([max(limited)] if limited else []) + ([min(others)] if others else [])
    return min(ends, default=None)


def wait_words(ms: int) -> str:
    """Seconds up to 60, then whole minutes up (spec 8.1)."""
    seconds = max(1, math.ceil(ms / 1000))
    return f"{seconds} s" if seconds <= 60 else f"{math.ceil(seconds / 60)} min"


def reader_text(entries: Sequence[FailureEntry], soonest: int | None, now: int) -> str:
    """All limited: temporary, with the wait if known; any credential trouble in all: what to do; mixed: so per candidate."""
    reasons = {e.reason for e in entries}
    if reasons and reasons <= _TEMPORARY:
        wait = f" Try again in {wait_words(soonest - now)}." if soonest is not None and soonest > now else " Try again shortly."
        return "Every model is rate-limited or overloaded; this is temporary." + wait
    by_candidate = {f"{entry.provider}/{entry.model}": entry for entry in entries}
    lines = [f"{ref}: {_says(entry)}" for ref, entry in by_candidate.items()]
    if reasons and reasons <= _CREDENTIALS:
        return "No model can be used with the stored credentials. " + "; ".join(lines) + "."
    return "; ".join(lines) + "."


def _says(entry: FailureEntry) -> str:
    if entry.rule == "rotate.dead-secret":
        return _NO_SECRET
    return _SAYS.get(entry.reason, entry.reason.replace("_", " "))
