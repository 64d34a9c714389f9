"""The one place where configuration, store, upstream, engine, gateway and operator API are put together: for `serve`, `run` and `demo`, and
as an engine without a gateway for commands that find none running. No behaviour of any of them is here."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import resource
import socket
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from console.cli.options import Listen, Target
from console.cli.output import hint, safe
from console.cli.version import version
from engine.config.files import find_config, read_config
from engine.config.load import Loaded
from engine.config.references import resolve
from engine.domain.clock import Clock, SystemClock
from engine.domain.errors import StartError
from engine.domain.operations import Operations
from engine.domain.redaction import SINK
from engine.domain.settings import GatewaySettings
from engine.gateway.app import GatewayApp
from engine.gateway.guard import Guard
from engine.gateway.operator import OperatorApi
from engine.gateway.server import GatewayServer, bind
from engine.gateway.thread import LoopThread
from engine.live.engine import FailoverEngine
from engine.live.view import OFFLINE
from engine.providers import conversion
from engine.providers.client import HttpUpstream
from store.instance import GatewayLock, operator_token
from store.paths import StateDirectory
from store.sqlite import SqliteStore

log = logging.getLogger("failover.gateway")

OPEN_FILES = 10_240
"""The most that macOS grants."""

LISTEN_S = 0.1
HURRIED_S = 3.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What an engine is started with. environ: where references and variables are looked up; the demo's is empty.
    shared: other gateways may run on the directory. mode: LIVE or DEMO. speed: of policy time, as the clock's."""

    directory: StateDirectory
    config: Path | None
    loaded: Loaded
    listen: Listen = field(default_factory=Listen)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    read_only: bool = False
    shared: bool = False
    mode: str = "LIVE"
    clock: Clock = field(default_factory=SystemClock)
    speed: float = 1.0

    @property
    def gateway(self) -> GatewaySettings:
        """The configured address with what the command line says of it."""
        configured = self.loaded.settings.gateway
        host = configured.host if self.listen.host is None else self.listen.host
        return replace(configured, host=host, port=configured.port if self.listen.port is None else self.listen.port)


def plan(target: Target, listen: Listen, *, read_only: bool = False, shared: bool = False) -> Plan:
    """Reads the configuration. Raises ConfigError."""
    path = find_config(target.config, os.environ)
    return Plan(StateDirectory.locate(target.state_dir), path, read_config(path, os.environ), listen, read_only=read_only, shared=shared)


def make_engine(plan: Plan) -> FailoverEngine:
    """An engine on the directory's store that calls providers over HTTP; `start` opens the store, `stop` closes both."""
    return FailoverEngine(
        plan.loaded.settings,
        SqliteStore(plan.directory),
        HttpUpstream(),
        clock=plan.clock,
        environ=plan.environ,
        read_only=plan.read_only,
        shared=plan.shared,
        config_path=plan.config,
        mode=plan.mode,
        speed=plan.speed,
        version=version(),
        warnings=(*plan.loaded.notes, *plan.loaded.warnings),
    )


@asynccontextmanager
async def local_operations(directory: StateDirectory, config: Path | None) -> AsyncIterator[Operations]:
    """An engine on the state itself, for one command: no gateway, no ticker. What the command changed is durable when it ends.
    Raises ConfigError and StoreError."""
    path = find_config(config, os.environ)
    engine = make_engine(Plan(directory, path, read_config(path, os.environ), mode=OFFLINE))
    try:
        await engine.start(ticking=False)
        # Whoever opens unreadable state first moves it aside; the next start finds nothing to tell.
        for note in engine.told_at_start:
            hint(f"warning: {safe(note)}")
        yield engine
    finally:
        await engine.stop()


