"""An `Operations` whose every answer a test decides, and the operator API served over real HTTP on loopback."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import uvicorn

from engine.domain.acts import Act, ActResult
from engine.domain.decisions import EVERY, Matching
from engine.domain.errors import FailoverError
from engine.domain.foresight import Assumption, Moves, SessionDetail, Taken, WhatIf
from engine.domain.ids import ProfileId, SessionKey
from engine.domain.operations import Event
from engine.domain.snapshot import (
    CandidatePreview,
    FeedEntry,
    Preview,
    ProfileState,
    ProfileVerdict,
    ProfileView,
    SessionView,
    Snapshot,
    Traffic,
    TurnView,
    WindowView,
)
from engine.gateway.operator import OperatorApi

TOKEN = "operator-secret"
NOW = 1_767_603_600_000

WINDOW = WindowView(ProfileState.COOLDOWN, NOW + 41_000, "rate_limit", model="big", since=NOW - 19_000, step=2)
SNAPSHOT = Snapshot(
    revision=7,
    now=NOW,
    mode="LIVE",
    address="127.0.0.1:4141",
    version="0",
    read_only=False,
    config_generation=3,
    sessions=(
        SessionView(
            SessionKey("support-bot"),
            "ops",
            "acme/big",
            "zeta/std",
            "auto",
            profile=ProfileId("zeta:k1"),
            pin_source="auto",
            on_fallback=True,
            reason="rate limit",
            since=NOW - 60_000,
            last_outcome="ok",
            last_activity=NOW - 2_000,
            in_flight=(TurnView("t1", NOW - 500, "zeta/std", ProfileId("zeta:k1"), 1, False),),
        ),
        SessionView(SessionKey("main [/red]\x1b[2J"), None, "acme/big", "acme/big", "default"),
    ),
    profiles=(
        ProfileView(ProfileId("acme:k1"), "acme", "api_key", ProfileState.COOLDOWN, window=WINDOW, windows=(WINDOW,), error_count=2),
        ProfileView(ProfileId("zeta:k1"), "zeta", "api_key", ProfileState.READY, last_used=NOW - 2_000),
    ),
    feed=(FeedEntry(1, NOW - 60_000, "notice", "notice", "↪️ Model Fallback: zeta/std (selected acme/big; rate limit)"),),
    traffic=Traffic(4.2, 812.0, 0.971, 0, 1, 1234),
    models=("acme/big", "zeta/std"),
)
PREVIEW = Preview(
    SessionKey("support-bot"),
    "selection.auto",
    "acme/big",
    (
        CandidatePreview(
            "zeta/std", "next", "gate.open", profiles=(ProfileVerdict(ProfileId("zeta:k1"), ProfileState.READY, True, "pin.auto"),)
        ),
        CandidatePreview(
            "acme/big",
            "skip",
            "gate.primary-probe",
            reason="rate_limit",
            until=NOW + 41_000,
            role="origin, last resort",
            profiles=(ProfileVerdict(ProfileId("acme:k1"), ProfileState.COOLDOWN, False, "window.ladder", until=NOW + 41_000, step=2),),
        ),
    ),
    "zeta/std",
    ProfileId("zeta:k1"),
    primary_probe_at=NOW + 192_000,
    sticky_since=NOW - 60_000,
)
DECISION = {"event": "model_fallback_decision", "at": NOW - 60_000, "turn": "t0", "session": "support-bot", "decision": "candidate_failed"}


@dataclass
class FakeOperations:
    """result: what every act comes to; FailoverError is raised. acts: what was asked, by whom. happen: an event for every reader."""

    result: ActResult | FailoverError = field(default_factory=lambda: ActResult(True, "done", act_id="a1", undoable=True))
    acts: list[tuple[Act, str]] = field(default_factory=list)
    kept: list[Event] = field(default_factory=list)
    asked: list[Mapping[str, object]] = field(default_factory=list)
    assumed: list[tuple[SessionKey | None, tuple[Assumption, ...]]] = field(default_factory=list)
    readers: list[asyncio.Queue[Event | None]] = field(default_factory=list)
    read: asyncio.Event = field(default_factory=asyncio.Event)
    alarms: tuple[str, ...] = ()
    shown: Snapshot = SNAPSHOT

    async def snapshot(self) -> Snapshot:
        return replace(self.shown, alarms=self.alarms)

    async def preview(self, session: SessionKey) -> Preview:
        if session != PREVIEW.session:
            raise FailoverError("No such session", f"{session} is unknown", "see `failover sessions`")
        return PREVIEW

    async def what_if(self, session: SessionKey, assumptions: Sequence[Assumption]) -> WhatIf:
        self.assumed.append((session, tuple(assumptions)))
        return WhatIf(session, NOW, (Taken("assumed"),), PREVIEW, PREVIEW, (), "ok", "zeta/std")

    async def moves(self, assumptions: Sequence[Assumption]) -> Moves:
        self.assumed.append((None, tuple(assumptions)))
        return Moves((Taken("assumed"),), 2, 2, 0, 0, ())

    async def detail(self, session: SessionKey) -> SessionDetail:
        return SessionDetail(session)

    async def act(self, act: Act, by: str) -> ActResult:
        self.acts.append((act, by))
        if isinstance(self.result, FailoverError):
            raise self.result
        return self.result

    async def decisions(
        self, *, session: SessionKey | None = None, turn: str | None = None, limit: int = 100, matching: Matching = EVERY
    ) -> Sequence[Mapping[str, object]]:
        told = {} if matching == EVERY else {"matching": matching}
        self.asked.append({"session": session, "turn": turn, "limit": limit, **told})
        return [DECISION]

    async def events(self, after: int | None = None) -> AsyncGenerator[Event]:
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self.readers.append(queue)
        self.read.set()
        try:
            for event in list(self.kept):
                if after is not None and event.seq > after:
                    yield event
            while (event_or_end := await queue.get()) is not None:
                yield event_or_end
        finally:
            self.readers.remove(queue)

    def happen(self, seq: int, **data: object) -> None:
        event = Event(seq, data)
        self.kept.append(event)
        for queue in self.readers:
            queue.put_nowait(event)

    def end(self) -> None:
        """Every reader has heard everything: the engine has stopped."""
        for queue in self.readers:
            queue.put_nowait(None)


@contextlib.asynccontextmanager
async def served(operations: FakeOperations, *, instance: str = "i-1", token: str = TOKEN, port: int = 0) -> AsyncIterator[str]:
    """The API on a free port: its address."""
    api = OperatorApi(operations, token=token, instance=instance, version="0.1")
    config = uvicorn.Config(api, host="127.0.0.1", port=port, log_level="error", lifespan="off")
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    # Started and stopped by hand: no ticks to wait for, and the signals of the test process stay as they are.
    await server.startup()
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        operations.end()
        await server.shutdown()
