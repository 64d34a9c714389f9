"""Since when the operator has not looked: what `i` compares with. Somebody who comes back to the terminal wants what happened meanwhile,
and the key with which they wake the screen must not cost them that.

Values and a rule; it draws nothing and reads no clock."""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.snapshot import Snapshot

AWAY_MS = 10_000
"""A shorter pause between two keys is reading, not absence."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was there at an instant. seq: of the last entry of the feed."""

    snapshot: Snapshot | None = None
    seq: int = 0


class Presence:
    """Before any absence `i` compares with the last key before it; after one in which something happened, with the last key before the
    absence, until it has been looked at. A second absence does not move that mark."""

    def __init__(self) -> None:
        self._before = self._last = Baseline()
        self._last_at: int | None = None
        self._mark: Baseline | None = None

    @property
    def since(self) -> Baseline:
        """What the header counts from."""
        return self._mark or self._last

    def began(self, here: Baseline) -> None:
        """The first snapshot is there; nothing before it can have been missed."""
        if self._last.snapshot is None:
            self._before = self._last = here

    def key(self, at: int, here: Baseline) -> None:
        """A key was pressed at `at` (epoch ms)."""
        away = self._last_at is not None and at - self._last_at >= AWAY_MS
        if away and self._mark is None and here.seq > self._last.seq:
            self._mark = self._last
        self._before, self._last, self._last_at = self._last, here, at

    def look(self) -> Baseline:
        """What to compare with now; with that it has been looked at. The key that asks has been told to `key` already."""
        found, self._mark = self._mark or self._before, None
        return found
