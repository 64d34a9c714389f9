"""The "why" view: decision records as sentences with their rule and its meaning, their numbers and the provider's own words.

Turns in which nothing happened are one line together. What caused what is `cause`'s business."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from console.view import records, rules, times
from console.view.frame import Frame
from console.view.lines import Line, Tone, join, span
from console.view.records import Record, Turn

_WORDS = {
    "skip_candidate": ("skipped", Tone.WARN),
    "probe_cooldown_candidate": ("probed through its window", Tone.INFO),
    "candidate_failed": ("failed", Tone.BAD),
    "candidate_succeeded": ("answered", Tone.OK),
    "candidate_redirected": ("passed over by a live switch", Tone.INFO),
}
_INDENT = ("       ", Tone.TEXT)


def draw(found: Sequence[Record], frame: Frame) -> tuple[Line, ...]:
    """Newest turn first, and inside a turn in the order in which things happened."""
    lines: list[Line] = []
    for plain, members in groupby(records.turns_of(found), key=lambda turn: _uneventful(turn, frame)):
        turns = list(members)
        if plain is not None:
            lines += [_run(turns, plain, frame), ()]
            continue
        for turn in turns:
            lines += [_title(turn, frame), *(line for record in turn for line in _record(record, frame)), ()]
    return tuple(lines[:-1]) or (span("No decisions are recorded for this session yet.", Tone.DIM),)


def _uneventful(turn: Turn, frame: Frame) -> tuple[str, str] | None:
    """Model and profile of a turn whose first candidate was free and answered at once; None for every other."""
    end = records.end_of(turn)
    if end is None or end.get("outcome") != "ok" or len(turn) != 2:
        return None
    first = turn[0]
    if first.get("decision") != "candidate_succeeded" or first.get("rule") != "gate.open" or records.number_of(first, "attempt") != 1:
        return None
    return records.ref_of(first, "candidate", frame), frame.look.safe(records.text_of(first, "profile"))


def _run(turns: Sequence[Turn], what: tuple[str, str], frame: Frame) -> Line:
    """turns: newest first."""
    newest, oldest = turns[0], turns[-1]
    last = _at(newest, frame)
    one = len(turns) == 1
    parts: list[Line] = [
        span(f"{len(turns)} turn{'' if one else 's'} ok", Tone.OK),
        span(last if one else f"{_at(oldest, frame)} to {last}", Tone.DIM),
        span(what[0], Tone.STRONG),
        span(what[1]),
        span(f"turn {frame.look.safe(records.text_of(newest[0], 'turn'), 24)}" if one else "at the first attempt", Tone.DIM),
    ]
    return join(parts)


def _at(turn: Turn, frame: Frame) -> str:
    return times.stamp(records.number_of(records.end_of(turn) or turn[0], "at"), frame.now, utc=frame.look.utc)


def _title(turn: Turn, frame: Frame) -> Line:
    look = frame.look
    end = records.end_of(turn)
    parts: list[Line] = [
        span(f"turn {look.safe(records.text_of(turn[0], 'turn') or '?', 24)}", Tone.STRONG),
        span(_at(turn, frame), Tone.DIM),
        span(f"started from {records.ref_of(turn[0], 'requested', frame) or '?'}", Tone.TEXT),
    ]
    if end is not None:
        outcome = records.text_of(end, "outcome") or "finished"
        parts.append(span(look.safe(outcome), Tone.OK if outcome == "ok" else Tone.BAD))
        calls = records.number_of(end, "upstreamCalls")
        if calls is not None:
            parts.append(span(f"{calls} call{'s' if calls != 1 else ''}", Tone.DIM))
    else:
        parts.append(span("in flight", Tone.INFO))
    return join(parts)


def _record(record: Record, frame: Frame) -> list[Line]:
    look = frame.look
    decision = records.text_of(record, "decision") or "?"
    if decision == "turn_finished":
        return []
    word, tone = _WORDS.get(decision, (look.safe(decision), Tone.TEXT))
    place, total = records.number_of(record, "attempt"), records.number_of(record, "total")
    number = f"{place}/{total}" if place is not None and total is not None else ""
    head = [
        span(f"  {number:>4}", Tone.DIM),
        span(records.ref_of(record, "candidate", frame) or "?", Tone.STRONG),
        span(look.safe(records.text_of(record, "profile"))),
        span(word, tone),
        span(records.answer_of(record, frame), tone),
    ]
    count = records.number_of(record, "count")
    if count is not None and count > 1:
        head.append(span(f"{look.glyphs.times}{count}", Tone.DIM))
    lines = [join(part for part in head if part[0][0])]
    tail: list[Line] = []
    until = records.number_of(record, "until")
    if until is not None:
        left = times.left(until, frame.now, reduced_motion=look.reduced_motion)
        tail.append(span(f"window until {times.stamp(until, frame.now, utc=look.utc)} ({left})", Tone.DIM))
    following = records.ref_of(record, "nextCandidate", frame)
    # After an answer the next candidate is only what would have come.
    if following and decision != "candidate_succeeded":
        tail.append(span(f"{look.glyphs.arrow} {following}", Tone.DIM))
    if tail:
        lines.append((_INDENT, *join(tail)))
    rule = records.text_of(record, "rule")
    sentence = rules.meaning(rule)
    lines.append((_INDENT, (f"rule {look.safe(rule) or 'none recorded'}", Tone.INFO), (f": {sentence}" if sentence else "", Tone.DIM)))
    lines += [(_INDENT, (look.safe(text), Tone.DIM)) for text in (records.text_of(record, "detail"),) if text]
    if error := records.text_of(record, "error"):
        lines += [(_INDENT, (f"{look.glyphs.bar} ", Tone.DIM), (part, Tone.TEXT)) for part in look.block(error)]
    return lines
