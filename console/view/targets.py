"""What can be taken out of service and put back: profiles, providers, models, those under the cursor first. It reads a frame only."""

from __future__ import annotations

from dataclasses import dataclass

from console.view import states, times
from console.view.availability import Situation
from console.view.frame import Frame
from console.view.lines import Line, Tone, join, pad, span
from engine.domain.snapshot import OffView

_ID, _KIND = 34, 9


@dataclass(frozen=True, slots=True)
class OffTarget:
    """kind: profile, provider or model. off: since when and by whom, if it is out of service."""

    id: str
    kind: str
    off: OffView | None = None


def in_service(now: Situation) -> list[OffTarget]:
    """What may be taken out: of the row under the cursor first, then everything."""
    snapshot = now.frame.snapshot
    if snapshot is None:
        return []
    here: list[OffTarget] = []
    if now.profile is not None:
        here = [OffTarget(now.profile.profile, "profile"), OffTarget(now.profile.provider, "provider")]
    elif now.session is not None:
        here = [OffTarget(now.session.profile, "profile")] if now.session.profile else []
        here += [OffTarget(now.session.active, "model"), OffTarget(now.session.active.partition("/")[0], "provider")]
    providers = dict.fromkeys(profile.provider for profile in snapshot.profiles)
    rest = [
        *(OffTarget(profile.profile, "profile") for profile in snapshot.profiles),
        *(OffTarget(provider, "provider") for provider in providers),
        *(OffTarget(ref, "model") for ref in snapshot.models),
    ]
    gone = {off.target for off in snapshot.off}
    return [target for target in dict.fromkeys((*here, *rest)) if target.id and target.id not in gone]


def out_of_service(now: Situation) -> list[OffTarget]:
    snapshot = now.frame.snapshot
    if snapshot is None:
        return []
    profiles = {profile.profile for profile in snapshot.profiles}
    return [
        OffTarget(off.target, "profile" if off.target in profiles else "model" if "/" in off.target else "provider", off)
        for off in snapshot.off
    ]


def provider_of(now: Situation) -> str | None:
    """The provider that the row under the cursor is about."""
    if now.profile is not None:
        return now.profile.provider.lower()
    return now.session.active.partition("/")[0] if now.session is not None else None


def draw(target: OffTarget, frame: Frame) -> Line:
    look = frame.look
    name = pad(span(look.safe(target.id), Tone.STRONG), _ID, ellipsis=look.glyphs.ellipsis)
    kind = pad(span(target.kind, Tone.DIM), _KIND)
    if target.off is not None:
        since = times.stamp(target.off.since, frame.now, utc=look.utc)
        reason = f": {look.safe(target.off.reason)}" if target.off.reason else ""
        return (*name, *kind, (f"off since {since} by {look.safe(target.off.by)}{reason}", Tone.DIM))
    profile = frame.profile(target.id)
    if profile is None:
        return (*name, *kind)
    state = span(f"{states.glyph_of(profile.state, look.glyphs)} {profile.state.value}", states.tone_of(profile.state, profile.detail))
    users = len(profile.used_by)
    used = span(f"used by {users} session{'s' if users != 1 else ''}" if users else "", Tone.DIM)
    return (*name, *kind, *join([state, used]))
