"""How the console and the command line reach an engine: a running one through the operator API, or one in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.domain.acts import Act, ActResult
from engine.domain.decisions import EVERY, Matching
from engine.domain.foresight import Assumption, Moves, SessionDetail, WhatIf
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

    def events(self, after: int | None = None) -> AsyncGenerator[Event]:
        """Events as they happen; `after`: first those still kept with a larger seq."""
        ...

    async def preview(self, session: SessionKey) -> Preview: ...

    async def what_if(self, session: SessionKey, assumptions: Sequence[Assumption]) -> WhatIf:
        """The session's next turn under assumptions, by the policy code on a copy of the state: no call, no change."""
        ...

    async def moves(self, assumptions: Sequence[Assumption]) -> Moves:
        """Whose next turn would go elsewhere under assumptions: what an act on all sessions will do, before it is confirmed."""
        ...

    async def detail(self, session: SessionKey) -> SessionDetail:
        """Its latest turns with their attempts, and its fields with who wrote them."""
        ...

    async def act(self, act: Act, by: str) -> ActResult: ...

    async def decisions(
        self, *, session: SessionKey | None = None, turn: str | None = None, limit: int = 100, matching: Matching = EVERY
    ) -> Sequence[Mapping[str, object]]:
        """Decision records, newest first."""
        ...
