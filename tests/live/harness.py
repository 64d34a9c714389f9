"""What the tests of the live engine share: a clock that stands still, an upstream in this process that follows a script, stores that are
slow or broken on purpose, and an engine put together from them. No assertions here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from engine.config.load import load_settings
from engine.domain.acts import Act, ActResult
from engine.domain.credentials import ApiKey, Credential
from engine.domain.decisions import EVERY, Matching
from engine.domain.errors import StoreError
from engine.domain.exchange import Answer, AnswerBroken, Answered, AttemptFailed, Payload
from engine.domain.failure import Failure
from engine.domain.ids import MAIN_AGENT, ModelRef, ProfileId, SessionKey
from engine.domain.operations import Event
from engine.domain.redaction import Redactor
from engine.domain.settings import ProviderSettings, Settings
from engine.domain.store import Change, PutCredential, StateStore, Stored
from engine.domain.turns import TurnRequest, TurnResult
from engine.live.engine import FailoverEngine
from engine.live.turn import LiveTurn
from store.memory import MemoryStore

T0 = 1_767_600_000_000
PAYLOAD = Payload("openai-completions", {"model": "auto", "messages": []}, b"{}", stream=True)


class StillClock:
    """Moves only when told."""

    def __init__(self, now: int = T0) -> None:
        self.now = now
        self.wall_offset = 0

    def now_ms(self) -> int:
        return self.now

    def wall_ms(self) -> int:
        return self.now + self.wall_offset

    def advance(self, seconds: float) -> None:
        self.now += round(seconds * 1000)


CONFIG: dict[str, Any] = {
    "agents": {"defaults": {"model": {"primary": "acme/big", "fallbacks": ["acme/small", "zeta/std"]}}},
    "models": {
        "providers": {
            "acme": {"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions"},
            "zeta": {"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions"},
        }
    },
}


def settings_of(config: Mapping[str, Any] = CONFIG, **changes: Any) -> Settings:
    return load_settings({**config, **changes}, env={}).settings


def chain(primary: str, *fallbacks: str, **more: Any) -> dict[str, Any]:
    """CONFIG with another chain; more: further top-level sections."""
    return {**CONFIG, "agents": {"defaults": {"model": {"primary": primary, "fallbacks": list(fallbacks)}}}, **more}


def keys(*profiles: str) -> dict[ProfileId, Credential]:
    """`acme:k1` -> an API key whose secret is `secret-acme:k1`."""
    return {ProfileId(p): ApiKey(p.partition(":")[0], key=f"secret-{p}") for p in profiles}


DEFAULT_KEYS = keys("acme:k1", "acme:k2", "zeta:k1")


# --- upstream ----------------------------------------------------------------------------------------------------------


@dataclass
class Said:
    """An answer as the engine sees it. read: bytes handed out so far."""

    parts: AsyncIterator[bytes]
    empty: bool = False
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    streamed: bool = True
    calls: int = 1
    response_id: str | None = None
    notes: tuple[str, ...] = ()
    closed: bool = False
    read: int = 0

    async def chunks(self) -> AsyncIterator[bytes]:
        async for part in self.parts:
            self.read += len(part)
            yield part

    async def aclose(self) -> None:
        self.closed = True


@dataclass
class Call:
    ref: str
    secret: str | None
    limit_ms: int | None
    began: float
    payload: Payload
    cancelled: bool = False
    answer: Any = None
    """The `Said` that it got, if any."""


Script = Callable[[Call], Awaitable[Answer | AttemptFailed]]


def ok(*texts: str) -> Script:
    async def parts() -> AsyncIterator[bytes]:
        for text in texts or ("hello",):
            yield text.encode()

    return answering(parts)


def answering(parts: Callable[[], AsyncIterator[bytes]], *, empty: bool = False) -> Script:
    async def answer(call: Call) -> Answer | AttemptFailed:
        said = call.answer = Said(parts(), empty=empty)
        return said

    return answer


def broken(*texts: str) -> Script:
    """Content, then the stream breaks."""

    async def parts() -> AsyncIterator[bytes]:
        for text in texts:
            yield text.encode()
        raise AnswerBroken(Failure(message="connection reset"))

    return answering(parts)


def fails(status: int, message: str = "no", headers: Mapping[str, str] | None = None) -> Script:
    body = json.dumps({"error": {"message": message}})

    async def answer(_call: Call) -> Answer | AttemptFailed:
        return AttemptFailed(Failure(status=status, body=body, headers=headers or {}))

    return answer


def waits(gate: asyncio.Event, then: Script | None = None) -> Script:
    async def answer(call: Call) -> Answer | AttemptFailed:
        await gate.wait()
        return await (then or ok())(call)

    return answer


def hangs() -> Script:
    return waits(asyncio.Event())


def does(work: Callable[[Call], Awaitable[None]], then: Script | None = None) -> Script:
    """Something happens while the call is in flight."""

    async def answer(call: Call) -> Answer | AttemptFailed:
        await work(call)
        return await (then or ok())(call)

    return answer


class ScriptedUpstream:
    """`on("acme/big", ...)` or `on("acme/big@acme:k1", ...)`: used up one answer a call, the last one repeats."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.closed = False
        self._scripts: dict[str, list[Script]] = {}
        self._arrived = asyncio.Event()

    def on(self, key: str, *scripts: Script) -> None:
        self._scripts[key] = list(scripts)

    def refs(self) -> list[str]:
        return [call.ref for call in self.calls]

    def keys(self) -> list[str]:
        return [f"{call.ref}@{(call.secret or '').removeprefix('secret-')}" for call in self.calls]

    async def called(self, count: int) -> None:
        """So many calls have begun."""
        while len(self.calls) < count:
            self._arrived.clear()
            await self._arrived.wait()

    async def attempt(
        self,
        provider: ProviderSettings,
        ref: ModelRef,
        secret: str | None,
        payload: Payload,
        *,
        limit_ms: int | None,
        retry_max_wait_ms: int | None,
    ) -> Answer | AttemptFailed:
        call = Call(str(ref), secret, limit_ms, asyncio.get_running_loop().time(), payload)
        self.calls.append(call)
        self._arrived.set()
        profile = (secret or "").removeprefix("secret-")
        scripts = self._scripts.get(f"{ref}@{profile}") or self._scripts.get(str(ref)) or self._scripts.get("*") or [ok()]
        script = scripts.pop(0) if len(scripts) > 1 else scripts[0]
        try:
            return await script(call)
        except asyncio.CancelledError:
            call.cancelled = True
            raise

    async def aclose(self) -> None:
        self.closed = True


