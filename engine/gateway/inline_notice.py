"""`gateway.notices: inline` in a stream that must begin with its own events: the notice goes into the first event that has text, and every
other byte passes as it came."""

from __future__ import annotations

from engine.gateway.dialects.dialect import Dialect, dumped, loaded
from engine.providers.sse import Event, EventCutter


class InlineNotice:
    """`put` each chunk while `waiting`; `rest` is what it still holds."""

    def __init__(self, dialect: Dialect, text: str) -> None:
        self._dialect = dialect
        self._text = text
        self._cutter = EventCutter()
        self.waiting = True

    def put(self, chunk: bytes) -> bytes:
        out = b"".join(self._told(event) for event in self._cutter.feed(chunk))
        if not self.waiting:
            out += self.rest
        return out

    @property
    def rest(self) -> bytes:
        return self._cutter.rest

    def _told(self, event: Event) -> bytes:
        found = loaded(event.data.decode("utf-8", "replace")) if self.waiting and event.data else None
        if found is None or not self._dialect.put_notice(found, self._text):
            return event.raw
        self.waiting = False
        name = b"event: " + event.name.encode() + b"\n" if event.name else b""
        return name + b"data: " + dumped(found) + b"\n\n"
