"""What happened since the last key press: the difference of two snapshots and the feed between them, as lines."""

from __future__ import annotations

from collections.abc import Sequence

from console.view import states, times
from console.view.frame import Frame
from console.view.lines import Line, Tone, span
from console.view.notices import severity_tone
from engine.domain.snapshot import FeedEntry, ProfileView, SessionView, Snapshot

_SHOWN = 200


def draw(before: Snapshot | None, frame: Frame, feed: Sequence[FeedEntry]) -> tuple[Line, ...]:
    """The differences first, then the feed entries between, oldest first."""
    after = frame.snapshot
    if before is None or after is None:
        return (span("Nothing to compare with yet.", Tone.DIM),)
    when = times.stamp(before.now, frame.now, utc=frame.look.utc)
    lines: list[Line] = [span(f"since {when} ({times.ago(before.now, frame.now)})", Tone.DIM), ()]
    changed = [*_sessions(before, after, frame), *_profiles(before, after, frame)]
    turns = after.traffic.turns_total - before.traffic.turns_total
    lines.append(span(f"{max(0, turns)} turns were answered or failed", Tone.TEXT))
    lines += changed or [span("no session and no profile is in another state than before", Tone.DIM)]
    if feed:
        lines += [(), span("Feed", Tone.HEAD)]
        lines += [
            (
                (times.clock(entry.at, utc=frame.look.utc), Tone.DIM),
                (f"  {frame.look.safe(entry.session) or '-'}  ", Tone.DIM),
                (frame.look.safe(entry.text), severity_tone(entry.severity) if entry.severity != "info" else Tone.TEXT),
            )
            for entry in feed[-_SHOWN:]
        ]
    return tuple(lines)


def _sessions(before: Snapshot, after: Snapshot, frame: Frame) -> list[Line]:
    old = {session.key: session for session in before.sessions}
    new = {session.key for session in after.sessions}
    lines: list[Line] = []
    safe = frame.look.safe
    for session in after.sessions:
        was = old.get(session.key)
        if was is None:
            lines.append(((f"{safe(session.key)}", Tone.STRONG), (f" is new, on {safe(session.active)}", Tone.TEXT)))
        elif text := _session(was, session, frame):
            lines.append(((f"{safe(session.key)} ", Tone.STRONG), *text))
    lines += [((safe(key), Tone.STRONG), (" is gone", Tone.DIM)) for key in old if key not in new]
    return lines[:_SHOWN]


def _session(was: SessionView, now: SessionView, frame: Frame) -> Line:
    safe, arrow = frame.look.safe, frame.look.glyphs.arrow
    if was.active != now.active:
        word = "fell back" if now.on_fallback else "came back" if was.on_fallback else "moved"
        reason = f" ({safe(now.reason)})" if now.on_fallback and now.reason else ""
        return span(f"{word}: {safe(was.active)} {arrow} {safe(now.active)}{reason}", Tone.WARN if now.on_fallback else Tone.OK)
    if (was.profile, was.pin_source) != (now.profile, now.pin_source):
        return span(f"profile: {safe(was.profile) or '-'} {arrow} {safe(now.profile) or '-'}", Tone.TEXT)
    if was.last_outcome != now.last_outcome and now.last_outcome == "failed":
        return span("failed", Tone.BAD)
    return ()


def _profiles(before: Snapshot, after: Snapshot, frame: Frame) -> list[Line]:
    old: dict[str, ProfileView] = {profile.profile: profile for profile in before.profiles}
    lines: list[Line] = []
    safe, arrow = frame.look.safe, frame.look.glyphs.arrow
    for profile in after.profiles:
        was = old.get(profile.profile)
        if was is None or was.state is profile.state:
            continue
        reason = f" ({safe(profile.window.reason)})" if profile.window else ""
        tone = states.tone_of(profile.state, profile.detail)
        lines.append(((f"{safe(profile.profile)} ", Tone.STRONG), (f"{was.state.value} {arrow} {profile.state.value}{reason}", tone)))
    return lines[:_SHOWN]
