"""Events as they happen (spec/scenarios.md, "Events"): one bounded ring that every reader walks at its own pace.

A reader holds a place in the ring and nothing else, so a slow one costs no memory and blocks nobody; what it missed is told by a `gap`
event. What an event says is decided where it happens; here it is numbered and stamped, and masked when somebody reads it: with nobody
watching, an event costs next to nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.domain.operations import Event
from engine.domain.redaction import Redactor
from engine.live.bell import Bell

KEPT = 4_096


@dataclass(frozen=True, slots=True)
class _Kept:
    """An event that nobody has read yet."""

    seq: int
    at: int
    event: str
    data: Mapping[str, object]
    shown: Callable[[Any], Mapping[str, object]] | None
    of: object


def _nobody(session: str) -> str | None:
    return None


class EventBus:
    """publish() belongs to the engine's loop. now: the engine's clock, epoch ms. caller: of a derived session, the name under which its
    row stands; an event of such a session says it too."""

    def __init__(
        self, now: Callable[[], int], redactor: Redactor, kept: int = KEPT, *, caller: Callable[[str], str | None] = _nobody
    ) -> None:
        self._now = now
        self._caller = caller
        self._redactor = redactor
        self._ring: deque[_Kept | Event] = deque(maxlen=kept)
        self._seq = 0
        self._arrived = Bell()
        self._closed = False

    @property
    def last_seq(self) -> int:
        return self._seq

    def publish(self, event: str, shown: Callable[[Any], Mapping[str, object]] | None = None, of: object = None, /, **data: object) -> None:
        """Numbers and keeps the event; None values are left out. shown(of): more of its members, worked out when it is read; `of` must
        not change any more."""
        self._seq += 1
        self._ring.append(_Kept(self._seq, self._now(), event, data, shown, of))
        self._arrived.ring()

    def close(self) -> None:
        """Every reader ends after what is there."""
        self._closed = True
        self._arrived.ring()

    def subscribe(self, after: int | None = None) -> AsyncGenerator[Event]:
        """Events with a larger seq than `after`, as far as they are kept, then those to come; None: only those to come.
        A reader that fell behind gets one `gap` event, `missed` = how many, in their place. An `after` of another engine's life (larger
        than anything here) means from the start."""
        return self._from(self._seq if after is None else (after if after <= self._seq else 0))

    async def _from(self, place: int) -> AsyncGenerator[Event]:
        while True:
            if place < self._seq:
                oldest = self._ring[0].seq
                if place + 1 < oldest:
                    missed = oldest - place - 1
                    place = oldest - 1
                    yield Event(place, {"event": "gap", "at": self._now(), "missed": missed})
                    continue
                event = self._read(place + 1 - oldest)
                place = event.seq
                yield event
                continue
            if self._closed:
                return
            await self._arrived.wait()

    def _read(self, index: int) -> Event:
        """Masked once, however many readers there are."""
        kept = self._ring[index]
        if isinstance(kept, Event):
            return kept
        more = kept.shown(kept.of) if kept.shown is not None else {}
        session = kept.data.get("session")
        if isinstance(session, str) and (caller := self._caller(session)) is not None:
            more = {**more, "caller": caller}
        data = {key: self._redactor.mask_json(value) for key, value in {**more, **kept.data}.items() if value is not None}
        made = self._ring[index] = Event(kept.seq, {"event": kept.event, "at": kept.at, **data})
        return made
