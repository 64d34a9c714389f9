"""Reads one streamed answer: holds it back until its first content, then hands its bytes on as they came and watches for its end.
Which event means what is the family's business; HTTP is not known here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx

from engine.domain.exchange import AnswerBroken
from engine.domain.failure import Failure
from engine.providers.decoding import Undecodable
from engine.providers.failures import connection_failure
from engine.providers.family import Family, Sign
from engine.providers.reading import GARBLED
from engine.providers.sse import Event, EventCutter, parse_event

HELD_LIMIT = 4 * 1024 * 1024
"""Bytes of a preamble at most; nobody needs more before the first word."""

_FIELDS = (b"data:", b"event:", b"id:")


class StreamedBody:
    """First `until_content`, then `chunks` once. source: what is still to be read. skipped: malformed events that were left out.
    finished: nothing follows, whether the connection has said so or not. kept_as: the id under which upstream keeps this answer."""

    def __init__(self, source: AsyncIterator[bytes], family: Family, status: int) -> None:
        self.skipped = 0
        self.finished = False
        self.kept_as: str | None = None
        self.source = source
        self._family = family
        self._status = status
        self._cutter = EventCutter()
        self._held: list[bytes] = []
        self._content = False
        self._ended = False
        self._broken: Failure | None = None

    async def until_content(self, first_byte: Callable[[], None]) -> bool | Failure:
        """True: content has begun. False: the answer is over and held none. first_byte: called when the first bytes are there.
        Raises httpx.TransportError and Undecodable."""
        size = 0
        async for chunk in self.source:
            if not size:
                first_byte()
            size += len(chunk)
            self._take_chunk(chunk)
            if self._content or self._broken is not None or self.finished:
                break
            if size > HELD_LIMIT:
                return Failure(status=self._status, message="the stream went on without content and without end")
        else:
            rest = self._cutter.rest
            if rest and not self._held:
                # Not one event: whatever this is, it was not streamed.
                sign = self._family.read_whole(rest)
                if isinstance(sign, Failure):
                    return sign
            if rest:
                self._take(parse_event(rest))
            self.finished = True
        if not self._content and self._broken is not None:
            return self._broken
        return self._content

    async def chunks(self) -> AsyncIterator[bytes]:
        """The answer from its first byte. Raises AnswerBroken where it breaks; no byte of the breaking event is handed on."""
        yield self._flush()
        if self._over():
            return
        try:
            async for chunk in self.source:
                self._take_chunk(chunk)
                if self._held:
                    yield self._flush()
                if self._over():
                    return
        except (httpx.TransportError, Undecodable) as error:
            if self._ended:
                return  # everything had come; only the goodbye is missing
            raise AnswerBroken(self._failure(error)) from error
        if self._cutter.rest:
            self._take(parse_event(self._cutter.rest))
            yield self._flush()
        self.finished = True
        self._over()

    def _take_chunk(self, chunk: bytes) -> None:
        start = 0
        while not self._content and start < len(chunk):
            # Event by event, so that the many that may follow the first content are not read like a preamble.
            end = chunk.find(b"\n\n", start) + 2
            end = end if end > 1 else len(chunk)
            for event in self._cutter.feed(chunk[start:end]):
                self._take(event)
            start = end
        if start:
            chunk = chunk[start:]
        if self._cutter.idle:
            plain = self._family.plain_length(chunk)
            if plain:
                self._held.append(chunk[:plain])
                chunk = chunk[plain:]
        for event in self._cutter.feed(chunk):
            self._take(event)

    def _flush(self) -> bytes:
        held = b"".join(self._held)
        self._held.clear()
        return held

    def _take(self, event: Event) -> None:
        if self._broken is not None or self.finished:
            return
        sign: Sign | Failure
        if not self._content:
            if self.kept_as is None and event.data is not None:
                self.kept_as = self._family.kept_as(event.data)
            # Megabytes that do not even begin like an event are no answer, however long they go on.
            garbage = event.oversized and not event.raw.lstrip().startswith(_FIELDS)
            sign = Sign.JUNK if garbage else self._family.read_event(event)
            if sign is Sign.CONTENT:
                self._content = True
        if self._content:
            sign = self._family.read_later_event(event)
        if sign is GARBLED and self._ended:
            sign = Sign.JUNK  # of what was said nothing can be missing any more
        if isinstance(sign, Failure):
            self._broken = sign
        elif sign is Sign.JUNK:
            self.skipped += 1
        else:
            self._ended = self._ended or sign is Sign.END or sign is Sign.DONE
            self.finished = sign is Sign.DONE
            self._held.append(event.raw)

    def _over(self) -> bool:
        """Nothing follows. Raises AnswerBroken when something should."""
        if self._broken is not None:
            raise AnswerBroken(self._broken)
        if self.finished and self._content and not self._ended:
            raise AnswerBroken(Failure(status=self._status, message="stream closed before the answer was complete"))
        return self.finished

    def _failure(self, error: httpx.TransportError | Undecodable) -> Failure:
        if isinstance(error, Undecodable):
            return Failure(status=self._status, message=str(error))
        return connection_failure(error, self._status)
