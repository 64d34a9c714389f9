"""What a change of a record means to those who watch: which windows opened or ended, what happened to an override or a pin, in events
(spec/scenarios.md) and in feed lines. Pure: it compares two records. Why they changed, the rules have said already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from engine.domain.ids import ProfileId
from engine.domain.sessions import Session
from engine.domain.snapshot import ProfileState
from engine.domain.usage import UsageStats
from engine.policy.windows import Window, all_windows, is_active

LONG_WINDOW_MS = 60 * 60_000
"""spec/console.md, alerts: a window over an hour."""


@dataclass(frozen=True, slots=True)
class Told:
    """An event and, if a person should read it, a feed line. window: the one it is about."""

    event: str
    data: dict[str, Any] = field(default_factory=dict)
    severity: str = "info"
    kind: str = "window"
    text: str | None = None
    window: Window | None = None


def span_words(ms: int) -> str:
    """`41s`, `5m`, `4h12m`, `3d`: for one line."""
    seconds = max(0, -(-ms // 1000))
    if seconds < 60:
        return f"{seconds}s"
    minutes, rest = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}m" + (f"{rest:02}s" if rest and minutes < 10 else "")
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours}h" + (f"{minutes:02}m" if minutes else "")
    return f"{hours // 24}d"


def window_changes(profile: ProfileId, provider: str, before: UsageStats, after: UsageStats, now: int, wall: int) -> list[Told]:
    """What a new record of a profile opened and what it ended (a success, a clear)."""
    if before is after:
        return []
    old, new = all_windows(before), all_windows(after)
    if not old and not new:
        return []
    known = {(w.kind, w.model, w.until) for w in old}
    kept = {(w.kind, w.model) for w in new}
    told = [window_opened(profile, provider, w, now) for w in new if (w.kind, w.model, w.until) not in known and w.until > now]
    gone = [w for w in old if (w.kind, w.model) not in kept and is_active(w, now, wall)]
    told += [window_closed(profile, provider, w, "cleared") for w in gone]
    return told


def window_opened(profile: ProfileId, provider: str, window: Window, now: int) -> Told:
    scope = f" ({window.model})" if window.model is not None else ""
    text = f"started {profile} {window.kind} {span_words(window.until - now)} {window.reason}{scope}"
    data = {
        "provider": provider,
        "profile": profile,
        "kind": str(window.kind),
        "reason": window.reason,
        "model": window.model,
        "until": window.until,
        "step": window.step or None,
    }
    severe = window.kind is not ProfileState.COOLDOWN or window.until - now > LONG_WINDOW_MS
    return Told("window_opened", data, "warning" if severe else "notice", "window", text, window)


def window_closed(profile: ProfileId, provider: str, window: Window, cause: str) -> Told:
    """cause: `ended` (its time came) or `cleared` (a success, an operator)."""
    scope = f" ({window.model})" if window.model is not None else ""
    data = {
        "provider": provider,
        "profile": profile,
        "kind": str(window.kind),
        "reason": window.reason,
        "model": window.model,
        "until": window.until,
        "cause": cause,
    }
    return Told("window_closed", data, "info", "window", f"{cause} {profile} {window.kind} {window.reason}{scope}", window)


def session_changes(before: Session, after: Session, note: str | None = None) -> Iterable[Told]:
    """What happened to override and pin. note: the rule that wrote, if it matters (`override.rollback`)."""
    if before.override != after.override or (after.override is not None and before.model_override_source != after.model_override_source):
        rolled_back = note is not None and "rollback" in note
        known = {
            "selected": str(after.origin or after.override or before.origin or before.override),
            "active": str(after.override) if after.override is not None else None,
            "was": str(before.override) if before.override is not None else None,
            "source": after.model_override_source if after.override is not None else before.model_override_source,
            "rule": note,
        }
        if rolled_back:
            yield Told("override_rolled_back", known)
        elif after.override is not None:
            yield Told("override_set", known)
        else:
            yield Told("override_cleared", known)
    pin, was = after.auth_profile_override, before.auth_profile_override
    if pin != was or (pin is not None and before.auth_profile_override_source != after.auth_profile_override_source):
        if pin is not None:
            yield Told("pin_set", {"profile": pin, "source": after.auth_profile_override_source, "was": was, "by": after.pinned_by})
        else:
            yield Told("pin_cleared", {"profile": was, "source": before.auth_profile_override_source})
