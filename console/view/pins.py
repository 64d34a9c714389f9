"""What a user's pin means for the session's next turn: whether it counts now, and until when. Read off the preview, where the rules have
decided already; an automatic pin is only a preference and stands beside its profile."""

from __future__ import annotations

from dataclasses import dataclass

from console.view import times
from console.view.frame import Frame
from engine.domain.ids import ProfileId, provider_of
from engine.domain.snapshot import Preview, ProfileState, SessionView


@dataclass(frozen=True, slots=True)
class Effect:
    """holds: the next turn is bound by the pin, and can be. text: about the pin, as a sentence."""

    holds: bool
    text: str


def effect(session: SessionView | None, preview: Preview, frame: Frame) -> Effect | None:
    """None without a user's pin."""
    if session is None or session.profile is None or session.pin_source != "user":
        return None
    safe = frame.look.safe
    by = f" by {safe(session.pinned_by)}" if session.pinned_by else ""
    until = ""
    if session.pin_until is not None:
        left = times.left(session.pin_until, frame.now, reduced_motion=frame.look.reduced_motion)
        until = f" until {times.stamp(session.pin_until, frame.now, utc=frame.look.utc)} ({left})"
    why = f": {safe(session.pin_reason)}" if session.pin_reason else ""
    holds, word = _now(session.profile, session.pin_until, preview, frame)
    return Effect(holds, f"pin {safe(session.profile)} {word}; set{by}{until or ', without an end'}{why}")


def _now(profile: ProfileId, until: int | None, preview: Preview, frame: Frame) -> tuple[bool, str]:
    provider = frame.look.safe(provider_of(profile))
    view = frame.profile(profile)
    if view is not None:
        provider = frame.look.safe(view.provider)
    if until is not None and until <= frame.now:
        return False, "has no effect now: it has ended"
    found = [verdict for candidate in preview.chain for verdict in candidate.profiles if verdict.profile == profile]
    if not found:
        return False, f"has no effect now: no candidate of this chain is of {provider}"
    if any(verdict.usable for verdict in found):
        return True, f"holds: no other profile of {provider} is tried"
    word = "out of service" if found[0].state is ProfileState.OFF else found[0].state.value
    return False, f"cannot be used now ({word}): {provider} is passed over, no other profile of it is tried"
