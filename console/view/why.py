"""The "why" view: decision records as sentences with their rule, their numbers and the provider's own words.

Records come as JSON from the engine and are foreign: nothing here trusts a type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.view import times
from console.view.frame import Frame
from console.view.lines import Line, Tone, join, span

Record = Mapping[str, object]

_WORDS = {
    "skip_candidate": ("skipped", Tone.WARN),
    "probe_cooldown_candidate": ("probed through its window", Tone.INFO),
    "candidate_failed": ("failed", Tone.BAD),
    "candidate_succeeded": ("answered", Tone.OK),
    "candidate_redirected": ("passed over by a live switch", Tone.INFO),
    "turn_finished": ("turn finished", Tone.STRONG),
}


def text_of(record: Record, name: str) -> str | None:
    value = record.get(name)
    return None if value is None else str(value)


def number_of(record: Record, name: str) -> int | None:
    value = record.get(name)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e16 else None


def draw(records: Sequence[Record], frame: Frame) -> tuple[Line, ...]:
    """Newest turn first, and inside a turn in the order in which things happened."""
    turns: dict[str, list[Record]] = {}
    for record in records:
        turns.setdefault(text_of(record, "turn") or "?", []).append(record)
    lines: list[Line] = []
    for turn, members in turns.items():
        ordered = list(reversed(members))
        lines += [_title(turn, ordered, frame), *(line for record in ordered for line in _record(record, frame)), ()]
    return tuple(lines) or (span("No decisions are recorded for this session yet.", Tone.DIM),)


def _title(turn: str, records: Sequence[Record], frame: Frame) -> Line:
    look = frame.look
    end = next((r for r in records if r.get("decision") == "turn_finished"), None)
    at = number_of(end or records[0], "at")
    parts: list[Line] = [
        span(f"turn {look.safe(turn, 24)}", Tone.STRONG),
        span(times.stamp(at, frame.now, utc=look.utc), Tone.DIM),
        span(f"asked for {_ref(records[0], 'requested', frame)}", Tone.TEXT),
    ]
    if end is not None:
        outcome = text_of(end, "outcome") or "finished"
        parts.append(span(look.safe(outcome), Tone.OK if outcome == "ok" else Tone.BAD))
        calls = number_of(end, "upstreamCalls")
        if calls is not None:
            parts.append(span(f"{calls} call{'s' if calls != 1 else ''}", Tone.DIM))
    else:
        parts.append(span("in flight", Tone.INFO))
    return join(parts)


def _ref(record: Record, prefix: str, frame: Frame) -> str:
    provider, model = text_of(record, f"{prefix}Provider"), text_of(record, f"{prefix}Model")
    if model is None:
        return ""
    return frame.look.safe(f"{provider}/{model}" if provider else model)


def _record(record: Record, frame: Frame) -> list[Line]:
    look = frame.look
    decision = text_of(record, "decision") or "?"
    if decision == "turn_finished":
        return []
    word, tone = _WORDS.get(decision, (look.safe(decision), Tone.TEXT))
    place, total = number_of(record, "attempt"), number_of(record, "total")
    number = f"{place}/{total}" if place is not None and total is not None else ""
    status = text_of(record, "status")
    because = " ".join(look.safe(part) for part in (status, text_of(record, "code"), text_of(record, "reason")) if part)
    head = [
        span(f"  {number:>4}", Tone.DIM),
        span(_ref(record, "candidate", frame) or "?", Tone.STRONG),
        span(look.safe(text_of(record, "profile"))),
        span(word, tone),
        span(because, tone),
    ]
    count = number_of(record, "count")
    if count is not None and count > 1:
        head.append(span(f"{look.glyphs.times}{count}", Tone.DIM))
    lines = [join(part for part in head if part[0][0])]
    tail: list[Line] = [span(f"rule {look.safe(text_of(record, 'rule') or 'none recorded')}", Tone.INFO)]
    until = number_of(record, "until")
    if until is not None:
        left = times.countdown(until, frame.now) if until > frame.now else "over"
        tail.append(span(f"window until {times.stamp(until, frame.now, utc=look.utc)} ({left})", Tone.DIM))
    following = _ref(record, "nextCandidate", frame)
    # After an answer the next candidate is only what would have come.
    if following and decision != "candidate_succeeded":
        tail.append(span(f"{look.glyphs.arrow} {following}", Tone.DIM))
    lines.append((("       ", Tone.TEXT), *join(tail)))
    lines += [(("       ", Tone.TEXT), (look.safe(text), Tone.DIM)) for text in (text_of(record, "detail"),) if text]
    if error := text_of(record, "error"):
        lines += [(("       ", Tone.TEXT), (f"{look.glyphs.bar} ", Tone.DIM), (part, Tone.TEXT)) for part in look.block(error)]
    return lines
