"""The dialog before what cannot be taken back: names the thing and the consequence; `y` confirms, nothing else does.

Not for reversible acts: those happen at once and offer undo."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from console.view.consequences import Question
from console.view.frame import Frame, Subject
from console.view.lines import Tone, span
from console.widgets.paint import paint_of


class ConfirmScreen(ModalScreen[bool]):
    """Dismissed with True by `y` only. interrupt: ctrl+c confirms too (for the question whether to quit)."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", show=False),
        Binding("escape,n,q", "answer(False)", show=False),
        Binding("ctrl+c", "interrupt", show=False),
    ]

    def __init__(self, question: Question, *, subject: Subject | None = None, interrupt: bool = False) -> None:
        super().__init__()
        self._question = question
        self._interrupt = interrupt
        self.subject = subject

    def compose(self) -> ComposeResult:
        paint = paint_of(self.app)
        question = self._question
        with Vertical(id="dialog", classes="box"):
            yield Static(paint.content(span(question.title, Tone.STRONG)), classes="dialog-title")
            for line in question.lines:
                yield Static(paint.content(line))
            yield Static(
                paint.content((("y", Tone.INFO), (f" {question.verb}   ", Tone.TEXT), ("esc", Tone.INFO), (" cancel", Tone.TEXT))),
                id="dialog-keys",
            )
            yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        self.query_one("#cancel", Button).focus()

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
