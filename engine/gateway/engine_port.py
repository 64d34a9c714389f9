"""What the gateway needs of an engine, and no more: a fake in tests, `engine.live`'s in the program. No HTTP here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from engine.domain.exchange import Answered, Payload
from engine.domain.ids import TurnId
from engine.domain.settings import Settings
from engine.domain.stored_answers import StoredAnswer
from engine.domain.turns import TurnRequest, TurnResult


class Turn(Protocol):
    """A turn in flight."""

    async def answer(self) -> Answered | TurnResult:
        """`Answered` at the first content; `TurnResult` when nothing answered."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """After `Answered`, once: the answer's bytes, with backpressure. A broken answer raises AnswerBroken, or ends and the result
        says `partial`."""
        ...

    def cancel(self) -> None:
        """The caller went away: upstream is closed at once. Safe at any time."""
        ...

    async def result(self) -> TurnResult: ...


class Engine(Protocol):
    """settings: the current generation, a new object when it changes. ready: some profile is usable. draining: no new turns.
    open_windows: how many, by kind."""

    @property
    def settings(self) -> Settings: ...
    @property
    def draining(self) -> bool: ...
    @property
    def ready(self) -> bool: ...
    @property
    def open_windows(self) -> Mapping[str, int]: ...

    def stored_answer(self, name: str) -> StoredAnswer | None:
        """Who made the answer that upstream keeps under this id; None when it was never seen."""
        ...

    def new_turn_id(self) -> TurnId: ...

    def begin(self, request: TurnRequest, payload: Payload, *, derived_for: str | None = None) -> Turn:
        """The turn has started, in a task of its own. derived_for: the session is derived from its caller, which is named so.
        Raises FailoverError while draining."""
        ...
