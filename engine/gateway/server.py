"""The gateway on its sockets: bound before anything else starts, served in whatever loop the caller runs, drained at the end. Prints
nothing, installs no signal handler. What is served is `app`'s business."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import uvicorn

from engine.domain.errors import StartError
from engine.domain.loopback import is_loopback
from engine.domain.settings import GatewaySettings
from engine.gateway.app import GatewayApp
from engine.gateway.request_head import BoundedHead

BACKLOG = 1024
log = logging.getLogger("failover.gateway")

KEEP_ALIVE_S = 75
LEFTOVERS_S = 1
"""After the drain: what has not ended by then is cut."""

SAID_AGAIN_S = 30.0
"""A lack that goes on is not told more often."""

_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_BOTH_STACKS = (socket.AF_INET, socket.AF_INET6)


def bind(gateway: GatewaySettings, token: str | None) -> list[socket.socket]:
    """Listening sockets on every address of `gateway.host`; port 0 takes a free one. token: `gateway.token`, resolved.
    Raises StartError: no token for an address that others can reach, a port in use, not permitted, no such address."""
    host, port = gateway.host, gateway.port
    if not is_loopback(host) and not token:
        raise StartError(
            f"the gateway needs a token to listen on {host}",
            "others can reach that address, and the gateway spends your credentials",
            "set gateway.token (a reference such as env:NAME), or gateway.host to 127.0.0.1",
        )
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise StartError(f"the gateway cannot listen on {host}", str(error), "set gateway.host to an address of this machine") from error
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in found:
            if family in _BOTH_STACKS:
                # The first decides the port for all.
                wanted = sockets[0].getsockname()[1] if sockets else port
                sockets.append(_listening(family, (str(address[0]), wanted, *address[2:])))
    except OSError as error:
        for one in sockets:
            one.close()
        raise _cannot_bind(error, host, port) from error
    return sockets


def _listening(family: int, address: tuple[str | int, ...]) -> socket.socket:
    # The protocol is named: asyncio turns Nagle's delay off only on sockets that say they are TCP, and accepted ones inherit it.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix" and sys.platform != "cygwin":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        # At once: until somebody listens, a second process could bind the same port.
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def _cannot_bind(error: OSError, host: str, port: int) -> StartError:
    if error.errno == errno.EADDRINUSE:
        return StartError(f"port {port} is in use", f"another program listens on {host}:{port}", "stop it, or set gateway.port")
    if error.errno in (errno.EACCES, errno.EPERM):
        return StartError(f"port {port} is not permitted", f"{host}:{port}: {error.strerror}", "set gateway.port to one above 1023")
    return StartError(f"the gateway cannot listen on {host}:{port}", str(error), "set gateway.host to an address of this machine")


class _AcceptTrouble:
    """The loop's exception handler while the gateway serves: asyncio tells a lack of file descriptors by up to a thousand tracebacks a
    second, which fills disks and stops a process whose standard error nobody reads. Connections wait until one is free, as asyncio has it.
    """

    def __init__(self) -> None:
        self._quiet_until = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _NO_ROOM:
            loop.default_exception_handler(context)
        elif loop.time() >= self._quiet_until:
            self._quiet_until = loop.time() + SAID_AGAIN_S
            log.error("new connections wait: %s. Raise the limit (ulimit -n), or look at what keeps so many open.", error.strerror)


class _Quiet(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # whoever runs the loop decides what a signal means


class GatewayServer:
    """Owns the sockets: they are closed when `serve` returns. connection: how one is spoken on."""

    def __init__(self, app: GatewayApp, sockets: Sequence[socket.socket], connection: type[BoundedHead] = BoundedHead) -> None:
        # Without any handler, Python prints warnings to stderr by itself, over a screen that may be there.
        logging.getLogger("uvicorn").addHandler(logging.NullHandler())
        self._app = app
        self._sockets = list(sockets)
        host, port = self._sockets[0].getsockname()[:2]
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        config = uvicorn.Config(
            app,
            http=connection,
            ws="none",
            lifespan="off",
            loop="none",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=LEFTOVERS_S,
        )
        self._server = _Quiet(config)

    async def serve(self) -> None:
        """Until `stop` or `drain`, or its cancellation."""
        asyncio.get_running_loop().set_exception_handler(_AcceptTrouble())
        try:
            await self._server.serve(sockets=self._sockets)
        finally:
            for one in self._sockets:
                one.close()

    async def drain(self, seconds: float) -> None:
        """New requests get 503; turns in flight have so long to end. Then `stop`."""
        self._app.draining = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._app.idle.wait()
        self.stop()

    def stop(self) -> None:
        """`serve` returns soon; what is still running is cut after a second."""
        self._server.should_exit = True
