"""The engine: puts its parts together, starts and stops them, begins turns, and is what console, command line and gateway talk to
(`Operations`). It holds no rule, speaks no HTTP and knows no screen; one event loop owns it."""

from __future__ import annotations

import asyncio
import logging
import secrets as random
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from engine.domain.acts import Act, ActResult
from engine.domain.clock import Clock
from engine.domain.credentials import Credential
from engine.domain.decisions import EVERY, Matching
from engine.domain.errors import FailoverError
from engine.domain.exchange import Payload, Upstream
from engine.domain.foresight import Assumption, Moves, SessionDetail, WhatIf
from engine.domain.ids import MAIN_AGENT, ProfileId, SessionKey, TurnId
from engine.domain.operations import Event
from engine.domain.redaction import SINK, Redactor
from engine.domain.sessions import Session
from engine.domain.settings import Settings
from engine.domain.snapshot import Preview, Snapshot
from engine.domain.store import StateStore
from engine.domain.stored_answers import StoredAnswer
from engine.domain.turns import TurnOutcome, TurnRequest
from engine.live.activity import Activity
from engine.live.alarms import Alarms
from engine.live.bus import EventBus
from engine.live.driver import Driver, cut_off
from engine.live.effects import patch_session
from engine.live.endings import Endings
from engine.live.feed import Feed
from engine.live.foreign import ForeignWrites
from engine.live.foresight import Foresight
from engine.live.health import any_usable
from engine.live.housekeeping import Housekeeping, WallClock
from engine.live.leases import Leases
from engine.live.memory import Memory
from engine.live.oauth import TokenRefresher
from engine.live.operate import Operator
from engine.live.parts import Parts
from engine.live.provenance import Provenance
from engine.live.records import DerivedSessions, inherited, split_record
from engine.live.reload import ConfigWatch
from engine.live.revision import Revision
from engine.live.secrets import Secrets
from engine.live.startup import put_in_order
from engine.live.trials import TrialBell
from engine.live.turn import LiveTurn
from engine.live.usual import owner_of, usual_request
from engine.live.view import OFFLINE, Frame, SnapshotMaker
from engine.live.writer import Writer
from engine.policy.preview import preview
from engine.policy.windows import active

log = logging.getLogger("failover.live")

KILL_S = 2.0
"""How long cancelled turns may take to say goodbye when the engine stops."""


