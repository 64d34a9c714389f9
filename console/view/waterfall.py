"""A session's latest turns as waterfalls: each attempt as a bar on the turn's own time, with what it came to. Under them the fields of its
record, with who wrote each. Lines only; what happened is the engine's record."""

from __future__ import annotations

from console.view import times
from console.view.frame import Frame
from console.view.lines import Line, Tone, join, pad, span
from console.view.text import shorten, width
from engine.domain.foresight import AttemptView, FieldView, SessionDetail, TurnRecord

_OUTCOME = {"ok": Tone.OK, "succeeded": Tone.OK, "failed": Tone.BAD, "partial": Tone.WARN, "aborted": Tone.DIM, "killed": Tone.BAD}
_NAMES = 54
_BAR = (12, 48)


def draw(detail: SessionDetail | None, frame: Frame, cells: int, limit: int = 20) -> list[Line]:
    """The turns, newest first."""
    if detail is None:
        return [span("asking the engine", Tone.DIM)]
    if not detail.turns:
        return [span("The engine remembers no turn of this session; older ones are among the decisions.", Tone.DIM)]
    lines: list[Line] = []
    for turn in detail.turns[:limit]:
        lines += [*one(turn, frame, cells), ()]
    return lines[:-1]


def one(turn: TurnRecord, frame: Frame, cells: int) -> list[Line]:
    """One turn: a title, and a line for each attempt."""
    look = frame.look
    arrow = f" {look.glyphs.arrow} " if turn.active and turn.active != turn.selected else ""
    models = span(look.safe(turn.selected) + (arrow + look.safe(turn.active) if arrow else ""))
    title = join(
        [
            span(times.stamp(turn.began, frame.now, utc=look.utc), Tone.DIM),
            span(look.safe(turn.outcome), _OUTCOME.get(turn.outcome, Tone.TEXT)),
            span(_ms(turn.took_ms), Tone.STRONG),
            models,
            span(f"turn {look.safe(turn.turn, 40)}", Tone.DIM),
        ]
    )
    lines = [title]
    names = min(_NAMES, max((width(_name(a, frame)) for a in turn.attempts), default=8), max(8, cells // 3))
    room = max(_BAR[0], min(_BAR[1], cells - names - 34))
    total = max(1, turn.took_ms, *(a.at_ms + (a.ms or 0) for a in turn.attempts)) if turn.attempts else 1
    for attempt in turn.attempts:
        lines += _attempt(attempt, frame, names, room, total)
    if not turn.attempts:
        lines.append(span("  no call was made: every candidate was skipped", Tone.WARN))
    lines += [(("  ", Tone.TEXT), (look.safe(notice), Tone.INFO)) for notice in turn.notices]
    return lines


def _attempt(attempt: AttemptView, frame: Frame, names: int, room: int, total: int) -> list[Line]:
    look, glyphs = frame.look, frame.look.glyphs
    tone = _OUTCOME.get(attempt.outcome, Tone.TEXT)
    start = min(room - 1, attempt.at_ms * room // total)
    length = max(1, min(room - start, round((attempt.ms or 0) * room / total)))
    bar: Line = (("." * start if look.ascii_only else "·" * start, Tone.DIM), (glyphs.full * length, tone))
    because = " ".join(str(part) for part in (attempt.status, look.safe(attempt.reason)) if part)
    word = look.safe(attempt.outcome)
    name = shorten(_name(attempt, frame), names, ellipsis=glyphs.ellipsis)
    clock = f"{_ms(attempt.at_ms):>6} {'+' + _ms(attempt.ms) if attempt.ms is not None else '':>7} "
    lines: list[Line] = [
        (
            ("  ", Tone.TEXT),
            *pad(span(name, Tone.STRONG), names),
            (" ", Tone.TEXT),
            (clock, Tone.DIM),
            *pad(bar, room),
            (f" {word} {because}", tone),
        )
    ]
    if attempt.error:
        lines.append((("      ", Tone.TEXT), (f"{glyphs.bar} {look.safe(attempt.error)}", Tone.TEXT)))
    return lines


def _name(attempt: AttemptView, frame: Frame) -> str:
    safe = frame.look.safe
    return f"{safe(attempt.ref)} {safe(attempt.profile)}".rstrip()


def _ms(ms: int | None) -> str:
    if ms is None:
        return ""
    return f"{ms}ms" if ms < 10_000 else f"{ms / 1000:.1f}s" if ms < 600_000 else f"{ms // 60_000}m"


def fields(detail: SessionDetail | None, frame: Frame) -> list[Line]:
    """Each field that is set: its value, and who wrote it when."""
    if detail is None:
        return [span("asking the engine", Tone.DIM)]
    if not detail.fields:
        return [span("no field is set", Tone.DIM)]
    names = min(34, max(width(frame.look.safe(field.name)) for field in detail.fields))
    return [_field(field, frame, names) for field in detail.fields]


def _field(field: FieldView, frame: Frame, names: int) -> Line:
    look = frame.look
    name = pad(span(look.safe(field.name), Tone.DIM), names)
    at = f" {times.stamp(field.at, frame.now, utc=look.utc)}" if field.at is not None else ""
    by = f"by {look.safe(field.by)}{at}" if field.by else "from before this engine started"
    value = look.safe(field.value)
    if field.name.endswith(("At", "Until", "Since")) and field.value.isdecimal() and len(field.value) < 16:
        value = times.stamp(int(field.value), frame.now, utc=look.utc)
    return (*name, (f"  {value}  ", Tone.TEXT), (by, Tone.DIM))
