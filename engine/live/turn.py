"""One request of a session as its caller sees it: the answer, its bytes, a way to stop it. The turn itself runs in a task of its own
(design.md), so a caller that goes away can only say so; it never tears the walk down. What happens next is the driver's and the rules'."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from engine.domain.exchange import Answered, Payload
from engine.domain.settings import Settings
from engine.domain.turns import TurnRequest, TurnResult
from engine.live.bell import Bell
from engine.live.pipe import Pipe


class LiveTurn:
    """A turn in flight. Every method belongs to the engine's loop."""

    def __init__(self, request: TurnRequest, payload: Payload, settings: Settings) -> None:
        self.request = request
        self.payload = payload
        self.settings = settings
        self.pipe = Pipe()
        self._answered: Answered | TurnResult | None = None
        self._finished: TurnResult | None = None
        self._news = Bell()
        self._interrupt: Callable[[], object] | None = None
        self._cancelled = False

    async def answer(self) -> Answered | TurnResult:
        """`Answered` when the winning attempt has its first content and what must be durable is; `TurnResult` when nothing answered.
        Giving up waiting does not stop the turn: say `cancel`."""
        while self._answered is None:
            await self._news.wait()
        return self._answered

    def chunks(self) -> AsyncIterator[bytes]:
        """The answer's bytes, once. They end when the answer ends or breaks; `result` says which (`partial`). Whoever stops reading
        before the end must `cancel`: an unread answer stops the reading of the provider."""
        return self.pipe.chunks()

    async def result(self) -> TurnResult:
        """What the turn came to, when it is over."""
        while self._finished is None:
            await self._news.wait()
        return self._finished

    def cancel(self) -> None:
        """The caller is gone: upstream is closed at once, the walk hears of it as an outcome. Does nothing once the turn is over."""
        if self._cancelled or self.done:
            return
        self._cancelled = True
        self.pipe.discard()
        if self._interrupt is not None:
            self._interrupt()

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    @property
    def done(self) -> bool:
        return self._finished is not None

    @property
    def committed(self) -> bool:
        """Content has been handed out: no other candidate can follow (`attempt.committed`)."""
        return self._answered is not None

    def on_cancel(self, interrupt: Callable[[], object] | None) -> None:
        """The driver's: what `cancel` interrupts now."""
        self._interrupt = interrupt

    def give(self, answered: Answered) -> None:
        """The driver's: the answer begins."""
        if self._answered is None:
            self._answered = answered
            self._news.ring()

    def finish(self, result: TurnResult) -> None:
        """The driver's: the turn is over."""
        if self._finished is None:
            self._finished = result
            self._answered = self._answered if self._answered is not None else result
            self._news.ring()
        self.pipe.close()