class FailoverEngine:
    """Implements `Operations`. `start` first, `stop` in a finally. Made outside the loop, used inside it.

    environ: where `env:` references look. config_path: read again when it changes (None: never). speed: of policy time (the demo).
    shared: other processes may serve the same state.
    redactor: the process's sink unless a test wants its own. token_client: how the token endpoint is called.
    """

    def __init__(
        self,
        settings: Settings,
        store: StateStore,
        upstream: Upstream,
        *,
        clock: Clock,
        environ: Mapping[str, str],
        read_only: bool = False,
        shared: bool = False,
        config_path: Path | None = None,
        mode: str = "LIVE",
        speed: float = 1.0,
        address: str = "",
        version: str = "",
        warnings: tuple[str, ...] = (),
        redactor: Redactor | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        token_client: Callable[[], httpx.AsyncClient] | None = None,
    ) -> None:
        self._store = store
        self._frame = Frame(mode, speed, address, version, read_only)
        self._adopted: dict[ProfileId, Credential] = {}
        self._turns: dict[asyncio.Task[None], LiveTurn] = {}
        self._ticker: asyncio.Task[None] | None = None
        redactor = redactor if redactor is not None else SINK
        memory, revision = Memory(), Revision()
        self._wall = WallClock(clock.now_ms, clock.wall_ms)
        writer = Writer(store, monotonic)
        self._derived = DerivedSessions(memory, self._forget)
        bus = EventBus(clock.now_ms, redactor, caller=self._derived.caller)
        feed = Feed(clock.now_ms, redactor, writer.put, revision.touch)
        writer.alarms = Alarms(bus, feed, revision.touch)
        activity = Activity(clock.now_ms, monotonic, revision.touch_session)
        secrets = Secrets(environ, redactor, monotonic)
        trials = TrialBell(memory)
        leases = Leases(memory, writer, trials, clock.wall_ms, shared=shared)
        parts = self._parts = Parts(
            clock=clock,
            speed=speed,
            wall=self._wall,
            memory=memory,
            writer=writer,
            bus=bus,
            feed=feed,
            alarms=writer.alarms,
            activity=activity,
            revision=revision,
            redactor=redactor,
            secrets=secrets,
            tokens=TokenRefresher(memory, writer, secrets, clock, self._merge, token_client),
            trials=trials,
            leases=leases,
            upstream=upstream,
            derived=self._derived,
            provenance=Provenance(redactor),
            window_opened=lambda *opened: self._endings.note_window(*opened),
            window_cleared=lambda *cleared: self._endings.forget_window(*cleared),
            pin_set=lambda key: self._endings.note_session(key),
        )
        self._endings = Endings(parts)
        self._foreign = ForeignWrites(parts, store, self._adopt)
        self._config = ConfigWatch(parts, settings, config_path, environ, self._adopt)
        self._config.warnings = warnings
        self.told_at_start: tuple[str, ...] = ()
        self._operator = Operator(parts, self._settings_now, self._config.reload, read_only=read_only)
        self._foresight = Foresight(parts, self._settings_now)
        self._view = SnapshotMaker(parts, self._frame, self._endings, self._settings_now, self._warnings_now, self._undo_now)
        self._housekeeping = Housekeeping(
            parts, self._wall, self._endings, self._foreign, self._config, self._derived, self._settings_now, self._read_secrets
        )

    # --- life ----------------------------------------------------------------------------------------------------------

    async def start(self, *, ticking: bool = True) -> None:
        """State is restored and in order; the summary stands in the feed. Raises StoreError. ticking False: `tick` is called by hand."""
        parts = self._parts
        stored = await self._store.open()
        parts.memory.restore(stored)
        parts.leases.adopt(stored.leases)
        parts.feed.restore(stored.feed)
        found = put_in_order(parts.memory, self.settings, parts.clock.now_ms(), parts.wall())
        self._adopt()
        await self._read_secrets()
        parts.writer.put(found.changes)
        self.told_at_start = stored.notes
        for note in stored.notes:
            parts.feed.say("warning", "start", note)
        for key, profile in found.pins:
            parts.feed.say("notice", "pin", f"{key}: the pin to {profile} has ended", session=key)
        if self._frame.mode != OFFLINE:
            # A command that works on the state itself is no start that anybody should read of.
            parts.feed.say("info", "start", found.summary)
        for key in parts.memory.sessions:
            self._endings.note_session(key)
        parts.revision.touch_everything()
        self._endings.look()
        if ticking:
            self._ticker = asyncio.create_task(self._housekeeping.run(), name="failover-housekeeping")

    async def stop(self, drain_s: float = 0.0) -> None:
        """No new turns; those in flight get `drain_s` real seconds, then they are cancelled. Everything is written and closed."""
        self._frame.draining = True
        self._parts.revision.touch()
        try:
            await self._drain(drain_s)
            if self._ticker is not None:
                self._ticker.cancel()
                await asyncio.wait({self._ticker})
            await self._parts.tokens.aclose()
            beside = [task for task in self._parts.background if not task.done()]
            if beside:
                await asyncio.wait(beside, timeout=KILL_S)
            for task in beside:
                task.cancel()
            await self._parts.writer.finish()
            await self._parts.upstream.aclose()
        finally:
            # Also when stopping itself is cut short.
            for task in self._turns:
                task.cancel()
            self._parts.bus.close()
            await self._store.close()

    async def _drain(self, drain_s: float) -> None:
        if self._turns and drain_s > 0:
            await asyncio.wait(list(self._turns), timeout=drain_s)
        for turn in list(self._turns.values()):
            turn.cancel()
        if self._turns:
            await asyncio.wait(list(self._turns), timeout=KILL_S)
        for task in list(self._turns):
            task.cancel()
        if self._turns:
            await asyncio.wait(list(self._turns), timeout=KILL_S)

    # --- what the gateway needs ----------------------------------------------------------------------------------------

    def begin(self, request: TurnRequest, payload: Payload, *, derived_for: str | None = None) -> LiveTurn:
        """The turn runs, in a task of its own. derived_for: the session is derived from its caller, which is named so, and lives in
        memory only. Raises FailoverError while draining."""
        if self._frame.draining:
            raise FailoverError("The gateway is draining", "it stops and takes no new requests", "send the request again in a moment")
        if derived_for is not None:
            self._derived.note(request.session, derived_for, self._parts.clock.now_ms())
        self._open_record(request)
        turn = LiveTurn(request, payload, self.settings)
        task = asyncio.create_task(Driver(self._parts, turn).run(), name=f"failover-turn-{request.turn}")
        self._turns[task] = turn
        task.add_done_callback(self._turn_ended)
        return turn

    def new_turn_id(self) -> TurnId:
        """Sorts by time; unique across restarts."""
        return TurnId(f"{self._parts.clock.now_ms():011x}-{random.token_hex(4)}")

    def session(self, key: SessionKey) -> Session:
        """The session's record as it stands; a new one for an unknown key."""
        return self._parts.memory.session(key)

    @property
    def settings(self) -> Settings:
        """The generation that the next turn uses."""
        return self._config.settings

    @property
    def draining(self) -> bool:
        return self._frame.draining

    @property
    def ready(self) -> bool:
        """False while draining and while no profile of any model in the chain is usable."""
        return not self._frame.draining and any_usable(self._parts, self.settings)

    @property
    def open_windows(self) -> Mapping[str, int]:
        """How many windows are open now, by kind."""
        now, wall, every = self._parts.clock.now_ms(), self._parts.wall(), self._parts.memory.agents.values()
        return Counter(str(window.kind) for kept in every for usage in kept.usage.values() for window in active(usage, None, now, wall))

    def stored_answer(self, name: str) -> StoredAnswer | None:
        """Who made the answer that upstream keeps under this id, if it was seen here in the last 30 days."""
        return self._parts.memory.answers.find(name, self._parts.wall())

    @property
    def address(self) -> str:
        """Where the gateway listens, as the screen shows it."""
        return self._frame.address

    @address.setter
    def address(self, address: str) -> None:
        self._frame.address = address
        self._parts.revision.touch()

    @property
    def redactor(self) -> Redactor:
        return self._parts.redactor

    async def reload(self) -> tuple[bool, str]:
        """Reads the configuration again (SIGHUP): what is new, or why the last good one stays."""
        return await self._config.reload()

    async def tick(self) -> None:
        """One round of housekeeping, to its end: for whoever started without the ticker."""
        beside = self._housekeeping.tick()
        if beside:
            await asyncio.wait(beside)

    # --- Operations ----------------------------------------------------------------------------------------------------

    async def snapshot(self) -> Snapshot:
        return await self._view.snapshot()

    def events(self, after: int | None = None) -> AsyncGenerator[Event]:
        return self._parts.bus.subscribe(after)

    async def preview(self, session: SessionKey) -> Preview:
        parts, session = self._parts, self._derived.newest(session)
        world = parts.memory.world(session, owner_of(parts, session), parts.clock.now_ms(), parts.wall())
        return preview(session, self.settings, world, usual_request(parts, session))

    async def what_if(self, session: SessionKey, assumptions: Sequence[Assumption]) -> WhatIf:
        return self._foresight.what_if(self._derived.newest(session), assumptions)

    async def moves(self, assumptions: Sequence[Assumption]) -> Moves:
        return await self._foresight.moves(assumptions)

    async def detail(self, session: SessionKey) -> SessionDetail:
        key = self._derived.newest(session)
        return self._parts.provenance.detail(key, self._parts.memory.session(key))

    async def act(self, act: Act, by: str) -> ActResult:
        return await self._operator.act(act, by)

    async def decisions(
        self, *, session: SessionKey | None = None, turn: str | None = None, limit: int = 100, matching: Matching = EVERY
    ) -> Sequence[Mapping[str, object]]:
        found = self._derived.newest(session) if session is not None else None
        return await self._store.decisions(session=found, turn=turn, limit=limit, matching=matching)

    # --- inside --------------------------------------------------------------------------------------------------------

    def _open_record(self, request: TurnRequest) -> None:
        """The session has a record; a new one of a model takes over what a user chose for its base (spec/gateway.md)."""
        parts, key = self._parts, request.session
        known = key in parts.memory.sessions
        session = parts.memory.touch(key)
        fields: dict[str, Any] = {}
        base, named = split_record(key)
        if not known and named is not None:
            fields.update(inherited(parts.memory.session(base), parts.clock.now_ms()))
        if request.agent is not None and session.agent != request.agent:
            fields["agent"] = request.agent
        if fields:
            parts.writer.put(patch_session(parts, key, fields))

    def _turn_ended(self, task: asyncio.Task[None]) -> None:
        turn = self._turns.pop(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("internal error at the end of turn %s", turn.request.turn, exc_info=task.exception())
        if not turn.done:
            # It was cancelled before its first step; whoever waits for it must not wait for ever.
            turn.finish(cut_off(turn, TurnOutcome.KILLED))

    def _adopt(self) -> None:
        """What follows from configuration and stored credentials: references that count as stored, secrets to mask."""
        memory = self._parts.memory
        main = memory.agents[MAIN_AGENT].credentials
        for profile, adopted in self._adopted.items():
            if main.get(profile) is adopted:
                del main[profile]
        stored = set(main)
        memory.adopt_references(self.settings)
        self._adopted = {profile: credential for profile, credential in main.items() if profile not in stored}
        for kept in memory.agents.values():
            for credential in kept.credentials.values():
                self._parts.secrets.learn(credential)
        self._endings.note_everything()
        self._parts.spawn(self._read_secrets(), "failover-secrets")

    async def _read_secrets(self) -> None:
        found: set[ProfileId] = set()
        for kept in self._parts.memory.agents.values():
            found |= await self._parts.secrets.dead(dict(kept.credentials))
        dead = frozenset(found)
        if dead != self._parts.memory.dead:
            self._parts.memory.dead = dead
            self._parts.revision.touch()

    async def _merge(self) -> None:
        await self._foreign.merge()

    def _forget(self, key: SessionKey) -> None:
        self._parts.activity.forget(key)
        self._parts.revision.touch_session(key)

    def _settings_now(self) -> Settings:
        return self._config.settings

    def _warnings_now(self) -> tuple[str, ...]:
        return self._config.warnings

    def _undo_now(self) -> tuple[str, str] | None:
        return self._operator.done.last_undoable
