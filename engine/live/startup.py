"""What a start does with the state it finds (spec/store.md, `window.clamp`): nothing may outlive its maximum, half overrides are no
overrides, an ended pin has ended. One summary line says what was restored, over, clamped and repaired."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from engine.domain.ids import SessionKey
from engine.domain.sessions import Session
from engine.domain.settings import Settings
from engine.domain.store import Change
from engine.domain.usage import UsageStats
from engine.live.memory import Memory
from engine.policy.pins import pin_is_user, unpin_fields
from engine.policy.selection import clear_override
from engine.policy.windows import active, all_windows, clamped

FUTURE_MS = 60_000
"""A stamp so far ahead of now is no matter of two clocks' drift."""


@dataclass(slots=True)
class Found:
    """Counts for the summary; notes: one line each, pins: (session, profile) whose pin had ended."""

    profiles: int = 0
    sessions: int = 0
    windows: int = 0
    ended: int = 0
    clamped: int = 0
    repaired: int = 0
    pins: list[tuple[SessionKey, str]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    @property
    def summary(self) -> str:
        parts = [f"restored {_n(self.profiles, 'profile')}, {_n(self.sessions, 'session')}, {_n(self.windows, 'window')}"]
        parts += [f"{_n(self.ended, 'window')} had ended"] if self.ended else []
        parts += [f"{_n(len(self.pins), 'pin')} had ended"] if self.pins else []
        parts += [f"{_n(self.clamped, 'window')} clamped to the maximum"] if self.clamped else []
        parts += [f"{_n(self.repaired, 'record')} repaired"] if self.repaired else []
        return "; ".join(parts)


def put_in_order(memory: Memory, settings: Settings, now: int, wall: int) -> Found:
    """Memory holds valid state afterwards; what must be stored is in `changes`. Doing it again finds nothing more."""
    found = Found(sessions=len(memory.sessions))
    for agent, kept in memory.agents.items():
        found.profiles += len(kept.credentials)
        for profile, before in list(kept.usage.items()):
            usage = _without_future(before, now)
            found.repaired += usage is not before
            within = clamped(usage, now, settings.cooldowns)
            found.clamped += len(_ends(usage) - _ends(within))
            live = active(within, None, now, wall)
            found.windows += len(live)
            found.ended += len(all_windows(within)) - len(live)
            if within != before:
                found.changes += memory.put_usage(agent, profile, within)
    for key, session in list(memory.sessions.items()):
        fields = _repairs(session)
        found.repaired += bool(fields)
        if session.pin_until is not None and session.pin_until <= now and pin_is_user(session):
            found.pins.append((key, str(session.auth_profile_override)))
            fields.update(unpin_fields(session))
        found.changes += memory.patch_session(key, fields, now)
    return found


def _without_future(usage: UsageStats, now: int) -> UsageStats:
    """A failure after now counts as none (spec section 7); a use after now would put the profile last for ever."""
    changed: dict[str, Any] = {}
    if usage.last_failure_at is not None and usage.last_failure_at > now + FUTURE_MS:
        changed["last_failure_at"] = None
    if usage.last_used is not None and usage.last_used > now + FUTURE_MS:
        changed["last_used"] = now
    return replace(usage, **changed) if changed else usage


def _repairs(session: Session) -> dict[str, object]:
    """`selection.half-entry`"""
    if session.override is None and (session.provider_override is not None or session.model_override is not None):
        return clear_override(session, notice=session.model_override_source != "user")
    return {}


def _ends(usage: UsageStats) -> set[tuple[str, str | None, int]]:
    return {(str(window.kind), window.model, window.until) for window in all_windows(usage)}


def _n(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
