"""Bounds the head of a request in size and time, declines upgrades and answers what is no HTTP. uvicorn's parser takes headers without end
and waits for them for ever, and a provider that refuses them by hanging up would look like one that is down, so that one caller's headers
would cost every caller the key; and it loses the body of a request that offers HTTP/2, which clients in Java do by themselves. No routes
here."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from engine.gateway.caller import CALLER, Caller
from engine.gateway.dialects.openai_chat import OpenAIChat
from engine.gateway.unread import LINGER_S

HEAD_LIMIT = 32 * 1024
"""Bytes of the target and all headers. Common servers take 16 to 64 KiB, and most of these go on to a provider."""

HEAD_S = 30.0
"""From a connection's or a request's first moment to the end of its head."""

_OFFER = re.compile(rb"(?<=\r\n)upgrade(?=[ \t]*:)", re.IGNORECASE)
_DECLINED = b"x-failover-declined"

_SHAPE = OpenAIChat()
"""What is no request has no dialect; this is the one that most callers read."""


class BoundedHead(HttpToolsProtocol):
    """One connection of the gateway's server. A head above HEAD_LIMIT is answered with 431, one that takes longer than `head_s` with 408,
    garbage with 400; all close the connection. An offer to change the protocol is overlooked, as HTTP allows."""

    head_s = HEAD_S
    _between = True
    _in_head = False
    _head = 0
    _too_large = False
    _refused = False
    _awaited_since: float | None = None
    """When the head began that is not complete, or the connection; None: nothing is awaited."""

    # What it overrides narrows asyncio's own signature in the same way.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._callers: deque[Caller] = deque()
        self._awaited_since = self.loop.time()
        self._timer = self.loop.call_later(self.head_s, self._look_at_the_time)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)
        for caller in self._callers:
            caller.gone()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self._between or self._in_head:
            # A name that the network cut in two is missed; then the request is refused for its missing body, as a program can read.
            end = data.find(b"\r\n\r\n")
            end = end if end >= 0 else len(data)
            if _OFFER.search(data, 0, end):
                data = _OFFER.sub(_DECLINED, data[:end], count=1) + data[end:]
        super().data_received(data)
        if self._in_head:
            # A single header without end never reaches `on_header`.
            self._head += len(data)
            if self._head > HEAD_LIMIT and not self._refused:
                self._too_large = True
                self.send_400_response("")

    def on_message_begin(self) -> None:
        self._between, self._in_head, self._head = False, True, 0
        self._awaited_since = self.loop.time()
        super().on_message_begin()
        # More than one when requests are pipelined; answered in their order.
        self._callers.append(Caller())
        self.scope["state"][CALLER] = self._callers[-1]

    def on_message_complete(self) -> None:
        self._between = True
        self._callers[-1].arrived = True
        super().on_message_complete()

    def on_headers_complete(self) -> None:
        self._in_head = False
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_LIMIT:
            self._too_large = True
            raise ValueError  # ends the parsing; `send_400_response` says why
        self._awaited_since = None
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        self._callers.popleft()
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body:
            # The answer had its time to arrive (`unread`); what still comes of the request would be read for ever.
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        if self._too_large:
            text = f"The request's headers are larger than {HEAD_LIMIT // 1024} KiB. Send fewer or shorter ones."
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", text)
        else:
            text = "This is not HTTP/1.1 as the gateway understands it. Send plain HTTP (no TLS) to it, with well-formed headers."
            self._refuse(HTTPStatus.BAD_REQUEST, "invalid_http", text)

    def _look_at_the_time(self) -> None:
        # One timer a connection instead of one a request: it asks what is due, and comes again when that may be.
        due = (self._awaited_since if self._awaited_since is not None else self.loop.time()) + self.head_s
        if due > self.loop.time():
            self._timer = self.loop.call_at(due, self._look_at_the_time)
        elif self._in_head:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "request_timeout", "The request's headers came too slowly. Send it again.")
        else:
            self.transport.close()

    def _refuse(self, status: HTTPStatus, code: str, text: str) -> None:
        self._refused = True
        body = _SHAPE.error(status, code, text, {})
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        # Closed at once, with more of the request under way, the answer would be lost with the connection.
        self.transport.write_eof()
        self._timer.cancel()
        self._timer = self.loop.call_later(LINGER_S, self.transport.close)
