"""The httpx transport under our upstream calls: a pool of HTTP/1.1 connections on asyncio and httptools. Ours, because CPU per call
decides how much traffic a gateway carries: httpx's own transport takes 0.9 ms a call with 32 in flight, `httpx-aiohttp` 0.12, this one
0.04 (tests/bench/README.md). Knows nothing of providers or retries; follows no redirect, keeps no cookie, reads no proxy variable,
decodes nothing."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
import time
from collections import deque
from collections.abc import AsyncIterator
from functools import lru_cache

import httpx

from engine.providers.connection import Connection
from engine.providers.dialing import dialled, resolved

KEEP_IDLE_S = 4.0
"""How long an idle connection is used again. Shorter than the 5 s after which common servers (uvicorn, Node) close one: a POST that
meets the close fails, cannot be sent again, and would count against a healthy key."""

FAMILY_DELAY_S = 0.25
"""RFC 8305: how long an address (of a broken IPv6, say) has before the next is tried beside it."""

Origin = tuple[str, str, int]


class Http1Transport(httpx.AsyncBaseTransport):
    """Cancelling the task in `handle_async_request`, or closing a response before its end, closes the socket at once.

    Timeouts, in the request's `timeout` extension: `connect` (handshake included), `head` (until the answer's headers), `read` (silence
    in the body). Raises httpx.ConnectError or ConnectTimeout before anything was sent, other httpx.TransportErrors after; the operating
    system's error is the `__cause__`. For one event loop.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._idle: dict[Origin, deque[Connection]] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url, limits = request.url, request.extensions.get("timeout", {})
        origin = (url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80))
        connection = self._rested(origin) or await self._connect(origin, limits.get("connect"))
        try:
            connection.send(_head_of(request) + request.read())
            await connection.head(limits.get("head"))
        except BaseException:
            connection.close()
            raise
        body = _Body(self, origin, connection, limits.get("read"))
        return httpx.Response(connection.status, headers=connection.headers, stream=body, request=request)

    async def aclose(self) -> None:
        for idle in self._idle.values():
            while idle:
                _close_idle(idle.pop())

    def give_back(self, origin: Origin, connection: Connection) -> None:
        """The exchange is over: the connection waits for the next, or is closed."""
        if not connection.end():
            connection.close()
            return
        now = connection.idle_since = time.monotonic()
        idle = connection.idle_in = self._idle.setdefault(origin, deque())
        idle.append(connection)
        while now - idle[0].idle_since > KEEP_IDLE_S:
            _close_idle(idle.popleft())

    def _rested(self, origin: Origin) -> Connection | None:
        idle = self._idle.get(origin)
        while idle:
            connection = idle.pop()
            if time.monotonic() - connection.idle_since < KEEP_IDLE_S:
                connection.idle_in = None
                return connection
            _close_idle(connection)
        return None

    async def _connect(self, origin: Origin, timeout_s: float | None) -> Connection:
        scheme, host, port = origin
        if scheme == "https" and self._tls is None:
            # Made at first use: reading the certificates takes longer than a start without them. SSL_CERT_FILE counts.
            self._tls = httpx.create_ssl_context()
        tls = self._tls if scheme == "https" else None
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                if _is_address(host):
                    _, connection = await loop.create_connection(Connection, host, port, ssl=tls)
                else:
                    dialled_to = await dialled(await resolved(host, port), FAMILY_DELAY_S)
                    name = host if tls is not None else None
                    _, connection = await loop.create_connection(Connection, sock=dialled_to, ssl=tls, server_hostname=name)
        except TimeoutError as error:
            raise httpx.ConnectTimeout(f"no connection to {host}:{port} within {timeout_s or 0:g} s") from error
        except (OSError, ValueError) as error:  # ValueError: a host name that cannot be encoded
            raise httpx.ConnectError(f"no connection to {host}:{port}: {error}") from error
        return connection


class _Body(httpx.AsyncByteStream):
    def __init__(self, pool: Http1Transport, origin: Origin, connection: Connection, idle_s: float | None) -> None:
        self._pool, self._origin, self._connection, self._idle_s = pool, origin, connection, idle_s
        self._open = True

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._connection.body(self._idle_s)

    async def aclose(self) -> None:
        if self._open:
            self._open = False
            self._pool.give_back(self._origin, self._connection)


@lru_cache(maxsize=256)
def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _close_idle(connection: Connection) -> None:
    connection.idle_in = None
    connection.close()


def _head_of(request: httpx.Request) -> bytes:
    lines = [b"%s: %s\r\n" % pair for pair in request.headers.raw]
    return b"%s %s HTTP/1.1\r\n%s\r\n" % (request.method.encode(), request.url.raw_path, b"".join(lines))
