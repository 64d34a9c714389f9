"""An engine that does what a test says, and a gateway on loopback in front of it or of the real one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from engine.domain.exchange import AnswerBroken, Answered, Payload
from engine.domain.failure import Failure
from engine.domain.ids import AgentId, ModelRef, ProfileId, SessionKey, TurnId, parse_ref
from engine.domain.settings import AgentSettings, GatewaySettings, ModelPolicy, ProviderSettings, Settings
from engine.domain.stored_answers import StoredAnswer
from engine.domain.turns import Attempt, AttemptOutcome, FailureEntry, TurnError, TurnOutcome, TurnRequest, TurnResult
from engine.gateway.app import GatewayApp
from engine.gateway.engine_port import Engine
from engine.gateway.guard import Guard
from engine.gateway.request_head import BoundedHead
from engine.gateway.server import GatewayServer, bind

NOW = 1_767_603_600_000


def ref(text: str) -> ModelRef:
    found = parse_ref(text)
    assert found is not None
    return found


def settings(**changes: Any) -> Settings:
    """acme/big, then zeta/std and acme/small; both providers list no models."""
    gateway = changes.pop("gateway", {})
    base = Settings(
        model=ModelPolicy(ref("acme/big"), (ref("zeta/std"), ref("acme/small"))),
        agents={AgentId("ops"): AgentSettings(AgentId("ops"), ModelPolicy(ref("zeta/ops")))},
        aliases={"quick": ref("acme/small")},
        providers={
            "acme": ProviderSettings("acme", "http://127.0.0.1:9/v1", "openai-completions"),
            "zeta": ProviderSettings("zeta", "http://127.0.0.1:9/v1", "openai-completions"),
            "claude": ProviderSettings("claude", "http://127.0.0.1:9/v1", "anthropic-messages"),
        },
        gateway=replace(GatewaySettings(port=0), **gateway),
    )
    return replace(base, **changes)


@dataclass
class FakeAnswer:
    """See `engine.domain.exchange.Answer`."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json", "x-ratelimit-remaining": "7"})
    empty: bool = False
    streamed: bool = False
    calls: int = 1
    response_id: str | None = None
    notes: tuple[str, ...] = ()

    def chunks(self) -> AsyncIterator[bytes]:
        raise NotImplementedError

    async def aclose(self) -> None: ...


class FakeTurn:
    """answers: with these bytes; a number waits so many seconds, None for ever, an exception is raised. result: when nothing answers.
    sent: chunks that were taken."""

    def __init__(
        self,
        chunks: Iterable[bytes | float | Exception | None] = (b"{}",),
        *,
        streamed: bool = False,
        result: TurnResult | None = None,
        partial: bool = False,
        wait_s: float | None = 0.0,
        **answered: Any,
    ) -> None:
        self.parts = list(chunks)
        self.failed = result
        self.partial = partial
        self.wait_s = wait_s
        self.cancelled = asyncio.Event()
        self.sent = 0
        headers = {"content-type": "text/event-stream"} if streamed else {"content-type": "application/json", "x-ratelimit-remaining": "7"}
        base = Answered(FakeAnswer(streamed=streamed, headers=headers), ref("acme/big"), ref("zeta/std"), None, 2, "rate_limit", ())
        self.answered = replace(base, **answered)

    async def answer(self) -> Answered | TurnResult:
        if self.wait_s is None:
            await self.cancelled.wait()
            return failed("aborted", outcome=TurnOutcome.ABORTED)
        await asyncio.sleep(self.wait_s)
        return self.failed if self.failed is not None else self.answered

    async def chunks(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            if part is None:
                await self.cancelled.wait()
                return
            if isinstance(part, Exception):
                raise part
            if isinstance(part, bytes):
                yield part
                self.sent += 1
            else:
                await asyncio.sleep(part)

    def cancel(self) -> None:
        self.cancelled.set()

    async def result(self) -> TurnResult:
        if self.cancelled.is_set():
            return failed("aborted", outcome=TurnOutcome.ABORTED)
        if self.failed is not None:
            return self.failed
        return failed("timeout", outcome=TurnOutcome.PARTIAL) if self.partial else OK


class FakeEngine:
    """Answers each turn with `turn`, the same again and again unless a list is given."""

    def __init__(self, config: Settings | None = None, *turns: FakeTurn) -> None:
        self.settings = config if config is not None else settings()
        self.turns = list(turns) or [FakeTurn()]
        self.draining = False
        self.ready = True
        self.open_windows: dict[str, int] = {}
        self.requests: list[TurnRequest] = []
        self.payloads: list[Payload] = []
        self.derived_for: list[str | None] = []
        self.answers: dict[str, StoredAnswer] = {}

    def stored_answer(self, name: str) -> StoredAnswer | None:
        return self.answers.get(name)

    def new_turn_id(self) -> TurnId:
        return TurnId(f"t{len(self.requests) + 1}")

    def begin(self, request: TurnRequest, payload: Payload, *, derived_for: str | None = None) -> FakeTurn:
        self.requests.append(request)
        self.payloads.append(payload)
        self.derived_for.append(derived_for)
        return self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]


