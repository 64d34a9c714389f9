"""Detail screens as lines: everything the snapshot holds of one session, profile or notice, with nothing abbreviated."""

from __future__ import annotations

from collections.abc import Sequence

from console.view import cause, chain, notices, states, times, waterfall, why
from console.view.frame import Frame
from console.view.lines import Line, Tone, span
from console.view.records import Record
from engine.domain.foresight import SessionDetail
from engine.domain.snapshot import FeedEntry, Preview, ProfileView, SessionView, WindowView

_LABEL = 16
_TURNS = 8
_HISTORY = 100


def _field(label: str, *value: tuple[str, Tone]) -> Line:
    return ((f"{label:<{_LABEL}}", Tone.DIM), *value)


def session(
    view: SessionView,
    frame: Frame,
    preview: Preview | None,
    records: Sequence[Record] | None,
    cells: int = 100,
    found: SessionDetail | None = None,
) -> tuple[Line, ...]:
    """What it is on, turns in flight, its latest turns as waterfalls, the next turn's chain, the record's fields, then the decisions."""
    look = frame.look
    safe = look.safe
    lines: list[Line] = [
        _field("session", (safe(view.key), Tone.STRONG)),
        _field("agent", (safe(view.agent) or "-", Tone.TEXT)),
        _field("selected", (safe(view.selected), Tone.TEXT)),
        _field("active", (safe(view.active), Tone.WARN if view.on_fallback else Tone.TEXT)),
        _field("source", (safe(view.source), Tone.TEXT)),
    ]
    if view.on_fallback:
        since = f" since {times.stamp(view.since, frame.now, utc=look.utc)}" if view.since is not None else ""
        lines.append(_field("on fallback", (f"{safe(view.reason or 'reason not recorded')}{since}", Tone.WARN)))
    pin = f"{safe(view.profile)} ({safe(view.pin_source)})" if view.profile and view.pin_source else safe(view.profile) or "-"
    lines.append(_field("profile", (pin, Tone.TEXT)))
    if view.pinned_by:
        left = times.left(view.pin_until, frame.now, reduced_motion=look.reduced_motion)
        until = f" until {times.stamp(view.pin_until, frame.now, utc=look.utc)} ({left})" if view.pin_until is not None else ""
        reason = f": {safe(view.pin_reason)}" if view.pin_reason else ""
        lines.append(_field("pinned by", (f"{safe(view.pinned_by)}{reason}{until}", Tone.TEXT)))
    outcome = safe(view.last_outcome) or "no turn yet"
    lines.append(
        _field(
            "last outcome", (outcome, Tone.BAD if outcome == "failed" else Tone.TEXT), (f"  {_ago(view.last_activity, frame)}", Tone.DIM)
        )
    )
    if view.strict:
        lines.append(_field("strict", ("no other model is tried, failures are reported", Tone.INFO)))
    if view.derived:
        lines.append(_field("derived", ("lives in memory only, takes no pin", Tone.DIM)))
    lines += _turns(view, frame)
    lines += [(), span("Why", Tone.HEAD), *cause.draw(view, records, frame, preview)]
    lines += [(), span("Turns, newest first", Tone.HEAD), *waterfall.draw(found, frame, cells, _TURNS)]
    lines += [(), span("Next turn", Tone.HEAD), chain.headline(preview, view.key, frame, cells)]
    rows = chain.rows(preview, frame)
    names = chain.names_width(rows, frame, cells)
    lines += [chain.draw(row, frame, cells, names) for row in rows]
    lines += [(), span("Fields of its record, and who wrote them", Tone.HEAD), *waterfall.fields(found, frame)]
    lines += [(), span("Decisions, newest turn first", Tone.HEAD)]
    lines += [span("asking the engine", Tone.DIM)] if records is None else why.draw(records, frame)
    return tuple(lines)


def _ago(at: int | None, frame: Frame) -> str:
    return f"{times.ago(at, frame.now)} ({times.stamp(at, frame.now, utc=frame.look.utc)})" if at is not None else "never"


def _turns(view: SessionView, frame: Frame) -> list[Line]:
    if not view.in_flight:
        return []
    safe = frame.look.safe
    lines: list[Line] = [(), span("In flight", Tone.HEAD)]
    for turn in view.in_flight:
        word = ("committed: cannot fail over any more", Tone.DIM) if turn.committed else ("can still fail over", Tone.INFO)
        where = " ".join(safe(part) for part in (turn.ref, turn.profile) if part) or "no attempt yet"
        began = times.ago(turn.started_at, frame.now)
        lines.append(_field(safe(turn.turn, 14), (f"{where}  attempt {turn.attempts}  began {began}  ", Tone.TEXT), word))
    return lines


