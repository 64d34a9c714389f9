"""State words with their glyph and tone, and how urgent each is. The words come from the engine; none is invented here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from console.view.lines import Tone
from console.view.look import Glyphs
from console.view.text import shorten, width
from engine.domain.snapshot import ProfileState, ProfileView, SessionView

_PROFILE_TONE = {
    ProfileState.READY: Tone.OK,
    ProfileState.COOLDOWN: Tone.WARN,
    ProfileState.DISABLED: Tone.BAD,
    ProfileState.BLOCKED: Tone.HELD,
    ProfileState.EXPIRED: Tone.BAD,
    ProfileState.MISSING: Tone.BAD,
    ProfileState.OFF: Tone.DIM,
}
_URGENCY = {
    ProfileState.DISABLED: 0,
    ProfileState.MISSING: 1,
    ProfileState.EXPIRED: 2,
    ProfileState.BLOCKED: 3,
    ProfileState.COOLDOWN: 4,
    ProfileState.OFF: 6,
    ProfileState.READY: 7,
}
REFRESHABLE = "refreshable"
_MODEL_TAIL = 4
_MORE = re.compile(r"(.*) \(\+(\d+) more attempts\)")
_OUT = (ProfileState.DISABLED, ProfileState.BLOCKED, ProfileState.EXPIRED, ProfileState.MISSING)


def tone_of(state: ProfileState, detail: str | None = None) -> Tone:
    """An expired login that refreshes itself is still used: a hint, not an alarm."""
    return Tone.INFO if state is ProfileState.EXPIRED and detail == REFRESHABLE else _PROFILE_TONE[state]


def glyph_of(state: ProfileState, glyphs: Glyphs) -> str:
    return {
        ProfileState.READY: glyphs.ready,
        ProfileState.COOLDOWN: glyphs.cooldown,
        ProfileState.DISABLED: glyphs.disabled,
        ProfileState.BLOCKED: glyphs.blocked,
        ProfileState.EXPIRED: glyphs.expired,
        ProfileState.MISSING: glyphs.missing,
        ProfileState.OFF: glyphs.off,
    }[state]


def urgency(profile: ProfileView) -> int:
    """0 is the most urgent."""
    if profile.state is ProfileState.EXPIRED and profile.detail == REFRESHABLE:
        return 5
    return _URGENCY[profile.state]


def is_out(profile: ProfileView) -> bool:
    """What the header counts as blocked: of no use until its window ends or somebody acts, and not by an operator's wish."""
    return profile.state in _OUT and profile.detail != REFRESHABLE


def profile_problem(profile: ProfileView) -> bool:
    return is_out(profile) or profile.state is ProfileState.COOLDOWN


def session_problem(session: SessionView) -> bool:
    return session.on_fallback or session.last_outcome == "failed"


def session_mark(session: SessionView, glyphs: Glyphs) -> tuple[str, Tone]:
    """The mark before a session's name. Its words stand in the row: the models, the source, the last outcome."""
    if session.last_outcome == "failed" and not session.in_flight:
        return glyphs.disabled, Tone.BAD
    if session.on_fallback:
        return glyphs.fallback, Tone.WARN
    return glyphs.ready, Tone.OK


def same_model_names(refs: Sequence[str]) -> bool:
    """Different providers under one model name: then the name alone would hide the change."""
    return len({ref.partition("/")[2] for ref in refs}) < len(set(refs))


def model_names(session: SessionView) -> tuple[str, str]:
    """Selected and active as a table shows them: without the provider, unless that is the difference."""
    if session.selected != session.active and same_model_names((session.selected, session.active)):
        return session.selected, session.active
    return short_model(session.selected), short_model(session.active)


def short_reason(reason: str) -> tuple[str, str]:
    """A fallback's reason and how many more attempts failed, apart: `overloaded`, `+2`."""
    found = _MORE.fullmatch(reason)
    return (found[1], f"+{found[2]}") if found else (reason, "")


def short_key(key: str, cells: int, ellipsis: str) -> str:
    """A session's key in at most `cells`. One that carries a model (`review#anthropic/claude`) keeps its name and loses of the model."""
    name, mark, ref = key.partition("#")
    room = cells - width(name) - 1
    if not mark or width(key) <= cells or room < _MODEL_TAIL:
        return shorten(key, cells, ellipsis=ellipsis)
    model = short_model(ref)
    return f"{name}#{model if width(model) <= room else shorten(model, room, ellipsis=ellipsis)}"


def short_model(ref: str) -> str:
    return ref.partition("/")[2] or ref
