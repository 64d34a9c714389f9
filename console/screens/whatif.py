"""What-if: a line to type assumptions into, and under it the session's chain as it is and as it would be. Nothing is sent that changes
anything; the engine predicts, `console.view.whatif` draws."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input
from textual.worker import WorkType

from console.screens.modal import Modal
from console.view import whatif
from console.view.assumptions import EXAMPLES, Place, parse
from console.view.frame import Frame, Subject
from console.view.lines import Line, Tone, fit_parts, span, wrap
from console.widgets.bar import Bar
from console.widgets.lines import LineList, Numbered
from engine.domain.errors import FailoverError
from engine.domain.foresight import Assumption, WhatIf

_FRAME = 7
Ask = Callable[[Sequence[Assumption]], Awaitable[WhatIf]]


class WhatIfScreen(Modal[None]):
    """place: the session and what `this` means, as of the key press. Asked again with every frame, so that it stays true."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", show=False),
        Binding("up", "go('up')", show=False),
        Binding("down", "go('down')", show=False),
        Binding("pageup", "go('page_up')", show=False),
        Binding("pagedown", "go('page_down')", show=False),
    ]

    def __init__(self, place: Place, ask: Ask, frame: Frame, *, text: str = "") -> None:
        super().__init__()
        self._place = place
        self._ask = ask
        self._frame = frame
        self._text = text
        self._found: WhatIf | None = None
        self._problem = ""
        self.subject = Subject(place.session)
        self.bar = Bar(id="text-title")
        self.list: LineList[Numbered] = LineList(Numbered.key, draw=Numbered.draw, cursor=False, id="text-list")
        self.list.can_focus = False

    def compose(self) -> ComposeResult:
        yield self.bar
        yield Input(value=self._text, placeholder=f"assume, for example: {'; '.join(EXAMPLES[:3])}", compact=True, id="what-if")
        yield self.list
        keys = Bar(id="text-keys")
        keys.show(
            [
                (
                    (" esc", Tone.INFO),
                    (" back  ", Tone.TEXT),
                    ("enter", Tone.INFO),
                    (" predict  ", Tone.TEXT),
                    ("up down", Tone.INFO),
                    (" scroll", Tone.TEXT),
                )
            ]
        )
        yield keys

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._predict()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    def follow(self, frame: Frame) -> bool:
        """Another frame: predicted again, for the state has changed. False: the session is gone."""
        self._frame = frame
        if not self.subject.there(frame):
            self.dismiss(None)
            return False
        self._predict()
        return True

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._text = event.value
        self._predict()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._predict()

    def _predict(self) -> None:
        try:
            assumed = parse(self._text, Place(self._place.session, self._frame.now, self._place.profile, self._place.utc))
        except ValueError as wrong:
            # While it is being typed it is seldom whole: the last answer stays, with a word above it.
            self._problem = str(wrong)
            self._show()
            return
        self._problem = ""
        work: WorkType[None] = partial(self._fetch, assumed)
        self.run_worker(work, name="what-if", exclusive=True, exit_on_error=False)

    async def _fetch(self, assumed: Sequence[Assumption]) -> None:
        try:
            self._found = await self._ask(assumed)
        except FailoverError as error:
            self._problem = error.title
        except Exception as error:
            self._problem = f"{type(error).__name__} while asking the engine"
        self._show()

    def _show(self) -> None:
        if not self.is_mounted:
            return
        frame, cells = self._frame, max(10, self.size.width - _FRAME)
        lines: list[Line] = [span(frame.look.safe(self._problem), Tone.WARN), ()] if self._problem else []
        if self._found is not None:
            lines += whatif.draw(self._found, frame, cells)
        elif not self._problem:
            lines.append(span("asking the engine", Tone.DIM))
        if not self._text.strip():
            lines += [(), span("What can be assumed", Tone.HEAD), *(span(f"  {example}") for example in EXAMPLES)]
        shown = [part for line in lines for part in wrap(line, cells)]
        self.list.show([Numbered(place, line) for place, line in enumerate(shown)], frame)
        title = f"What if · {frame.look.safe(self._place.session)}"
        self.bar.show([((" ", Tone.TEXT), *fit_parts([(0, span(title, Tone.STRONG))], self.size.width - 2))])

    def action_go(self, where: str) -> None:
        self.list.action_go(where)

    def action_leave(self) -> None:
        self.dismiss(None)
