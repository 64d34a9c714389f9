"""Bounds the head of a request, declines upgrades and answers what is no HTTP. uvicorn's parser takes headers without end, and a provider
that refuses them by hanging up would look like one that is down, so that one caller's headers would cost every caller the key; and it
loses the body of a request that offers HTTP/2, which clients in Java do by themselves. No routes here."""

from __future__ import annotations

import re
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from engine.gateway.dialects.openai_chat import OpenAIChat

HEAD_LIMIT = 32 * 1024
"""Bytes of the target and all headers. Common servers take 16 to 64 KiB, and most of these go on to a provider."""

_OFFER = re.compile(rb"(?<=\r\n)upgrade(?=[ \t]*:)", re.IGNORECASE)
_DECLINED = b"x-failover-declined"

_SHAPE = OpenAIChat()
"""What is no request has no dialect; this is the one that most callers read."""


class BoundedHead(HttpToolsProtocol):
    """One connection of the gateway's server. A head above HEAD_LIMIT is answered with 431, garbage with 400; both close the
    connection. An offer to change the protocol is overlooked, as HTTP allows."""

    _between = True
    _in_head = False
    _head = 0
    _too_large = False

    def data_received(self, data: bytes) -> None:
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
            if self._head > HEAD_LIMIT and not self.transport.is_closing():
                self._too_large = True
                self.send_400_response("")

    def on_message_begin(self) -> None:
        self._between, self._in_head, self._head = False, True, 0
        super().on_message_begin()

    def on_message_complete(self) -> None:
        self._between = True
        super().on_message_complete()

    def on_headers_complete(self) -> None:
        self._in_head = False
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_LIMIT:
            self._too_large = True
            raise ValueError  # ends the parsing; `send_400_response` says why
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        status, code = HTTPStatus.BAD_REQUEST, "invalid_http"
        text = "This is not HTTP/1.1 as the gateway understands it. Send plain HTTP (no TLS) to it, with well-formed headers."
        if self._too_large:
            status, code = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large"
            text = f"The request's headers are larger than {HEAD_LIMIT // 1024} KiB. Send fewer or shorter ones."
        body = _SHAPE.error(status, code, text, {})
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()
