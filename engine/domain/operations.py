"""How the console and the command line reach an engine: a running one through the operator API, or one in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.domain.acts import Act, ActResult
from engine.domain.ids import SessionKey
from engine.domain.snapshot import Preview, Snapshot


@dataclass(frozen=True, slots=True)
class Event:
    """One event of spec/scenarios.md ("Events"). data: the JSON object, `event` and `at` included; secrets are masked already.
    seq grows by one per engine, so that a reader can ask for what it missed."""

    seq: int
    data: Mapping[str, object]


class Operations(Protocol):
    """Raises GatewayUnreachable when the engine does not answer; a refused act is an ActResult with ok False."""

    async def snapshot(self) -> Snapshot: ...

    def events(self, after: int | None = None) -> AsyncIterator[Event]:
        """Events as they happen; `after`: first those still kept with a larger seq."""
        ...

    async def preview(self, session: SessionKey) -> Preview: ...

    async def act(self, act: Act, by: str) -> ActResult: ...

    async def decisions(
        self, *, session: SessionKey | None = None, turn: str | None = None, limit: int = 100
    ) -> Sequence[Mapping[str, object]]:
        """Decision records, newest first."""
        ...
