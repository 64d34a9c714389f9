"""A list to pick from by typing: profiles to pin, models to select, and the palette. It says what the choice under the cursor will do.

It chooses; it does not act."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from console.view.frame import Frame, Subject
from console.view.lines import Line, Tone, pad, span
from console.widgets.lines import LineList
from console.widgets.paint import paint_of


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of a picker. hint: what it will do. refusal: why it cannot be chosen now."""

    id: str
    line: Line
    hint: str
    refusal: str | None = None


class PickerScreen(ModalScreen[str | None]):
    """Dismissed with the id of the choice, or None. choices: for what was typed so far, best first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", show=False),
        Binding("enter", "choose", show=False, priority=True),
        Binding("up,ctrl+k", "go('up')", show=False, priority=True),
        Binding("down,ctrl+j,tab", "go('down')", show=False, priority=True),
        Binding("pageup", "go('page_up')", show=False, priority=True),
        Binding("pagedown", "go('page_down')", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        choices: Callable[[str], Sequence[Choice]],
        frame: Frame,
        *,
        start: str | None = None,
        subject: Subject | None = None,
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._frame = frame
        self._start = start
        self.subject = subject
        self.list: LineList[Choice] = LineList(
            lambda choice: choice.id, draw=lambda choice, frame, cells: pad(choice.line, cells), id="picker-list"
        )
        self.list.can_focus = False

    def compose(self) -> ComposeResult:
        with Vertical(id="picker", classes="box"):
            yield Static(paint_of(self.app).content(span(self._title, Tone.STRONG)), classes="dialog-title")
            yield Input(placeholder="type to narrow, enter chooses, esc leaves", compact=True)
            yield self.list
            yield Static("", id="picker-hint")

    def on_mount(self) -> None:
        self._fill("")
        if self._start is not None:
            self.list.move_to_key(self._start)
        self._hint()
        self.query_one(Input).focus()

    def follow(self, frame: Frame) -> bool:
        if self.subject is None or self.subject.there(frame):
            return True
        self.dismiss(None)
        return False

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._fill(event.value)
        self.list.move_to(0)
        self._hint()

    def _fill(self, query: str) -> None:
        self.list.show(self._choices(query), self._frame, (span("nothing matches", Tone.DIM),))

    @on(LineList.Moved)
    def _moved(self, event: LineList.Moved) -> None:
        event.stop()
        self._hint()

    @on(LineList.Opened)
    def _opened(self, event: LineList.Opened) -> None:
        event.stop()
        self.action_choose()

    def _hint(self) -> None:
        choice = self.list.current
        line: Line = () if choice is None else span(choice.refusal, Tone.WARN) if choice.refusal else span(choice.hint, Tone.TEXT)
        self.query_one("#picker-hint", Static).update(paint_of(self.app).content(line))

    def action_go(self, where: str) -> None:
        self.list.action_go(where)

    def action_choose(self) -> None:
        choice = self.list.current
        if choice is not None and choice.refusal is None:
            self.dismiss(choice.id)

    def action_leave(self) -> None:
        self.dismiss(None)