# --- stores ------------------------------------------------------------------------------------------------------------


class Held:
    """A store in front of another one: while `locked`, nothing becomes durable; `broken`: commits fail."""

    def __init__(self, inner: StateStore) -> None:
        self.inner = inner
        self.free = asyncio.Event()
        self.free.set()
        self.broken: str | None = None
        self.log: list[tuple[str, tuple[Change, ...]]] = []
        self.delay: Callable[[], Awaitable[None]] | None = None

    def lock(self) -> None:
        self.free.clear()

    def unlock(self) -> None:
        self.free.set()

    async def open(self) -> Stored:
        return await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    async def commit(self, changes: Sequence[Change]) -> Sequence[bool]:
        if self.broken is not None:
            raise StoreError("State could not be written", self.broken)
        self.log.append(("commit", tuple(changes)))
        await self.free.wait()
        if self.delay is not None:
            await self.delay()
        return await self.inner.commit(changes)

    def enqueue(self, changes: Sequence[Change]) -> None:
        self.log.append(("enqueue", tuple(changes)))
        self.inner.enqueue(changes)

    async def foreign(self) -> Stored | None:
        return await self.inner.foreign()

    @property
    def trouble(self) -> str | None:
        return self.broken

    async def decisions(
        self, *, session: str | None = None, turn: str | None = None, limit: int = 100, matching: Matching = EVERY
    ) -> Sequence[Mapping[str, object]]:
        return await self.inner.decisions(session=session, turn=turn, limit=limit, matching=matching)


# --- engine ------------------------------------------------------------------------------------------------------------


@dataclass
class Bench:
    """An engine and everything around it."""

    engine: FailoverEngine
    upstream: ScriptedUpstream
    clock: StillClock
    store: StateStore

    payload = PAYLOAD

    def request(self, session: str = "main", **request: Any) -> TurnRequest:
        return TurnRequest(self.engine.new_turn_id(), SessionKey(session), **request)

    def begin(self, session: str = "main", **request: Any) -> LiveTurn:
        return self.engine.begin(self.request(session, **request), PAYLOAD)

    async def turn(self, session: str = "main", **request: Any) -> TurnResult:
        """A turn read to its end."""
        _, result = await self.read(session, **request)
        return result

    async def read(self, session: str = "main", **request: Any) -> tuple[bytes, TurnResult]:
        live = self.begin(session, **request)
        answer = await live.answer()
        body = b"".join([chunk async for chunk in live.chunks()]) if isinstance(answer, Answered) else b""
        return body, await live.result()

    async def act(self, act: Act, by: str = "ann") -> ActResult:
        return await self.engine.act(act, by)

    def usage(self, profile: str) -> Any:
        return self.engine._parts.memory.usage(MAIN_AGENT, ProfileId(profile))

    def session(self, key: str = "main") -> Any:
        return self.engine.session(SessionKey(key))

    async def events_from(self, after: int = 0) -> list[Mapping[str, object]]:
        """What has happened so far."""
        found: list[Mapping[str, object]] = []
        last = self.engine._parts.bus.last_seq
        if last <= after:
            return found
        async for event in self.engine.events(after):
            found.append(event.data)
            if event.seq >= last:
                break
        return found


def names(events: Sequence[Mapping[str, object]]) -> list[object]:
    return [event["event"] for event in events]


async def stored_with(credentials: Mapping[ProfileId, Credential], store: StateStore | None = None) -> StateStore:
    """A store that holds these profiles of `main`."""
    store = store if store is not None else MemoryStore()
    await store.open()
    await store.commit([PutCredential(MAIN_AGENT, profile, credential) for profile, credential in credentials.items()])
    return store


@asynccontextmanager
async def running(
    settings: Settings | None = None,
    *,
    store: StateStore | None = None,
    credentials: Mapping[ProfileId, Credential] = DEFAULT_KEYS,
    upstream: Any = None,
    clock: StillClock | None = None,
    ticking: bool = False,
    environ: Mapping[str, str] | None = None,
    **options: Any,
) -> AsyncIterator[Bench]:
    clock = clock or StillClock()
    upstream = upstream or ScriptedUpstream()
    if store is None:
        store = await stored_with(credentials)
    engine = FailoverEngine(settings or settings_of(), store, upstream, clock=clock, environ=environ or {}, redactor=Redactor(), **options)
    await engine.start(ticking=ticking)
    try:
        yield Bench(engine, upstream, clock, store)
    finally:
        await engine.stop()


async def until(events: AsyncIterator[Event], name: str) -> Mapping[str, object]:
    """The next event of that name."""
    async for event in events:
        if event.data["event"] == name:
            return event.data
    raise AssertionError(f"the events ended without {name}")