def entry(candidate: str, reason: str, status: int | None = None, *, skipped: bool = False, **more: Any) -> FailureEntry:
    found = ref(candidate)
    base = FailureEntry(
        found.provider, found.model, ProfileId(f"{found.provider}:me@home.example"), reason, status, None, None, skipped, None
    )
    return replace(base, **more)


def failed(
    reason: str | None,
    *entries: FailureEntry,
    outcome: TurnOutcome = TurnOutcome.FAILED,
    soonest_s: float | None = None,
    chain: Iterable[str] = ("acme/big", "zeta/std"),
    type: str = "FallbackSummaryError",
    **more: Any,
) -> TurnResult:
    soonest = round(NOW + soonest_s * 1000) if soonest_s is not None else None
    attempts = tuple(
        Attempt(ModelRef(e.provider, e.model), e.profile, AttemptOutcome.FAILED, 0, e.reason, e.status) for e in entries if not e.skipped
    )
    error = TurnError(type, "All models failed", reason, soonest, "What a reader is told.", entries)
    refs = tuple(ref(c) for c in chain)
    base = TurnResult(
        TurnId("t1"), SessionKey("s"), outcome, refs[0], None, None, "selection.requested", refs, attempts, (), (), error, (), len(attempts)
    )
    return replace(base, **more)


OK = replace(failed(None), outcome=TurnOutcome.OK, error=None)


def broke_off() -> AnswerBroken:
    return AnswerBroken(Failure(message="stream closed"))


@dataclass
class Gateway:
    """A running one. client: httpx, without a Host of its own."""

    app: GatewayApp
    server: GatewayServer
    base_url: str
    client: httpx.AsyncClient

    @property
    def port(self) -> int:
        return int(self.base_url.rsplit(":", 1)[1])

    async def chat(self, model: str | None = "auto", *, headers: Mapping[str, str] | None = None, **body: Any) -> httpx.Response:
        named = {"model": model} if model is not None else {}
        message = {"messages": [{"role": "user", "content": "hi"}], **named, **body}
        return await self.client.post("/v1/chat/completions", json=message, headers=headers)


@contextlib.asynccontextmanager
async def running_gateway(
    engine: Engine, *, token: str | None = None, guard: Guard | None = None, connection: type[BoundedHead] = BoundedHead, **app: Any
) -> AsyncIterator[Gateway]:
    made = GatewayApp(engine, guard or Guard(engine.settings.gateway.hosts, token), **app)
    server = GatewayServer(made, bind(engine.settings.gateway, token), connection)
    serving = asyncio.create_task(server.serve())
    base_url = f"http://{server.address}"
    async with httpx.AsyncClient(base_url=base_url, timeout=10) as client:
        yield Gateway(made, server, base_url, client)
    server.stop()
    await serving
