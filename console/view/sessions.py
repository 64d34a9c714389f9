"""The Sessions table: which models a session is on and why, on which profile, and whether its turn in flight can still fail over."""

from __future__ import annotations

from collections.abc import Sequence

from console.view import filters, states, times
from console.view.frame import Frame
from console.view.lines import Line, Tone, fit_parts, line_width, span
from console.view.table import Column, Order, arrange
from console.view.text import shorten, width
from engine.domain.snapshot import SessionView

_BUSY_MS = 15_000

DEFAULT_ORDER = Order("activity")


def key_of(session: SessionView) -> str:
    return session.key


def _activity(session: SessionView, frame: Frame) -> int | None:
    # Everything of the last seconds counts as now: else busy rows would change places with every answer.
    if session.in_flight:
        return 0
    if session.last_activity is None:
        return None
    idle = frame.now - session.last_activity
    return 0 if idle < _BUSY_MS else idle


def _mark(session: SessionView, frame: Frame, cells: int) -> Line:
    return (states.session_mark(session, frame.look.glyphs),)


def _key(session: SessionView, frame: Frame, cells: int) -> Line:
    return span(states.short_key(frame.look.safe(session.key), cells, frame.look.glyphs.ellipsis), Tone.STRONG)


def _models(session: SessionView, frame: Frame) -> tuple[str, str]:
    selected, active = states.model_names(session)
    return frame.look.safe(selected), frame.look.safe(active)


