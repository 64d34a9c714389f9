"""The status table of failed turns (spec/gateway.md, "What comes back"): `TurnResult` -> status, headers and a body in the caller's
dialect. Pure. What a client reads here is a reason, a wait and a turn id: no profile, no path, no part of a key."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.domain.failure import Failure
from engine.domain.ids import ModelRef
from engine.domain.reasons import FailoverReason, SkipReason
from engine.domain.settings import Settings
from engine.domain.turns import FailureEntry, TurnOutcome, TurnResult
from engine.gateway.dialects.dialect import Dialect
from engine.gateway.reply import Reply, masked
from engine.policy.classify import never_connected
from engine.providers.headers import passed_down

LIMITED: frozenset[str] = frozenset({FailoverReason.RATE_LIMIT, FailoverReason.OVERLOADED})
DEAD_CREDENTIALS: frozenset[str] = frozenset(
    {
        FailoverReason.AUTH,
        FailoverReason.AUTH_PERMANENT,
        FailoverReason.BILLING,
        SkipReason.NO_CREDENTIALS,
        SkipReason.PINNED_PROFILE_MISSING,
    }
)
UNKNOWN_MODEL: frozenset[str] = frozenset({FailoverReason.MODEL_NOT_FOUND, SkipReason.UNKNOWN_PROVIDER})
STOPPING: frozenset[str] = frozenset({FailoverReason.FORMAT, FailoverReason.CONTEXT_OVERFLOW})

UNSUPPORTED = "dialect_unsupported"

NO_RETRY = {"x-should-retry": "false"}
"""Else an SDK multiplies the attempts that the engine has made already."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row of the table, filled in. body: an upstream's, to be passed on. candidates: told in the error."""

    status: int
    code: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    candidates: Sequence[Mapping[str, str]] = ()


def failed_reply(
    result: TurnResult, dialect: Dialect, settings: Settings, now_ms: int, mask: Callable[[str], str], cannot: str = ""
) -> Reply:
    """now_ms: of the engine's clock. mask: takes secrets out of what an upstream said. cannot: what could not be expressed elsewhere."""
    found = verdict(result, dialect, settings, now_ms)
    if cannot and found.code == UNSUPPORTED:
        found = replace(found, message=f"{found.message} What stands in the way: {cannot}.")
    reason = result.error.reason if result.error is not None else None
    headers = {**masked(found.headers, mask), "x-failover-turn": result.turn, "x-failover-attempts": str(len(result.attempts))}
    headers["x-failover-selected"] = str(result.selected)
    if reason is not None:
        headers["x-failover-reason"] = reason
    if result.outcome is not TurnOutcome.KILLED:
        headers.update(NO_RETRY)
    if found.body is not None:
        return Reply(found.status, mask(found.body).encode("utf-8", "replace"), headers)
    details: dict[str, object] = {"reason": reason, "turn": result.turn}
    if "retry-after" in found.headers:
        details["retry_after"] = found.headers["retry-after"]
    if found.candidates:
        details["candidates"] = found.candidates
    return Reply(found.status, dialect.error(found.status, found.code, mask(found.message), details), headers)


def verdict(result: TurnResult, dialect: Dialect, settings: Settings, now_ms: int) -> Verdict:
    """The first row that applies."""
    error = result.error
    if result.outcome is TurnOutcome.KILLED:
        return Verdict(503, "gateway_stopping", "The gateway was stopped during this request. Send it again.", {"retry-after": "1"})
    if result.outcome is TurnOutcome.ABORTED:
        return Verdict(499, "aborted", "The request was cancelled by its caller.")
    if error is None or error.type == "InternalError":
        return Verdict(500, "internal_error", error.text if error is not None else "The turn ended without an answer and without a reason.")
    if error.type == "BudgetExceeded":
        return Verdict(504, "run_budget_exceeded", error.text)
    entries = error.attempts
    if not entries:
        return Verdict(503, error.reason or "all_models_failed", error.text)
    last = entries[-1]
    if not last.skipped and (last.reason in STOPPING or len(result.chain) == 1):
        return _as_upstream(result, last, dialect, settings, now_ms, error.text)
    by_candidate = {ModelRef(entry.provider, entry.model): entry.reason for entry in entries}
    reasons = frozenset(by_candidate.values())
    if reasons <= LIMITED:
        return Verdict(429, "all_models_rate_limited", error.text, {"retry-after": str(_wait_s(result, now_ms))})
    if reasons <= DEAD_CREDENTIALS:
        return Verdict(502, "upstream_credentials_exhausted", error.text)
    if reasons <= UNKNOWN_MODEL:
        return Verdict(404, "model_not_found", error.text)
    if reasons <= {SkipReason.DIALECT_UNSUPPORTED}:
        return Verdict(400, UNSUPPORTED, error.text)
    listed = [{"model": str(ref), "reason": reason} for ref, reason in by_candidate.items()]
    return Verdict(503, "all_models_failed", error.text, candidates=listed)


def _as_upstream(result: TurnResult, entry: FailureEntry, dialect: Dialect, settings: Settings, now_ms: int, text: str) -> Verdict:
    """The upstream's own error; one that had no status of its own gets a gateway's."""
    headers = passed_down(result.last_headers)
    status = entry.status
    if status is None or not 400 <= status <= 599:
        connected = not never_connected(Failure(code=entry.code, message=entry.error))
        timed_out = entry.reason == FailoverReason.TIMEOUT and status is None and connected
        return Verdict(504 if timed_out else 502, entry.reason, text, headers)
    if status == 429 and "retry-after" not in headers:
        headers["retry-after"] = str(_wait_s(result, now_ms))
    ref, body = result.last_failure_ref, result.last_body
    provider = settings.providers.get(ref.provider) if ref is not None else None
    if provider is not None and body is not None and provider.api == dialect.api and dialect.is_error(body):
        return Verdict(status, entry.reason, text, headers, body=body)
    return Verdict(status, entry.reason, entry.error or text, headers)


def _wait_s(result: TurnResult, now_ms: int) -> int:
    """Whole seconds, at least 1: until the soonest candidate is free, else what the last upstream said."""
    soonest = result.error.soonest_cooldown_expiry if result.error is not None else None
    if soonest is not None:
        return max(1, math.ceil((soonest - now_ms) / 1000))
    said = result.last_headers.get("retry-after", "")
    return max(1, int(said)) if said.isascii() and said.isdecimal() and len(said) < 9 else 1
