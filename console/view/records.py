"""Decision records as they are read: they come as JSON from the engine and are foreign, so nothing here trusts a type. How they are worded
is the business of `why` and `cause`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.view.frame import Frame

Record = Mapping[str, object]
Turn = Sequence[Record]
"""The records of one turn, in the order in which things happened."""


def text_of(record: Record, name: str) -> str | None:
    value = record.get(name)
    return None if value is None else str(value)


def number_of(record: Record, name: str) -> int | None:
    value = record.get(name)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e16 else None


def ref_of(record: Record, prefix: str, frame: Frame) -> str:
    """prefix: `requested`, `candidate` or `nextCandidate`. Harmless to draw; empty when it names none."""
    provider, model = text_of(record, f"{prefix}Provider"), text_of(record, f"{prefix}Model")
    if model is None:
        return ""
    return frame.look.safe(f"{provider}/{model}" if provider else model)


def answer_of(record: Record, frame: Frame) -> str:
    """What the provider answered, as numbers and words: `429 rate_limit_error rate_limit`."""
    parts = (text_of(record, "status"), text_of(record, "code"), text_of(record, "reason"))
    return " ".join(frame.look.safe(part) for part in parts if part)


def turns_of(records: Sequence[Record]) -> list[Turn]:
    """Records, newest first, by their turns, newest first."""
    turns: dict[str, list[Record]] = {}
    for record in records:
        turns.setdefault(text_of(record, "turn") or "?", []).append(record)
    return [members[::-1] for members in turns.values()]


def end_of(turn: Turn) -> Record | None:
    """The record that closes the turn; None while it is in flight."""
    return next((record for record in turn if record.get("decision") == "turn_finished"), None)


def is_failure(record: Record) -> bool:
    return record.get("decision") in ("candidate_failed", "skip_candidate")