def profile(view: ProfileView, frame: Frame, feed: Sequence[FeedEntry] = ()) -> tuple[Line, ...]:
    """State, windows each with its own clock, counters, the sessions that use it, and its history from the feed."""
    look = frame.look
    safe = look.safe
    tone = states.tone_of(view.state, view.detail)
    word = f"{states.glyph_of(view.state, look.glyphs)} {view.state.value}"
    detail = f" ({safe(view.detail)})" if view.detail else ""
    lines: list[Line] = [
        _field("profile", (safe(view.profile), Tone.STRONG)),
        _field("provider", (safe(view.provider), Tone.TEXT)),
        _field("type", (safe(view.type), Tone.TEXT)),
        _field("state", (word + detail, tone)),
        _field("errors in a row", (str(view.error_count), Tone.WARN if view.error_count else Tone.TEXT)),
        _field("last used", (_ago(view.last_used, frame), Tone.TEXT)),
        _field("last failure", (_ago(view.last_failure_at, frame), Tone.TEXT)),
    ]
    if view.agent:
        lines.append(_field("agent", (safe(view.agent), Tone.TEXT)))
    lines += [(), span("Windows", Tone.HEAD)]
    windows = view.windows or ((view.window,) if view.window else ())
    lines += [_window(window, frame) for window in windows] or [
        span("none: it can be used now" if view.state == "ready" else "none", Tone.DIM)
    ]
    lines += [(), span(f"Used by {len(view.used_by)} session{'s' if len(view.used_by) != 1 else ''}", Tone.HEAD)]
    lines += [_user(key, frame) for key in view.used_by[:200]]
    history = [entry for entry in feed if entry.profile == view.profile][-_HISTORY:]
    lines += [(), span("History, newest first", Tone.HEAD)]
    lines += [_past(entry, frame) for entry in reversed(history)] or [span("nothing in the feed is about it", Tone.DIM)]
    return tuple(lines)


def _user(key: str, frame: Frame) -> Line:
    session = frame.session(key)
    on = f"  on {frame.look.safe(session.active)}" if session is not None else ""
    pin = f", pinned ({frame.look.safe(session.pin_source)})" if session is not None and session.pin_source else ""
    return ((frame.look.safe(key), Tone.TEXT), (on + pin, Tone.DIM))


def _past(entry: FeedEntry, frame: Frame) -> Line:
    look = frame.look
    session = f"  {look.safe(entry.session)}" if entry.session else ""
    tone = notices.severity_tone(entry.severity) if entry.severity in ("warning", "error") else Tone.TEXT
    return ((times.stamp(entry.at, frame.now, utc=look.utc), Tone.DIM), (f"  {look.safe(entry.text)}", tone), (session, Tone.DIM))


def _window(window: WindowView, frame: Frame) -> Line:
    look = frame.look
    tone = states.tone_of(window.state)
    scope = f"only {look.safe(window.model)}" if window.model else "all models"
    since = f" since {times.stamp(window.since, frame.now, utc=look.utc)}" if window.since is not None else ""
    step = f"  step {window.step}" if window.step else ""
    return (
        (f"{states.glyph_of(window.state, look.glyphs)} {window.state.value:<9}", tone),
        (f"{times.left(window.until, frame.now, reduced_motion=look.reduced_motion):>14}  ", tone),
        (f"{look.safe(window.reason)}  ", Tone.TEXT),
        (f"{scope}  until {times.stamp(window.until, frame.now, utc=look.utc)}{since}{step}", Tone.DIM),
    )


def notice(entry: FeedEntry, frame: Frame) -> tuple[Line, ...]:
    look = frame.look
    lines = [
        _field("time", (times.stamp(entry.at, frame.now, utc=look.utc), Tone.TEXT)),
        _field("severity", (look.safe(entry.severity), Tone.TEXT)),
        _field("kind", (look.safe(entry.kind), Tone.TEXT)),
    ]
    for label, value in (("session", entry.session), ("provider", entry.provider), ("profile", entry.profile), ("turn", entry.turn)):
        if value:
            lines.append(_field(label, (look.safe(value), Tone.TEXT)))
    return (*lines, (), *(span(part) for part in look.block(entry.text)))
