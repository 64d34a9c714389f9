"""Spec section 5: from a failed attempt to a reason, an entry, and what it does: rotate, open a window, advance or stop."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.domain.failure import Failure
from engine.domain.ids import ModelRef, ProfileId
from engine.domain.reasons import FailoverReason
from engine.domain.settings import Settings
from engine.domain.turns import FailureEntry
from engine.domain.usage import UsageStats
from engine.policy.classify import describe, examine, never_connected
from engine.policy.hints import blocked_until, stated_wait_ms
from engine.policy.windows import WINDOWED, Window, after_failure

ROTATING = frozenset(
    {
        FailoverReason.AUTH,
        FailoverReason.AUTH_PERMANENT,
        FailoverReason.BILLING,
        FailoverReason.RATE_LIMIT,
        FailoverReason.OVERLOADED,
        FailoverReason.TIMEOUT,
    }
)
STOPPING = frozenset({FailoverReason.FORMAT, FailoverReason.CONTEXT_OVERFLOW})
"""`walk.stop`: reported as it is. No repair of a request exists, so there is nothing that `allowFormatRetry` could try again with: a
`format` failure is one call."""

_EXPIRED_TOKEN = re.compile(r"expired", re.IGNORECASE)
_DEAD_LOGIN = re.compile(r"invalid_grant|revoked|reused|sign in again", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Judged:
    """A failed attempt, judged. rotates: other profiles of the candidate may be tried. healthy: it says nothing about the credential."""

    entry: FailureEntry
    reason: FailoverReason
    rotates: bool
    healthy: bool
    failure: Failure


def judge(failure: Failure, ref: ModelRef, profile: ProfileId | None, rule: str) -> Judged:
    """`classify`, then the rows of section 5. A failure that our caller's own limits caused is a timeout without consequences
    (`attempt.caller-fault`)."""
    found, said = examine(failure, ref.provider)
    if failure.caller_fault:
        reason = FailoverReason.TIMEOUT
    elif found.reason is not None:
        reason = found.reason
    else:
        reason = FailoverReason.UNCLASSIFIED if said.message or said.status is not None else FailoverReason.EMPTY_RESPONSE
    return _judged(failure, reason, ref, profile, rule, said.status, said.code, said.message)


def judge_empty(ref: ModelRef, profile: ProfileId | None, rule: str) -> Judged:
    """An answer with nothing usable in it: `empty_response`, which says nothing about the credential."""
    return _judged(Failure(), FailoverReason.EMPTY_RESPONSE, ref, profile, rule, None, None, None)


def judge_refresh(failure: Failure, ref: ModelRef, profile: ProfileId, rule: str) -> Judged:
    """A token refresh that failed (section 11): `auth_permanent` when the text says the login is dead, a connection never made when the
    token endpoint could not be reached, else `auth`."""
    said = describe(failure)
    if never_connected(failure):
        reason = FailoverReason.TIMEOUT
    elif _DEAD_LOGIN.search(f"{failure.body or ''} {failure.message or ''} {failure.code or ''}"):
        reason = FailoverReason.AUTH_PERMANENT
    else:
        reason = FailoverReason.AUTH
    return _judged(failure, reason, ref, profile, rule, said.status, said.code, said.message or "token refresh failed")


def token_expired(failure: Failure, judged: Judged) -> bool:
    """`oauth.expired-retry`: `401 token expired`."""
    return (
        judged.reason is FailoverReason.AUTH
        and judged.entry.status == 401
        and bool(_EXPIRED_TOKEN.search(failure.body or failure.message or ""))
    )


def record(usage: UsageStats, judged: Judged, ref: ModelRef, settings: Settings, now: int, wall: int) -> tuple[UsageStats, Window | None]:
    """The profile's record after this failure and the window it opened (`attempt.attribution`: of the pair that was called).
    An instant that the provider states is one of the wall clock (`window.clock`)."""
    if judged.healthy or not settings.providers[ref.provider].cooldowns:
        return usage, None
    failure = judged.failure
    wait = stated_wait_ms(failure, wall)
    return after_failure(
        usage,
        judged.reason,
        ref.model,
        now,
        settings.cooldowns,
        ref.provider,
        hint_until=now + wait if wait is not None else None,
        blocked_until=blocked_until(failure, wall) if judged.reason is FailoverReason.RATE_LIMIT else None,
        wall=wall,
    )


def _judged(
    failure: Failure,
    reason: FailoverReason,
    ref: ModelRef,
    profile: ProfileId | None,
    rule: str,
    status: int | None,
    code: str | None,
    message: str | None,
) -> Judged:
    never = reason is FailoverReason.TIMEOUT and never_connected(failure)
    entry = FailureEntry(ref.provider, ref.model, profile, str(reason), status, code, message, False, rule)
    return Judged(
        entry,
        reason,
        rotates=reason in ROTATING and not never and not failure.caller_fault,
        healthy=reason not in WINDOWED or never or failure.caller_fault,
        failure=failure,
    )
