"""Cuts an event stream into its events and keeps each one's bytes as they came, with bounded memory. Knows what an event is, not what
it means: that differs per API family."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

EVENT_LIMIT = 4 * 1024 * 1024
"""Bytes of one event at most; what is longer passes through unread (`oversized`)."""

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n")


@dataclass(frozen=True, slots=True)
class Event:
    """raw: its bytes, the blank line that ends it included. name: of `event:`, else empty. data: its `data:` lines, None without any
    (a comment, a keep-alive). oversized: only passed through."""

    raw: bytes
    name: str
    data: bytes | None
    oversized: bool = False


class EventCutter:
    """One stream. `feed` what comes; `rest` is what waits for its end."""

    def __init__(self) -> None:
        self._tail = bytearray()
        self._searched = 0
        self._passing = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that are complete now, in order."""
        tail = self._tail
        tail += chunk
        start = 0
        while True:
            found = _BLANK_LINE.search(tail, max(start, self._searched))
            if found is None:
                break
            raw = bytes(tail[start : found.end()])
            start = self._searched = found.end()
            passing, self._passing = self._passing, False
            yield Event(raw, "", None, oversized=True) if passing else parse_event(raw)
        del tail[:start]
        # The end of an event may lie across two chunks: its last three bytes are looked at again.
        self._searched = max(0, len(tail) - 3)
        if len(tail) > EVENT_LIMIT:
            raw, self._searched = bytes(tail[:-3]), 0
            del tail[:-3]
            self._passing = True
            yield Event(raw, "", None, oversized=True)

    @property
    def rest(self) -> bytes:
        """What has come of an event that is not complete."""
        return bytes(self._tail)

    @property
    def idle(self) -> bool:
        """Nothing waits: the next byte begins an event."""
        return not self._tail and not self._passing


def parse_event(raw: bytes) -> Event:
    """Fields as the standard has them; unknown ones and comments are skipped."""
    name, data = "", None
    for line in raw.splitlines():
        if line.startswith(b"data:"):
            value = line[6:] if line[5:6] == b" " else line[5:]
            data = value if data is None else data + b"\n" + value
        elif line.startswith(b"event:"):
            name = line[6:].strip().decode("utf-8", "replace")
    return Event(raw, name, data)
