"""A store that keeps nothing on a disk: `simulate` and tests. The same changes, the same answers as the SQLite store, at once.
A restart in a scenario opens the same object again."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from engine.domain.decisions import EVERY, Matching
from engine.domain.errors import StoreError
from engine.domain.ids import MAIN_AGENT, AgentId
from engine.domain.store import Change, Stored
from store.effects import effects_of, home_of
from store.rows import Notes, Rows, read_agent, read_answers, read_feed, read_leases, read_off, read_sessions

log = logging.getLogger("failover.store")


class MemoryStore:
    """A `StateStore`. Nothing goes wrong here: `trouble` is None for ever, nobody else writes."""

    def __init__(self) -> None:
        self._files: dict[AgentId | None, Rows] = {None: Rows(), MAIN_AGENT: Rows()}

    async def open(self) -> Stored:
        shared, notes = self._files[None], Notes("memory")
        agents = {agent: read_agent(rows, notes) for agent, rows in self._files.items() if agent is not None}
        sessions, off = read_sessions(shared.tables["sessions"], notes), read_off(shared, notes)
        return Stored(agents, sessions, off, notes.lines(), read_feed(shared), read_answers(shared, notes), read_leases(shared, notes))

    async def close(self) -> None:
        """What was written stays, for the next `open`."""

    async def commit(self, changes: Sequence[Change]) -> Sequence[bool]:
        try:
            for change in changes:
                effects_of(change)  # all or nothing
            return [self._apply(change) for change in changes]
        except (ValueError, TypeError) as problem:
            raise StoreError(
                "A change cannot be stored", f"{type(problem).__name__}: {problem}", "this is a defect; please report it"
            ) from problem

    def enqueue(self, changes: Sequence[Change]) -> None:
        for change in changes:
            try:
                self._apply(change)
            except (ValueError, TypeError) as problem:
                log.error("%s cannot be stored: %s", type(change).__name__, problem)

    async def foreign(self) -> Stored | None:
        return None

    @property
    def trouble(self) -> str | None:
        return None

    async def decisions(
        self, *, session: str | None = None, turn: str | None = None, limit: int = 100, matching: Matching = EVERY
    ) -> Sequence[Mapping[str, object]]:
        found: list[Mapping[str, object]] = []
        for record in reversed(self._files[None].logs["decisions"]):
            if len(found) >= limit:
                break
            if session in (None, record.get("session")) and turn in (None, record.get("turn")) and matching.admits(record):
                found.append(record)
        return found

    def _apply(self, change: Change) -> bool:
        return self._files.setdefault(home_of(change), Rows()).apply(change)
