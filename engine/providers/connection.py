"""One HTTP/1.1 connection to a provider: bytes in, status, headers and body out, with bounded memory whatever comes.
No pool, no URL and no meaning of a status here."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import cast

import httptools
import httpx

QUIET_LIMIT = 64 * 1024
"""Bytes that may come in without being body: headers, chunk sizes, trailers, interim answers. More is a protocol error, not memory."""

HIGH_WATER = 128 * 1024
"""Body bytes that may wait unread; above it the socket is not read, so that a slow caller slows the provider."""


class Connection(asyncio.Protocol):
    """Serves one exchange at a time. lost: it cannot be used again. gone: told when it is lost while idle."""

    def __init__(self) -> None:
        self.lost = False
        self.idle_since = 0.0
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.idle_in: deque[Connection] | None = None
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._busy = False

    # --- an exchange ---------------------------------------------------------------------------------------------------

    def send(self, request: bytes) -> None:
        """Begins an exchange; the former one must have been `ended`."""
        assert self._transport is not None
        self.status, self.headers = 0, []
        self._chunks: deque[bytes] = deque()
        self._waiting = self._quiet = 0
        self._error: httpx.TransportError | None = None
        self._head = self._complete = self._framed = self._keep = self._paused = False
        self._busy = True
        self._parser = httptools.HttpResponseParser(self)
        self._transport.write(request)

    async def head(self, timeout_s: float | None) -> None:
        """`status` and `headers` are there. Raises httpx.TransportError, ReadTimeout after `timeout_s`."""
        while not self._head:
            await self._more(timeout_s)

    async def body(self, idle_s: float | None) -> AsyncIterator[bytes]:
        """The body's bytes as they arrive. Raises httpx.TransportError when it breaks off, ReadTimeout after `idle_s` of silence."""
        while True:
            while self._chunks:
                chunk = self._chunks.popleft()
                self._waiting -= len(chunk)
                if self._paused and self._waiting < HIGH_WATER // 2:
                    self._pause(False)
                yield chunk
            if self._complete:
                return
            await self._more(idle_s)

    def end(self) -> bool:
        """Ends the exchange; True when the connection can serve another."""
        self._busy = False
        return self._complete and self._keep and not self.lost and not self._paused

    def close(self) -> None:
        """The socket is closed at once: what was still to be sent is dropped."""
        self.lost = True
        if self._transport is not None:
            self._transport.abort()

    # --- what the event loop calls -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self._busy or self._error is not None:
            self.close()  # nobody asked for these: the connection is out of step
            return
        self._quiet += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail(httpx.RemoteProtocolError("the server switched protocols unasked"))
        except httptools.HttpParserError as error:
            self._fail(httpx.RemoteProtocolError(f"the answer is not HTTP: {error}"))
        if self._quiet > QUIET_LIMIT and not self._complete:
            self._fail(httpx.RemoteProtocolError("the server sent headers without end"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        if self.idle_in is not None:
            self.idle_in.remove(self)
            self.idle_in = None
        if not self._busy or self._complete or self._error is not None:
            return
        if exc is None and self._head and not self._framed:
            self._complete = True  # an answer without a length ends where the connection ends
            self._wake()
        elif exc is None:
            where = "in the middle of its answer" if self._head else "without an answer"
            self._fail(httpx.RemoteProtocolError(f"the server closed the connection {where}"))
        else:
            error = httpx.ReadError(f"connection lost: {exc}")
            error.__cause__ = exc
            self._fail(error)

    # --- what httptools calls ------------------------------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head:
            return  # a trailer
        name = name.lower()
        self._framed = self._framed or name == b"content-length" or (name == b"transfer-encoding" and b"chunked" in value.lower())
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._complete:
            self._keep = False  # a second answer that nobody asked for
        elif status >= 200:
            self.status, self._head = status, True
            self._framed = self._framed or status in (204, 304)
            self._wake()

    def on_body(self, body: bytes) -> None:
        if self._complete:
            return
        self._quiet = 0
        self._chunks.append(body)
        self._waiting += len(body)
        if self._waiting > HIGH_WATER and not self._paused:
            self._pause(True)
        self._wake()

    def on_message_complete(self) -> None:
        if not self._head:
            self.headers, self._framed = [], False  # 1xx: the answer itself is still to come
        elif not self._complete:
            self._complete = True
            self._keep = self._parser.should_keep_alive()
            self._wake()

    # -------------------------------------------------------------------------------------------------------------------

    async def _more(self, timeout_s: float | None) -> None:
        if self._error is not None:
            raise self._error
        loop = asyncio.get_running_loop()
        waiter = self._waiter = loop.create_future()
        timer = loop.call_later(timeout_s, _expire, waiter, timeout_s) if timeout_s is not None else None
        try:
            await waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: httpx.TransportError) -> None:
        self._error = error
        self._wake()
        self.close()

    def _pause(self, paused: bool) -> None:
        self._paused = paused
        if self._transport is not None and not self.lost:
            if paused:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()


def _expire(waiter: asyncio.Future[None], timeout_s: float) -> None:
    if not waiter.done():
        waiter.set_exception(httpx.ReadTimeout(f"nothing came for {timeout_s:g} s"))
