"""What differs between API families on the way up and down, as one protocol: a family is one file that implements it. HTTP, timeouts and
retries are `client`'s; what a failure means is the rules'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from engine.domain.exchange import Payload
from engine.domain.failure import Failure
from engine.domain.ids import ModelRef
from engine.domain.settings import ProviderSettings
from engine.providers.sse import Event


@dataclass(frozen=True, slots=True)
class UpstreamRequest:
    """headers: those of the family, lower-case, the credential included; the caller's are added by `client` where they do not clash."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class Sign(Enum):
    """What an event or a whole answer shows. PREAMBLE: nothing usable yet. END: nothing usable is missing if the stream stops here.
    DONE: nothing follows. JUNK: unreadable, and no content is lost with it."""

    PREAMBLE = "preamble"
    CONTENT = "content"
    END = "end"
    DONE = "done"
    JUNK = "junk"


class Family(Protocol):
    """One API family. All of it is pure; `Failure`s hold the provider's text and no secret of ours."""

    def request(self, provider: ProviderSettings, ref: ModelRef, secret: str | None, payload: Payload) -> UpstreamRequest: ...

    def kept_as(self, data: bytes) -> str | None:
        """A whole answer, or an event before the first content: the id under which upstream keeps the answer, if it says so here."""
        ...

    def read_whole(self, body: bytes) -> Sign | Failure:
        """A whole answer of status 2xx: CONTENT, or END when there is nothing usable in it."""
        ...

    def read_event(self, event: Event) -> Sign | Failure:
        """An event before the first content."""
        ...

    def plain_length(self, chunk: bytes) -> int:
        """How many bytes at the beginning of a chunk, after content, are whole events that surely hold neither an error, nor junk, nor
        the end: the cheap look that spares reading them one by one."""
        ...

    def read_later_event(self, event: Event) -> Sign | Failure:
        """The first event with content, and every one after it: END or DONE when it says so, else CONTENT, JUNK or a Failure."""
        ...
