"""An engine for tests of the console: a fixed, rich snapshot and a record of what was asked of it. It decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace

from engine.domain.acts import Act, ActResult, Clear, Pin, SelectModel, SetOff, SetOn, SetOrder, Unpin
from engine.domain.decisions import EVERY, Matching
from engine.domain.errors import GatewayUnreachable
from engine.domain.foresight import (
    Assumption,
    At,
    AttemptView,
    Fails,
    FieldView,
    Move,
    Moves,
    PredictedStep,
    SessionDetail,
    Taken,
    TurnRecord,
    WhatIf,
)
from engine.domain.ids import ProfileId, SessionKey
from engine.domain.operations import Event
from engine.domain.snapshot import (
    CandidatePreview,
    FeedEntry,
    OffView,
    OrderView,
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

NOW = 1_767_621_751_000
"""2026-01-05T14:02:31Z."""
_S = 1_000
_M = 60 * _S
OPUS, GPT, HAIKU, GEMINI = "anthropic/claude-opus-4-8", "openai/gpt-5.5", "anthropic/claude-haiku-4-5", "google/gemini-3-pro"


def session(key: str, **fields: object) -> SessionView:
    base: dict[str, object] = {
        "agent": None,
        "selected": OPUS,
        "active": OPUS,
        "source": "default",
        "last_outcome": "ok",
        "last_activity": NOW - 9 * _S,
    }
    return SessionView(key=SessionKey(key), **{**base, **fields})  # type: ignore[arg-type]


def turn(name: str, *, committed: bool) -> TurnView:
    return TurnView(name, NOW - 2 * _S, GPT, ProfileId("openai:work"), 2, committed)


SESSIONS = (
    session(
        "support-bot",
        agent="ops",
        active=GPT,
        source="auto",
        profile=ProfileId("openai:work"),
        pin_source="auto",
        on_fallback=True,
        reason="rate_limit",
        since=NOW - 108 * _S,
        last_activity=NOW - 2 * _S,
        in_flight=(turn("t-81f0", committed=False),),
    ),
    session("main", profile=ProfileId("anthropic:me")),
    session(
        "billing-report",
        agent="finance",
        profile=ProfileId("anthropic:me"),
        in_flight=(turn("t-81f1", committed=True),),
        last_activity=NOW - 1 * _S,
    ),
    session("cron:digest", selected=HAIKU, active=HAIKU, source="cron", last_activity=NOW - 74 * _S),
    session(
        "code-review",
        agent="dev",
        selected=GEMINI,
        active=GEMINI,
        source="user",
        profile=ProfileId("google:ci"),
        pin_source="user",
        pinned_by="ana@ops1",
        last_activity=NOW - 12 * _M,
    ),
    session(
        "translate-eu-west",
        agent="i18n",
        active=GPT,
        source="auto",
        profile=ProfileId("openai:work"),
        pin_source="auto",
        on_fallback=True,
        reason="overloaded",
        since=NOW - 40 * _S,
        last_activity=NOW - 31 * _S,
    ),
    session("night-batch", agent="batch", last_outcome="failed", last_activity=NOW - 3 * 60 * _M),
)

_RATE = WindowView(ProfileState.COOLDOWN, NOW + 41 * _S, "rate_limit", OPUS, NOW - 19 * _S, 2)
_BILL = WindowView(ProfileState.DISABLED, NOW + 4 * 60 * _M + 12 * _M + 9 * _S, "billing", None, NOW - 47 * _M, 1)
_CODEX = WindowView(ProfileState.BLOCKED, NOW + 26 * 60 * _M + 14 * _M, "subscription_limit", None, NOW - 30 * _M)


def profile(name: str, state: ProfileState = ProfileState.READY, window: WindowView | None = None, **fields: object) -> ProfileView:
    base: dict[str, object] = {
        "provider": name.partition(":")[0],
        "type": "api_key",
        "windows": (window,) if window else (),
        "last_used": NOW - 2 * _S,
    }
    return ProfileView(profile=ProfileId(name), state=state, window=window, **{**base, **fields})  # type: ignore[arg-type]


PROFILES = (
    profile(
        "anthropic:me",
        ProfileState.COOLDOWN,
        _RATE,
        error_count=2,
        last_failure_at=NOW - 19 * _S,
        used_by=(SessionKey("main"), SessionKey("billing-report")),
    ),
    profile("anthropic:backup", ProfileState.DISABLED, _BILL, error_count=1, last_used=NOW - 47 * _M, last_failure_at=NOW - 47 * _M),
    profile("openai:work", used_by=(SessionKey("support-bot"), SessionKey("translate-eu-west"))),
    profile("openai:codex", ProfileState.BLOCKED, _CODEX, type="oauth", last_used=NOW - 30 * _M),
    profile("google:ci", used_by=(SessionKey("code-review"),), last_used=NOW - 12 * _M),
    profile("google:old", ProfileState.EXPIRED, detail="refreshable", type="oauth", last_used=None),
)

FEED = (
    FeedEntry(1, NOW - 50 * _M, "info", "config_reloaded", "configuration generation 3 is in use"),
    FeedEntry(
        2,
        NOW - 47 * _M,
        "error",
        "window",
        "started anthropic:backup disabled 5h billing",
        provider="anthropic",
        profile=ProfileId("anthropic:backup"),
    ),
    FeedEntry(3, NOW - 12 * _M, "info", "operator_act", "ana@ops1 pinned code-review to google:ci", SessionKey("code-review")),
    FeedEntry(
        4,
        NOW - 108 * _S,
        "warning",
        "window",
        "started anthropic:me cooldown 1m rate_limit",
        SessionKey("support-bot"),
        "anthropic",
        ProfileId("anthropic:me"),
        "t-81e0",
    ),
    FeedEntry(
        5,
        NOW - 108 * _S,
        "notice",
        "notice",
        f"↪️ Model Fallback: {GPT} (selected {OPUS}; rate limit)",
        SessionKey("support-bot"),
        turn="t-81e0",
    ),
    FeedEntry(
        6,
        NOW - 40 * _S,
        "notice",
        "notice",
        f"↪️ Model Fallback: {GPT} (selected {OPUS}; overloaded)",
        SessionKey("translate-eu-west"),
        turn="t-81e8",
    ),
)

SNAPSHOT = Snapshot(
    revision=1,
    now=NOW,
    mode="LIVE",
    address="127.0.0.1:4141",
    version="0.1.0",
    read_only=False,
    config_generation=3,
    sessions=SESSIONS,
    profiles=PROFILES,
    feed=FEED,
    traffic=Traffic(4.2, 812.0, 0.971, 0, 2, 1840),
    models=(OPUS, GPT, HAIKU, GEMINI),
    orders=(
        OrderView("anthropic", "order.config", (ProfileId("anthropic:me"), ProfileId("anthropic:backup"))),
        OrderView("openai", "order.stored-profiles", (ProfileId("openai:work"), ProfileId("openai:codex"))),
        OrderView("google", "order.stored", (ProfileId("google:ci"),)),
    ),
)

DECISIONS: tuple[Mapping[str, object], ...] = (
    {
        "event": "model_fallback_decision",
        "at": NOW - 106_000,
        "turn": "t-81e0",
        "session": "support-bot",
        "decision": "turn_finished",
        "outcome": "ok",
        "requestedProvider": "anthropic",
        "requestedModel": "claude-opus-4-8",
        "upstreamCalls": 2,
    },
    {
        "event": "model_fallback_decision",
        "at": NOW - 107_000,
        "turn": "t-81e0",
        "session": "support-bot",
        "decision": "candidate_succeeded",
        "rule": "gate.open",
        "requestedProvider": "anthropic",
        "requestedModel": "claude-opus-4-8",
        "candidateProvider": "openai",
        "candidateModel": "gpt-5.5",
        "profile": "openai:work",
        "attempt": 2,
        "total": 3,
    },
    {
        "event": "model_fallback_decision",
        "at": NOW - 108_000,
        "turn": "t-81e0",
        "session": "support-bot",
        "decision": "candidate_failed",
        "rule": "gate.open",
        "requestedProvider": "anthropic",
        "requestedModel": "claude-opus-4-8",
        "candidateProvider": "anthropic",
        "candidateModel": "claude-opus-4-8",
        "profile": "anthropic:me",
        "attempt": 1,
        "total": 3,
        "status": 429,
        "reason": "rate_limit",
        "until": NOW + 41_000,
        "error": '{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed '
        "your organization's rate limit of 40,000 input tokens per minute\"}}",
        "nextCandidateProvider": "openai",
        "nextCandidateModel": "gpt-5.5",
    },
)


def preview(view: SessionView) -> Preview:
    """A chain like the one of the drawing in the specification."""
    openai = CandidatePreview(
        GPT,
        "next" if view.on_fallback else "ready",
        "gate.open",
        profiles=(
            ProfileVerdict(
                ProfileId("openai:work"), ProfileState.READY, True, "order.stored-profiles", pin="auto" if view.on_fallback else None
            ),
            ProfileVerdict(
                ProfileId("openai:codex"), ProfileState.BLOCKED, False, "order.windowed-last", _CODEX.until, "subscription_limit"
            ),
        ),
    )
    google = CandidatePreview(
        GEMINI, "ready", "gate.open", profiles=(ProfileVerdict(ProfileId("google:ci"), ProfileState.READY, True, "order.stored-profiles"),)
    )
    anthropic = CandidatePreview(
        OPUS,
        "skip" if view.on_fallback else "probe",
        "gate.primary-probe",
        "rate_limit",
        _RATE.until,
        "origin, last resort" if view.on_fallback else None,
        profiles=(
            ProfileVerdict(
                ProfileId("anthropic:me"), ProfileState.COOLDOWN, False, "order.windowed-last", _RATE.until, "rate_limit", 2, OPUS
            ),
            ProfileVerdict(ProfileId("anthropic:backup"), ProfileState.DISABLED, False, "order.windowed-last", _BILL.until, "billing", 1),
        ),
    )
    chain = (openai, google, anthropic) if view.on_fallback else (anthropic, openai, google)
    return Preview(
        view.key,
        "selection.auto" if view.on_fallback else "selection.configured-default",
        view.selected,
        chain,
        GPT if view.on_fallback else OPUS,
        ProfileId("openai:work" if view.on_fallback else "anthropic:me"),
        NOW + 192 * _S if view.on_fallback else None,
        view.since,
    )


class FakeOperations:
    """Serves `current`, notes every act, and applies the simplest of them so that a screen can confirm them."""

    def __init__(self, snapshot: Snapshot = SNAPSHOT) -> None:
        self.current = snapshot
        self.acts: list[tuple[Act, str]] = []
        self.asked: list[tuple[SessionKey | None, tuple[Assumption, ...]]] = []
        self.down = False
        self.refusal: str | None = None
        self.decided: Sequence[Mapping[str, object]] = DECISIONS
        self.calls = 0
        self._queues: list[asyncio.Queue[Event]] = []
        self._seq = 0

    def publish(self, **changes: object) -> None:
        """A new snapshot, and an event that tells of it."""
        self.current = replace(self.current, revision=self.current.revision + 1, **changes)  # type: ignore[arg-type]
        self._seq += 1
        for queue in self._queues:
            queue.put_nowait(Event(self._seq, {"event": "operator_act", "at": self.current.now}))

    def change_session(self, key: str, **changes: object) -> None:
        self.publish(sessions=tuple(replace(s, **changes) if s.key == key else s for s in self.current.sessions))  # type: ignore[arg-type]

    def remove_session(self, key: str) -> None:
        self.publish(sessions=tuple(s for s in self.current.sessions if s.key != key))

    async def snapshot(self) -> Snapshot:
        self.calls += 1
        if self.down:
            raise GatewayUnreachable("The gateway does not answer", "127.0.0.1:4141 refused the connection", "failover serve")
        return self.current

    async def events(self, after: int | None = None) -> AsyncGenerator[Event]:
        queue: asyncio.Queue[Event] = asyncio.Queue()
        self._queues.append(queue)
        while True:
            yield await queue.get()

    async def preview(self, session: SessionKey) -> Preview:
        if self.down:
            raise GatewayUnreachable("The gateway does not answer")
        return preview(next(s for s in self.current.sessions if s.key == session))

    async def what_if(self, session: SessionKey, assumptions: Sequence[Assumption]) -> WhatIf:
        self.asked.append((session, tuple(assumptions)))
        view = next((s for s in self.current.sessions if s.key == session), SESSIONS[0])
        before = preview(view)
        after = replace(before, next_ref=GEMINI, next_profile=ProfileId("google:ci"))
        at = next((one.moment for one in assumptions if isinstance(one, At)), NOW)
        taken = tuple(
            Taken(f"{getattr(one, 'target', 'it')} is assumed", not (isinstance(one, Fails) and one.target == "nobody"))
            for one in assumptions
        )
        steps = (
            PredictedStep(GPT, ProfileId("openai:work"), "failed", "rate_limit", 429, "gate.open", 0),
            PredictedStep(GEMINI, ProfileId("google:ci"), "succeeded", rule="gate.open", at_ms=0),
        )
        return WhatIf(
            session, at, taken, before, after, steps, "ok", GEMINI, (f"↪️ Model Fallback: {GEMINI} (selected {OPUS}; rate limit)",)
        )

    async def moves(self, assumptions: Sequence[Assumption]) -> Moves:
        self.asked.append((None, tuple(assumptions)))
        moved = tuple(Move(s.key, s.active, s.profile, GEMINI, ProfileId("google:ci")) for s in self.current.sessions if s.on_fallback)
        return Moves((Taken("assumed"),), len(self.current.sessions), len(self.current.sessions), len(moved), 0, moved)

    async def detail(self, session: SessionKey) -> SessionDetail:
        attempts = (
            AttemptView(OPUS, ProfileId("anthropic:me"), "failed", 0, 412, "rate_limit", 429, "gate.open", "too many requests"),
            AttemptView(GPT, ProfileId("openai:work"), "succeeded", 430, 2_470, rule="gate.open"),
        )
        notice = f"↪️ Model Fallback: {GPT} (selected {OPUS}; rate limit)"
        turns = (TurnRecord("t-81e0", session, NOW - 109 * _S, 2_900, "ok", OPUS, GPT, attempts, (notice,)),)
        fields = (
            FieldView("modelOverride", "gpt-5.5", "override.persist-first turn t-81e0", NOW - 108 * _S),
            FieldView("authProfileOverride", "openai:work", "ana@ops1 (pin)", NOW - 12 * _M),
        )
        return SessionDetail(session, turns, fields)

    async def act(self, act: Act, by: str) -> ActResult:
        self.acts.append((act, by))
        if self.refusal is not None:
            return ActResult(False, self.refusal)
        match act:
            case Pin():
                self.change_session(act.session, profile=act.profile, pin_source="user", pinned_by=by)
            case Unpin():
                self.change_session(act.session, profile=None, pin_source=None, pinned_by=None)
            case SelectModel() if act.ref != "default":
                self.change_session(act.session, selected=act.ref, active=act.ref, source="user", on_fallback=False)
            case Clear():
                profiles = tuple(profile(p.profile) if p.profile == act.profile else p for p in self.current.profiles)
                self.publish(profiles=profiles)
            case SetOff():
                self.publish(off=(*self.current.off, OffView(act.target, NOW, by, act.reason)))
            case SetOn():
                self.publish(off=tuple(off for off in self.current.off if off.target != act.target))
            case _:
                self.publish()
        undoable = isinstance(act, Pin | Unpin | SelectModel | Clear | SetOff | SetOn | SetOrder)
        return ActResult(True, f"{act.act} done", act_id=f"a{len(self.acts)}" if undoable else None, undoable=undoable)

    async def decisions(
        self, *, session: SessionKey | None = None, turn: str | None = None, limit: int = 100, matching: Matching = EVERY
    ) -> Sequence[Mapping[str, object]]:
        return [record for record in self.decided if session in (None, record["session"]) and matching.admits(record)][:limit]
