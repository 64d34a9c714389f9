"""A whole answer of the gateway itself (an error, a list, a health check), and how one is sent. Streams are `conversation`'s."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Reply:
    """headers: lower-case names; content-type and content-length are added."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = JSON

    async def send(self, send: Send, *, head_only: bool = False) -> None:
        headers = encoded({"content-type": self.content_type, "content-length": str(len(self.body)), **self.headers})
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if head_only else self.body})


class Refused(Exception):
    """A request that never became a turn. message: what is wrong and what to do next; shown to the caller in its dialect."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = dict(headers or {})


def json_reply(value: object, status: int = 200) -> Reply:
    return Reply(status, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def masked(headers: Mapping[str, str], mask: Callable[[str], str]) -> Mapping[str, str]:
    """A provider's headers, in which it may repeat a key. One look for all of them: there is hardly ever anything."""
    together = "\n".join(headers.values())
    return headers if mask(together) == together else {name: mask(value) for name, value in headers.items()}


def encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """For ASGI. A value with anything but printable ASCII in it (a model's name is foreign text) is percent-encoded: nothing can begin a
    header of its own."""
    return [(name.encode("ascii"), header_value(value).encode("ascii")) for name, value in headers.items()]


def header_value(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return quote(text, safe=" !\"#$&'()*+,/:;<=>?@[\\]^`{|}~")
