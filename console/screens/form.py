"""A few fields to fill in: the reason of an act, and when it ends. It asks; it does not act."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from console.screens.modal import Modal
from console.view.frame import Frame, Subject
from console.view.lines import Tone, span
from console.widgets.paint import paint_of


@dataclass(frozen=True, slots=True)
class Field:
    """check: raises ValueError, in words, for what cannot be taken."""

    label: str
    placeholder: str
    check: Callable[[str], object] = lambda text: text


class FormScreen(Modal[tuple[str, ...] | None]):
    """Dismissed with what stands in the fields, or None. Enter goes on to the next field, in the last one it is done."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", show=False),
        Binding("up", "app.focus_previous", show=False),
        Binding("down", "app.focus_next", show=False),
    ]

    def __init__(self, title: str, fields: Sequence[Field], verb: str, *, subject: Subject | None = None) -> None:
        super().__init__()
        self._title = title
        self._fields = tuple(fields)
        self._verb = verb
        self.subject = subject

    def compose(self) -> ComposeResult:
        paint = paint_of(self.app)
        with Vertical(id="form", classes="box"):
            yield Static(paint.content(span(self._title, Tone.STRONG)), classes="dialog-title")
            for place, entry in enumerate(self._fields):
                yield Static(paint.content(span(entry.label, Tone.DIM)))
                yield Input(placeholder=entry.placeholder, compact=True, id=f"field-{place}")
            yield Static("", id="form-problem")
            keys = ((" enter", Tone.INFO), (f" {self._verb}  ", Tone.TEXT), ("esc", Tone.INFO), (" cancel", Tone.TEXT))
            yield Static(paint.content(keys))

    def on_mount(self) -> None:
        self.query_one("#field-0", Input).focus()

    def follow(self, frame: Frame) -> bool:
        if self.subject is None or self.subject.there(frame):
            return True
        self.dismiss(None)
        return False

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self._go_on()

    def _go_on(self) -> None:
        inputs = list(self.query(Input))
        place = next((n for n, entry in enumerate(inputs) if entry.has_focus), len(inputs) - 1)
        if place < len(inputs) - 1:
            inputs[place + 1].focus()
            return
        for entry, field in zip(inputs, self._fields, strict=True):
            try:
                field.check(entry.value.strip())
            except ValueError as wrong:
                self.query_one("#form-problem", Static).update(paint_of(self.app).content(span(str(wrong), Tone.WARN)))
                entry.focus()
                return
        self.dismiss(tuple(entry.value.strip() for entry in inputs))

    def action_leave(self) -> None:
        self.dismiss(None)