def _spare_the_collector() -> None:
    """What is loaded by now stays: without this, a tenth of a request's CPU goes into walking over it (tests/bench/README.md)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


def _room_for_connections() -> None:
    """Every caller and every call takes a file descriptor, and the usual soft limits (1,024, on a Mac 256) are for programs of one user."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Gateway:
    """A running gateway: engine, HTTP endpoints and operator API, in the event loop that started it.

    url: where applications point at. token, instance: of its operator API. operations: the engine itself."""

    def __init__(self, plan: Plan, lock: GatewayLock, sockets: Sequence[socket.socket], caller_token: str | None) -> None:
        self.token = operator_token(plan.directory)
        self.instance = lock.instance
        self.operations = engine = make_engine(plan)
        api = OperatorApi(engine, token=self.token, instance=lock.instance, version=version())
        guard = Guard((*plan.gateway.hosts, plan.gateway.host), caller_token)
        self._app = GatewayApp(engine, guard, operator=api, operator_token=self.token, mask=engine.redactor.mask, now_ms=plan.clock.now_ms)
        self._server = GatewayServer(self._app, sockets)
        self.url = f"http://{self._server.address}"
        engine.address = self._server.address
        self._lock = lock
        self._drain_s = plan.gateway.drain_seconds
        self._serving: asyncio.Task[None] | None = None
        self._loading: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, plan: Plan) -> Gateway:
        """It accepts requests, and the state directory says where. Raises StartError (a port in use, another gateway on the directory,
        an address that needs a token) and StoreError; then nothing is left behind."""
        async with AsyncExitStack() as started:
            lock = GatewayLock.acquire(plan.directory, shared=plan.shared)
            started.callback(lock.release)
            token = caller_token(plan)
            # Before the state is read: a port in use is the likeliest of all mistakes.
            sockets = bind(plan.gateway, token)
            for one in sockets:
                started.callback(one.close)
            gateway = cls(plan, lock, sockets, token)
            started.push_async_callback(gateway.operations.stop)
            await gateway.operations.start()
            _spare_the_collector()
            _room_for_connections()
            gateway._serving = asyncio.create_task(gateway._server.serve(), name="gateway-http")
            lock.publish(gateway.url)
            first = lock.first
            if first is not None and not first.shared:
                hint(f"warning: {safe(first.address)} runs without --shared: a trial may run in both; restart it with --shared")
            if conversion.is_likely({provider.api for provider in plan.loaded.settings.providers.values()}):
                # Not before it accepts requests, and not with the first one that needs it.
                gateway._loading = asyncio.create_task(conversion.load(), name="gateway-conversion")
            started.pop_all()
        return gateway

    async def stop(self, drain_s: float | None = None) -> None:
        """Nothing new is accepted, what is under way gets `drain_s` (None: as configured), everything is written. Safe to call twice:
        both wait for the same end."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(self._drain_s if drain_s is None else drain_s))
        await asyncio.wait({self._ending})
        if not self._ending.cancelled():
            self._ending.result()

    def hurry(self) -> None:
        """Cuts a `stop` short: what is under way is given up."""
        if self._ending is not None:
            self._ending.cancel()

    async def _end(self, drain_s: float) -> None:
        try:
            self._app.draining = True
            # The engine first: while it drains, operators still see it, and its end is what ends their event streams.
            await self.operations.stop(drain_s)
            self._server.stop()
            for ending in (self._serving, self._loading):
                if ending is not None:
                    await ending
        finally:
            self._lock.release()


def caller_token(plan: Plan) -> str | None:
    """`gateway.token`, resolved and masked from now on. Raises StartError when it is configured and not to be had: serving without it
    would open what somebody wanted closed."""
    reference = plan.gateway.token_ref
    if reference is None:
        return None
    found = resolve(reference, plan.environ)
    if found.secret is None:
        raise StartError("The gateway's token cannot be read", found.reason or reference, "set it, or take gateway.token out")
    SINK.add(found.secret)
    return found.secret


class GatewayThread:
    """A gateway in a thread and a loop of its own, for processes that also draw. Raises what `Gateway.start` raises."""

    def __init__(self, plan: Plan) -> None:
        self._thread = LoopThread("gateway")
        self._stopping = threading.Lock()
        try:
            self._gateway = self._thread.do(Gateway.start(plan))
        except BaseException:
            self._thread.stop()
            raise

    @property
    def url(self) -> str:
        return self._gateway.url

    @property
    def token(self) -> str:
        return self._gateway.token

    @property
    def instance(self) -> str:
        return self._gateway.instance

    def stop(self, drain_s: float | None = None, hurry: threading.Event | None = None) -> None:
        """Drains and ends; `hurry` cuts that short. From any thread, and safe to call twice: the second waits for the first."""
        with self._stopping:
            try:
                ending = self._thread.submit(self._gateway.stop(drain_s))
            except RuntimeError:
                return
            while not wait([ending], timeout=LISTEN_S).done:
                if hurry is not None and hurry.is_set():
                    self._thread.submit(self._hurry())
                    wait([ending], timeout=HURRIED_S)
                    break
            if ending.done() and not ending.cancelled() and ending.exception() is not None:
                log.error("the gateway did not end well: %s", ending.exception())
            self._thread.stop()

    async def _hurry(self) -> None:
        self._gateway.hurry()
