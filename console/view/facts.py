"""The worst facts, for a screen too small for four panes: what an operator must know first, worst first, grouped where many share it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from console.view import states, times
from console.view.frame import Frame
from console.view.lines import Line, Tone, fit_parts, join, span
from engine.domain.snapshot import ProfileState, ProfileView, SessionView

_NAME = 24


@dataclass(frozen=True, slots=True)
class Fact:
    """weight: 0 is the worst. head stands always, the parts of the tail when there is room, the first longest."""

    weight: int
    head: Line
    tail: tuple[Line, ...] = ()

    def fitted(self, cells: int, more: Line = ()) -> Line:
        parts = [(0, self.head), *((2 + place, part) for place, part in enumerate(self.tail)), (1, more)]
        return ((" ", Tone.TEXT), *fit_parts(parts, cells - 1))


def facts(frame: Frame) -> list[Fact]:
    """Everything that is wrong, worst first."""
    snapshot = frame.snapshot
    if snapshot is None:
        return []
    found = [_fact_of_failed(snapshot.sessions, frame)] if any(s.last_outcome == "failed" for s in snapshot.sessions) else []
    found += _fallbacks(snapshot.sessions, frame)
    found += [_profile(p, frame) for p in snapshot.profiles if states.profile_problem(p)]
    return sorted(found, key=lambda fact: fact.weight)


def draw(frame: Frame, cells: int, count: int = 3) -> tuple[Line, ...]:
    """Exactly `count` lines, so that the panes below do not jump when something changes."""
    if frame.snapshot is None:
        lines: list[Line] = [span(" waiting for the first snapshot of the engine", Tone.DIM)]
    else:
        found = facts(frame)
        shown = found[:count] if len(found) <= count else found[: count - 1]
        lines = [fact.fitted(cells) for fact in shown]
        if len(found) > count:
            rest = len(found) - count
            lines.append(found[count - 1].fitted(cells, span(f"+{rest} more", Tone.DIM)))
        if not found:
            lines.append(
                (
                    (f" {frame.look.glyphs.ready} ", Tone.OK),
                    ("all clear: every session is on its selected model, no profile is out", Tone.TEXT),
                )
            )
    return tuple(lines[:count]) + ((),) * (count - len(lines))


def _fact_of_failed(sessions: tuple[SessionView, ...], frame: Frame) -> Fact:
    failed = [s for s in sessions if s.last_outcome == "failed"]
    mark = frame.look.glyphs.disabled
    return Fact(0, span(f"{mark} {_names(failed, frame)}: last turn failed", Tone.BAD))


def _names(sessions: list[SessionView], frame: Frame) -> str:
    first = states.short_key(frame.look.safe(sessions[0].key), _NAME, frame.look.glyphs.ellipsis)
    return first if len(sessions) == 1 else f"{first} and {len(sessions) - 1} more"


def _fallbacks(sessions: tuple[SessionView, ...], frame: Frame) -> list[Fact]:
    groups: dict[tuple[str, str], list[SessionView]] = defaultdict(list)
    for session in sessions:
        if session.on_fallback:
            groups[session.selected, session.active].append(session)
    out: list[Fact] = []
    look = frame.look
    for members in sorted(groups.values(), key=len, reverse=True):
        first = min(members, key=lambda s: s.since or frame.now)
        was, now = states.model_names(members[0])
        head = span(f"{look.glyphs.fallback} {_names(members, frame)} on fallback {look.safe(now)}", Tone.WARN)
        since = span(f"since {times.stamp(first.since, frame.now, utc=look.utc)}", Tone.DIM) if first.since is not None else ()
        tail = (span(look.safe(first.reason), Tone.WARN), since, span(f"selected {look.safe(was)}", Tone.DIM))
        out.append(Fact(2, head, tail))
    return out


def _profile(profile: ProfileView, frame: Frame) -> Fact:
    look = frame.look
    tone = states.tone_of(profile.state, profile.detail)
    mark = states.glyph_of(profile.state, look.glyphs)
    window = profile.window
    left = times.left(window.until, frame.now, reduced_motion=look.reduced_motion) if window else ""
    head = join(
        [span(f"{mark} {look.safe(profile.profile, 40)}", tone), span(profile.state.value, tone), span(left, tone) if left else ()], " "
    )
    scope = f" for {look.safe(states.short_model(window.model))}" if window and window.model else ""
    tail = (span(f"{look.safe(window.reason)}{scope}" if window else look.safe(profile.detail), Tone.DIM),)
    weight = 4 if profile.state is ProfileState.COOLDOWN else 3 if profile.state is ProfileState.BLOCKED else 1
    return Fact(weight, head, tail)
