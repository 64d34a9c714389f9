"""The notice feed: the newest lines that a person reads, in memory and, by the writer, in the store. What a line says is decided where
it happens; here it is numbered, masked and kept. No events: those are for machines and go through the bus."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from engine.domain.ids import ProfileId, SessionKey
from engine.domain.redaction import Redactor
from engine.domain.snapshot import FeedEntry
from engine.domain.store import AppendFeed, Change

KEPT = 500
_FIELDS = tuple(f.name for f in fields(FeedEntry))
_TEXT_FIELDS = ("severity", "kind", "text")


class Feed:
    """put: takes store changes, never blocks."""

    def __init__(self, now: Callable[[], int], redactor: Redactor, put: Callable[[list[Change]], None], touch: Callable[[], None]) -> None:
        self._now = now
        self._redactor = redactor
        self._put = put
        self._touch = touch
        self._lines: deque[FeedEntry] = deque(maxlen=KEPT)
        self._seq = 0
        self._frozen: tuple[FeedEntry, ...] | None = ()

    def restore(self, records: Iterable[Mapping[str, object]]) -> None:
        """What an earlier process left, oldest first; a record that does not fit is passed over. Numbers go on from there."""
        for record in records:
            seq, at = record.get("seq"), record.get("at")
            if not isinstance(seq, int) or not isinstance(at, int) or not all(isinstance(record.get(name), str) for name in _TEXT_FIELDS):
                continue
            # Several processes number their lines apart from each other.
            self._seq = max(self._seq + 1, seq)
            known: dict[str, Any] = {name: record[name] for name in _FIELDS if name in record}
            self._lines.append(FeedEntry(**{**known, "seq": self._seq}))
        self._frozen = None

    def say(
        self,
        severity: str,
        kind: str,
        text: str,
        *,
        session: SessionKey | None = None,
        provider: str | None = None,
        profile: ProfileId | None = None,
        turn: str | None = None,
        stored: bool = True,
    ) -> FeedEntry:
        """stored False: whoever did it has written it down."""
        self._seq += 1
        line = FeedEntry(self._seq, self._now(), severity, kind, self._redactor.mask(text), session, provider, profile, turn)
        self._lines.append(line)
        self._frozen = None
        if stored:
            self._put([AppendFeed({name: value for name in _FIELDS if (value := getattr(line, name)) is not None})])
        self._touch()
        return line

    @property
    def lines(self) -> tuple[FeedEntry, ...]:
        """At most 500, oldest first."""
        if self._frozen is None:
            self._frozen = tuple(self._lines)
        return self._frozen
