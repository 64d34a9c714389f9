"""Spec section 9, `notice.*`: the exact texts, and whether a change is announced. Operational messages, never the assistant's words."""

from __future__ import annotations

from collections.abc import Sequence

from engine.domain.ids import ModelRef
from engine.domain.sessions import Session
from engine.domain.turns import Attempt, AttemptOutcome

REASON_LIMIT = 80


def fallback_text(active: ModelRef, selected: ModelRef, reason: str) -> str:
    """`notice.fallback`"""
    return f"↪️ Model Fallback: {active} (selected {selected}; {reason})"


def cleared_text(selected: ModelRef, was: str) -> str:
    """`notice.cleared`; was: the active model's ref as the notice state holds it."""
    return f"↪️ Model Fallback cleared: {selected} (was {was})"


def turn_reason(attempts: Sequence[Attempt], first_skip: str | None) -> str | None:
    """The first failed attempt's reason, else the first skip's, as a notice words it; None when the turn had neither."""
    failed = [a.reason for a in attempts if a.outcome is AttemptOutcome.FAILED]
    if not failed and first_skip is None:
        return None
    reason = (failed[0] if failed else first_skip) or "unknown"
    more = f" (+{len(failed) - 1} more attempts)" if len(failed) > 1 else ""
    return reason.replace("_", " ")[:REASON_LIMIT] + more


def is_announced(session: Session, selected: ModelRef, active: ModelRef) -> bool:
    """Key (session, selected, active): already announced, so not again."""
    return session.fallback_notice_selected_model == str(selected) and session.fallback_notice_active_model == str(active)


def notice_fields(session: Session, selected: ModelRef, active: ModelRef, reason: str, now: int) -> dict[str, object]:
    """The notice state of a fallback; since: when this pair began."""
    since = session.fallback_notice_since if is_announced(session, selected, active) else now
    return {
        "fallback_notice_selected_model": str(selected),
        "fallback_notice_active_model": str(active),
        "fallback_notice_reason": reason,
        "fallback_notice_since": since,
    }