def _model(session: SessionView, frame: Frame, cells: int) -> Line:
    selected, active = _models(session, frame)
    glyphs = frame.look.glyphs
    if session.selected == session.active:
        return span(shorten(active, cells, ellipsis=glyphs.ellipsis))
    arrow = f" {glyphs.arrow} "
    room = cells - width(arrow)
    # What serves now matters more than what was asked for: it keeps its name when room is short.
    now = shorten(active, max(room - min(width(selected), 6), room // 2), ellipsis=glyphs.ellipsis)
    was = shorten(selected, room - width(now), ellipsis=glyphs.ellipsis)
    return ((was, Tone.DIM), (arrow, Tone.DIM), (now, Tone.WARN if session.on_fallback else Tone.INFO))


def _model_width(session: SessionView, frame: Frame) -> int:
    selected, active = _models(session, frame)
    if session.selected == session.active:
        return width(active)
    return width(selected) + width(active) + 2 + width(frame.look.glyphs.arrow)


def _source(session: SessionView, frame: Frame, cells: int) -> Line:
    """Where the model comes from; on a fallback with the reason, which is what one asks next and what stays longest."""
    source = frame.look.safe(session.source)
    if not session.on_fallback:
        return span(source, Tone.INFO if session.source in ("user", "legacy") else Tone.DIM)
    reason, more = states.short_reason(frame.look.safe(session.reason))
    parts = [(1, span(source, Tone.WARN)), (0, span(reason or "fallback", Tone.WARN)), (2, span(more, Tone.DIM))]
    return fit_parts(parts, cells, " ")


def _source_width(session: SessionView, frame: Frame) -> int:
    return line_width(_source(session, frame, 1 << 10))


def _since(session: SessionView, frame: Frame, cells: int) -> Line:
    return span(times.ago(session.since, frame.now), Tone.DIM) if session.on_fallback else ()


def _profile(session: SessionView, frame: Frame, cells: int) -> Line:
    """The profile, and who pinned it: a pin of a user is kept, one of the engine is not."""
    if session.profile is None:
        return span("-", Tone.DIM)
    pin = f" {frame.look.safe(session.pin_source)}" if session.pin_source else ""
    if session.pin_source != "user" and width(frame.look.safe(session.profile)) + width(pin) > cells:
        # The engine's own pin is the ordinary case: the name is worth more.
        pin = ""
    name = shorten(frame.look.safe(session.profile), cells - width(pin), ellipsis=frame.look.glyphs.ellipsis)
    return ((name, Tone.TEXT), (pin, Tone.INFO if session.pin_source == "user" else Tone.DIM))


def _turn(session: SessionView, frame: Frame, cells: int) -> Line:
    glyphs = frame.look.glyphs
    if session.in_flight:
        committed = all(turn.committed for turn in session.in_flight)
        more = f" +{len(session.in_flight) - 1}" if len(session.in_flight) > 1 else ""
        word = f"{glyphs.committed} committed" if committed else f"{glyphs.open} open"
        return span(word + more, Tone.DIM if committed else Tone.INFO)
    outcome = frame.look.safe(session.last_outcome) if session.last_outcome else "-"
    return span(outcome, Tone.BAD if outcome == "failed" else Tone.DIM)


def _age(session: SessionView, frame: Frame, cells: int) -> Line:
    # As the order has it: else rows that keep their places would seem to stand in none.
    return span("now" if _activity(session, frame) == 0 else times.ago(session.last_activity, frame.now), Tone.DIM)


def _profile_width(session: SessionView, frame: Frame) -> int:
    # The word for the engine's own pin takes what is left over; it asks for nothing.
    return width(frame.look.safe(session.profile)) + (len(" user") if session.pin_source == "user" else 0)


COLUMNS: tuple[Column[SessionView], ...] = (
    Column("mark", "", 1, _mark),
    Column("key", "session", 11, _key, rank=1, grow=34, measure=lambda s, f: width(f.look.safe(s.key)), sort=lambda s, f: s.key, gap=" "),
    Column("agent", "agent", 6, lambda s, f, n: span(f.look.safe(s.agent) or "-", Tone.DIM), rank=8, sort=lambda s, f: s.agent or None),
    Column("model", "selected / active", 23, _model, grow=62, measure=_model_width, sort=lambda s, f: _models(s, f)),
    Column("source", "source", 13, _source, rank=1, grow=36, measure=_source_width, sort=lambda s, f: (s.source, s.reason or "")),
    Column("since", "since", 8, _since, rank=7, sort=lambda s, f: f.now - s.since if s.on_fallback and s.since is not None else None),
    Column("profile", "profile, pin", 14, _profile, rank=5, grow=32, measure=_profile_width, gap=" "),
    Column("turn", "turn", 11, _turn, rank=4, measure=lambda s, f: line_width(_turn(s, f, 0)), gap=" "),
    Column("activity", "last", 7, _age, rank=2, sort=_activity, right=True, gap=" "),
)


def rows(sessions: Sequence[SessionView], query: str, order: Order, frame: Frame) -> list[SessionView]:
    kept = filters.keep(sessions, query, lambda s: (s.key, s.agent, s.selected, s.active, s.source, s.profile, s.reason, s.last_outcome))
    return arrange(kept, COLUMNS, order, key_of, frame)


def summary(session: SessionView, frame: Frame, cells: int) -> Line:
    """The selected session in one line, with no name abbreviated: selected and active model, reason and since when, pin. What does
    not fit is left out whole."""
    look = frame.look
    models = span(look.safe(session.selected))
    if session.selected != session.active:
        models = ((look.safe(session.selected), Tone.TEXT), (f" {look.glyphs.arrow} ", Tone.DIM), (look.safe(session.active), Tone.WARN))
    parts: list[tuple[int, Line]] = [(2, span(look.safe(session.key), Tone.STRONG)), (0, models)]
    if session.on_fallback:
        since = f" since {times.stamp(session.since, frame.now, utc=look.utc)}" if session.since is not None else ""
        # Before the name, which stands in the row under the cursor as well.
        parts.append((1, span(f"{' '.join(states.short_reason(look.safe(session.reason or 'fallback'))).rstrip()}{since}", Tone.WARN)))
    if any(not turn.committed for turn in session.in_flight):
        parts.append((4, span("can still fail over", Tone.INFO)))
    elif session.in_flight:
        parts.append((4, span("committed: cannot fail over", Tone.DIM)))
    if session.profile and session.pin_source:
        who = f" by {look.safe(session.pinned_by)}" if session.pinned_by else ""
        parts.append((3, span(f"{look.safe(session.profile)} pinned ({look.safe(session.pin_source)}{who})")))
    if session.strict:
        parts.append((5, span("strict: no fallback", Tone.INFO)))
    return fit_parts(parts, cells)


def empty(address: str, frame: Frame, filtered: bool) -> tuple[Line, ...]:
    """What stands in an empty table: the next step, not a void."""
    if filtered:
        return (span("no session matches the filter (esc clears it)", Tone.DIM),)
    url = address if "://" in address else f"http://{address}"
    return (
        span("No sessions yet: nothing has come through the gateway.", Tone.TEXT),
        (("Point an application at ", Tone.DIM), (f"{frame.look.safe(url)}/v1", Tone.STRONG), (" or try:", Tone.DIM)),
        span(f"  curl {frame.look.safe(url)}/v1/chat/completions \\", Tone.TEXT),
        span("    -H 'content-type: application/json' \\", Tone.TEXT),
        span('    -d \'{"model":"auto","messages":[{"role":"user","content":"hi"}]}\'', Tone.TEXT),
    )
