"""The durable `StateStore`: sends each change to the lane of its file and puts the files' contents together. No SQL, no transactions;
no mutation spans two files, so there is nothing to coordinate but the order of one commit after what was enqueued before it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

from engine.domain.decisions import EVERY, Matching
from engine.domain.errors import StoreError
from engine.domain.ids import MAIN_AGENT, AgentId
from engine.domain.store import AppendDecision, Change, Stored
from store.effects import home_of
from store.paths import ELSEWHERE, StateDirectory
from store.sqlite.database import Database
from store.sqlite.lane import USUAL, Lane, Timing
from store.sqlite.loading import Loaded
from store.sqlite.schema import Kind

log = logging.getLogger("failover.store")
Home = AgentId | None


class SqliteStore:
    """Belongs to one event loop. `open` first, `close` in a finally: each open file has a thread that keeps the process alive."""

    def __init__(self, directory: StateDirectory, timing: Timing = USUAL) -> None:
        self._directory = directory
        self._timing = timing
        self._lanes: dict[Home, Lane] = {}
        self._looking = asyncio.Lock()
        self._refused: set[AgentId] = set()
        self._complaint: str | None = None

    async def open(self) -> Stored:
        """Also creates what is not there: the directory, the shared file and `main`'s. Raises StoreError; then nothing is left open."""
        try:
            notes = list(await asyncio.to_thread(self._directory.prepare))
            agents = await asyncio.to_thread(self._directory.stored_agents)
            homes: list[Home] = [None, *dict.fromkeys((MAIN_AGENT, *agents))]
            lanes = [self._lane(home) for home in homes]
            loaded = await asyncio.gather(*(lane.database.open() for lane in lanes), return_exceptions=True)
            for result in loaded:
                if isinstance(result, BaseException):
                    raise result
            notes.extend(note for lane in lanes for note in lane.database.notes)
            found = {home: result for home, result in zip(homes, loaded, strict=True) if not isinstance(result, BaseException)}
            return _put_together(found, notes)
        except OSError as problem:
            await self.close()
            happened = f"{self._directory.root}: {problem.strerror}."
            raise StoreError("The state directory cannot be used", happened, ELSEWHERE) from problem
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Flushes what was enqueued, then closes every connection. Safe to call twice; logs what could not be written."""
        await asyncio.gather(*(lane.close() for lane in self._lanes.values()))

    async def commit(self, changes: Sequence[Change]) -> Sequence[bool]:
        """Durable when it returns, with everything enqueued before that can be written (`trouble` names the file of what cannot).
        False = `not_applied`. Raises StoreError: nothing of the file it names was written, now or later. Cancelled: it is written later.
        Without changes: everything enqueued before, in all files, is durable, or StoreError."""
        places: dict[Home, list[int]] = {} if changes else {home: [] for home in self._lanes}
        for place, change in enumerate(changes):
            places.setdefault(home_of(change), []).append(place)
        lanes = {home: self._lane(home) for home in places}
        own = [(places[home], lane.submit([changes[place] for place in places[home]])) for home, lane in lanes.items()]
        others = [lane.submit(()) for home, lane in self._lanes.items() if home not in lanes and lane.is_busy and not lane.trouble]
        await asyncio.gather(*(answer for _, answer in own), *others, return_exceptions=True)
        answers = [False] * len(changes)
        for group, answer in own:
            for place, applied in zip(group, answer.result(), strict=True):
                answers[place] = applied
        return answers

    def enqueue(self, changes: Sequence[Change]) -> None:
        """Written within 100 ms, in order. Never blocks, never raises: a change that no store could take is logged."""
        places: dict[Home, list[Change]] = {}
        for change in changes:
            places.setdefault(home_of(change), []).append(change)
        for home, group in places.items():
            try:
                self._lane(home).enqueue(group)
            except StoreError as problem:
                log.error("%d changes are lost: %s", len(group), problem)

    async def foreign(self) -> Stored | None:
        """The state as stored with our own unwritten changes laid over it, if another process wrote since the last look. Nothing of
        ours is older in it than in the caller's memory, provided that the caller takes it over before its next await."""
        async with self._looking:
            notes = await self._meet_agents()
            lanes = dict(self._lanes)
            try:
                if not any([await lane.look() for lane in lanes.values()]) and not notes:
                    return None
                loaded = {home: await lane.database.load() for home, lane in lanes.items()}
            except StoreError as problem:
                # A part of the state would look like the rest had been removed: rather none until all of it can be read.
                for lane in lanes.values():
                    lane.database.forget_seen()
                self._complain(str(problem))
                return None
            finally:
                unwritten = {home: lane.unwritten() for home, lane in lanes.items()}
            for home, part in loaded.items():
                part.lay_over(unwritten[home])
            return _put_together(loaded, notes)

    async def _meet_agents(self) -> list[str]:
        """Opens what other processes have made since the last look; one note for each, and what its file needed."""
        notes: list[str] = []
        try:
            agents = await asyncio.to_thread(self._directory.stored_agents)
        except OSError as problem:
            self._complain(str(problem))
            return notes
        for agent in agents:
            if agent in self._lanes or agent in self._refused:
                continue
            lane = self._lane(agent)
            try:
                await lane.database.open()
                notes.extend((f"agent {agent} was added by another process", *lane.database.notes))
            except StoreError as problem:
                self._refused.add(agent)
                del self._lanes[agent]
                await lane.close()
                self._complain(str(problem))
        return notes

    def _complain(self, problem: str) -> None:
        """Once, not four times a second."""
        if problem != self._complaint:
            log.warning("a foreign change could not be read: %s", problem)
            self._complaint = problem

    @property
    def trouble(self) -> str | None:
        """One sentence a file that cannot be written."""
        return " ".join(lane.trouble for lane in self._lanes.values() if lane.trouble) or None

    @property
    def transactions(self) -> int:
        """Committed so far, over all files: what group commit saves is measured with it."""
        return sum(lane.database.transactions for lane in self._lanes.values())

    async def decisions(
        self, *, session: str | None = None, turn: str | None = None, limit: int = 100, matching: Matching = EVERY
    ) -> Sequence[Mapping[str, object]]:
        """Newest first, those that wait to be written included. Raises StoreError."""
        shared = self._lane(None)
        waiting: list[Mapping[str, object]] = []
        if shared.is_busy:
            try:
                await shared.submit(())
            except StoreError:
                records = (change.record for change in reversed(shared.waiting) if isinstance(change, AppendDecision))
                mine = (r for r in records if session in (None, r.get("session")) and turn in (None, r.get("turn")))
                waiting = [r for r in mine if matching.admits(r)][:limit]
        return [*waiting, *await shared.database.decisions(session, turn, limit - len(waiting), matching)]

    def _lane(self, home: Home) -> Lane:
        """Raises StoreError for an agent id that is no file name."""
        if home not in self._lanes:
            path = self._directory.shared_file if home is None else self._directory.agent_file(home)
            kind: Kind = "shared" if home is None else "agent"
            self._lanes[home] = Lane(Database(path, kind, self._timing.busy_timeout_ms), self._timing)
        return self._lanes[home]


def _put_together(parts: Mapping[Home, Loaded], notes: Sequence[str]) -> Stored:
    shared = parts[None]
    agents = {home: part.agent for home, part in parts.items() if home is not None}
    told = (*notes, *(note for part in parts.values() for note in part.notes))
    return Stored(agents, shared.sessions, shared.off, told, shared.feed, shared.answers, shared.leases)
