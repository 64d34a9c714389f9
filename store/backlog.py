"""What waits to be written, in order: patches of one record are folded into one before they are written, and while a disk is full, so
that it stays bounded; then the oldest log records go. State is never dropped. Pure; the writer is `store.sqlite.lane`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.domain.store import AppendDecision, AppendFeed, Change, DropSession, PatchSession, PatchUsage, RemoveCredential
from store.codec import USAGE_MAPS

LIMIT = 20_000


@dataclass(slots=True, eq=False)
class Unit:
    """Changes of one file that were given together. answer: who waits for them, None when nobody does."""

    changes: tuple[Change, ...]
    answer: asyncio.Future[tuple[bool, ...]] | None = None

    @property
    def has_failed(self) -> bool:
        """Whoever waited was told that nothing of it is written."""
        return self.answer is not None and self.answer.done() and not self.answer.cancelled() and self.answer.exception() is not None


class Backlog:
    """A queue of units. dropped: log records that found no room."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._units: list[Unit] = []
        self._limit = limit
        self._count = 0
        self._shrink_above = limit
        self.dropped = 0

    def __bool__(self) -> bool:
        return bool(self._units)

    def __len__(self) -> int:
        """Changes, not units."""
        return self._count

    @property
    def units(self) -> Sequence[Unit]:
        return self._units

    def add(self, unit: Unit) -> None:
        self._units.append(unit)
        self._count += len(unit.changes)
        self._bound()

    def take(self) -> list[Unit]:
        """Everything, oldest first; nothing waits any more."""
        units, self._units, self._count = self._units, [], 0
        return units

    def put_back(self, units: Iterable[Unit]) -> None:
        """Before everything that came meanwhile."""
        self._units = [*units, *self._units]
        self._count = sum(len(unit.changes) for unit in self._units)
        self._bound()

    def _bound(self) -> None:
        if self._count <= self._shrink_above:
            return
        self._units = fold(self._units)
        logs = [unit for unit in self._units if unit.answer is None and isinstance(unit.changes[0], AppendDecision | AppendFeed)]
        surplus = len(self._units) - self._limit // 2
        gone = set(map(id, logs[: max(0, surplus)]))
        self._units = [unit for unit in self._units if id(unit) not in gone]
        self.dropped += len(gone)
        self._count = sum(len(unit.changes) for unit in self._units)
        # Shrinking costs as much as there is: not again before it has doubled.
        self._shrink_above = max(self._limit, 2 * self._count)


def fold(units: Iterable[Unit]) -> list[Unit]:
    """The same end state with fewer changes: what nobody waits for comes one change a unit, and a patch joins the last patch of the
    same record unless something else touched that record in between."""
    folded: list[Unit] = []
    anchors: dict[tuple[str, str], int] = {}
    for unit in units:
        if unit.answer is not None:
            for change in unit.changes:
                anchors.pop(_record_of(change), None)
            folded.append(unit)
            continue
        for change in unit.changes:
            place = _record_of(change)
            at = anchors.get(place)
            joined = _joined(folded[at].changes[0], change) if at is not None else None
            if at is not None and joined is not None:
                folded[at] = Unit((joined,))
            else:
                anchors[place] = len(folded)
                folded.append(Unit((change,)))
    return folded


def _record_of(change: Change) -> tuple[str, str]:
    match change:
        case PatchSession() | DropSession():
            return ("session", change.session)
        case PatchUsage() | RemoveCredential():
            return ("usage", change.profile)
        case _:
            return ("", "")


def _joined(first: Change, second: Change) -> Change | None:
    """One patch that does what both did in turn, None when there is none."""
    if isinstance(first, PatchSession) and isinstance(second, PatchSession) and second.expect is None:
        # first's own condition must not come to decide about second's fields.
        return replace(first, fields={**first.fields, **second.fields}) if first.expect is None else None
    if isinstance(first, PatchUsage) and isinstance(second, PatchUsage):
        fields = dict(first.fields)
        for name, value in second.fields.items():
            before = fields.get(name)
            if name in USAGE_MAPS and name in fields and value is not None:
                if not isinstance(before, Mapping) or not isinstance(value, Mapping):
                    return None  # "emptied, then filled" is not one patch
                fields[name] = {**before, **value}
            else:
                fields[name] = value
        return replace(first, fields=fields)
    return None
