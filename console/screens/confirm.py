"""The dialog before what cannot be taken back: names the thing and the consequence; `y` confirms, nothing else does.

Not for reversible acts: those happen at once and offer undo."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Button, Static
from textual.worker import WorkType

from console.screens.modal import Modal
from console.view.consequences import Question
from console.view.frame import Frame, Subject
from console.view.lines import Line, Tone, span
from console.widgets.paint import paint_of
from engine.domain.errors import FailoverError


class ConfirmScreen(Modal[bool]):
    """Dismissed with True by `y` only. interrupt: ctrl+c confirms too (for the question whether to quit). later: what the engine has to
    say of the consequences; until it has said it, the dialog says so."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", show=False),
        Binding("escape,n,q", "answer(False)", show=False),
        Binding("ctrl+c", "interrupt", show=False),
    ]

    def __init__(
        self,
        question: Question,
        *,
        subject: Subject | None = None,
        interrupt: bool = False,
        later: Callable[[], Awaitable[tuple[Line, ...]]] | None = None,
    ) -> None:
        super().__init__()
        self._question = question
        self._interrupt = interrupt
        self._later = later
        self.subject = subject

    @property
    def ways_out(self) -> str:
        return f"y: {self._question.verb}, esc: cancel"

    def compose(self) -> ComposeResult:
        paint = paint_of(self.app)
        question = self._question
        with Vertical(id="dialog", classes="box"):
            yield Static(paint.content(span(question.title, Tone.STRONG)), classes="dialog-title")
            for line in question.lines:
                yield Static(paint.content(line))
            if self._later is not None:
                yield Static(paint.content(span("asking the engine whom it moves", Tone.DIM)), id="dialog-later")
            yield Static(
                paint.content((("y", Tone.INFO), (f" {question.verb}   ", Tone.TEXT), ("esc", Tone.INFO), (" cancel", Tone.TEXT))),
                id="dialog-keys",
            )
            yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        self.query_one("#cancel", Button).focus()
        later = self._later
        if later is not None:
            work: WorkType[None] = partial(self._ask, later)
            self.run_worker(work, name="moves", exit_on_error=False)

    async def _ask(self, later: Callable[[], Awaitable[tuple[Line, ...]]]) -> None:
        try:
            lines = await later()
        except FailoverError as error:
            lines = (span(f"whom it moves is not known: {error.title}", Tone.WARN),)
        except Exception as error:
            lines = (span(f"whom it moves is not known: {type(error).__name__}", Tone.WARN),)
        if self.is_mounted:
            paint = paint_of(self.app)
            content = paint.content(tuple(part for line in lines for part in (*line, ("\n", Tone.TEXT)))[:-1])
            self.query_one("#dialog-later", Static).update(content)

    def follow(self, frame: Frame) -> bool:
        """False: what this was about is gone, and the dialog has closed itself."""
        if self.subject is None or self.subject.there(frame):
            return True
        self.dismiss(False)
        return False

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(False)

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)

    def action_interrupt(self) -> None:
        # A second ctrl+c means it, where the question is whether to quit; elsewhere it means no.
        self.dismiss(self._interrupt)
