"""A list to pick from by typing: profiles to pin, models to select, and the palette. It says what the choice under the cursor will do.

It chooses; it does not act."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static
from textual.worker import WorkType

from console.screens.modal import Modal
from console.view.frame import Frame, Subject
from console.view.lines import Line, Tone, pad, span
from console.widgets.lines import LineList
from console.widgets.paint import paint_of
from engine.domain.errors import FailoverError


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of a picker. hint: what it will do. refusal: why it cannot be chosen now."""

    id: str
    line: Line
    hint: str
    refusal: str | None = None


class PickerScreen(Modal[str | None]):
    """Dismissed with the id of the choice, or None. choices: for what was typed so far, best first. more: what ctrl+o adds before it is
    done; `wants_more` says afterwards whether it was asked for. predict: what the next turn would do with the choice under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", show=False),
        # No priority: such a key overtakes letters that were typed before it, and would choose from the list before they narrowed it.
        Binding("ctrl+o", "choose_with_more", show=False),
        Binding("up,ctrl+p", "go('up')", show=False),
        Binding("down,ctrl+n,tab", "go('down')", show=False),
        Binding("pageup", "go('page_up')", show=False),
        Binding("pagedown", "go('page_down')", show=False),
    ]

    def __init__(
        self,
        title: str,
        choices: Callable[[str], Sequence[Choice]],
        frame: Frame,
        *,
        start: str | None = None,
        subject: Subject | None = None,
        more: str = "",
        predict: Callable[[str], Awaitable[str]] | None = None,
    ) -> None:
        super().__init__()
        self._more = more
        self._predict = predict
        self.wants_more = False
        self._filled = ""
        self._hinted: str | None = None
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
            yield Static("", id="picker-then")

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
        self._narrow()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_choose()

    def _narrow(self) -> None:
        """The list is the one for what stands in the input, also when the word of its change is still under way."""
        query = self.query_one(Input).value
        if query != self._filled:
            self._fill(query)
            self.list.move_to(0)
            self._hint()

    def _fill(self, query: str) -> None:
        self._filled = query
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
        paint = paint_of(self.app)
        self.query_one("#picker-hint", Static).update(paint.content(line))
        if choice is not None and choice.id == self._hinted:
            return
        self._hinted = choice.id if choice is not None else None
        if self._more and choice is not None:
            self._then("")
        predict, wanted = self._predict, choice.id if choice is not None and choice.refusal is None else None
        if predict is not None and wanted is not None:
            work: WorkType[None] = partial(self._ask, predict, wanted)
            self.run_worker(work, name="predict", exclusive=True, exit_on_error=False)

    def _then(self, words: str) -> None:
        keys: Line = (
            (("enter", Tone.INFO), (" at once  ", Tone.TEXT), ("ctrl+o", Tone.INFO), (f" {self._more}", Tone.TEXT)) if self._more else ()
        )
        told: Line = ((f"{words}\n" if keys else words, Tone.STRONG),) if words else ()
        self.query_one("#picker-then", Static).update(paint_of(self.app).content((*told, *keys)))

    async def _ask(self, predict: Callable[[str], Awaitable[str]], choice: str) -> None:
        try:
            words = await predict(choice)
        except FailoverError as error:
            words = f"no prediction: {error.title}"
        except Exception as error:
            words = f"no prediction: {type(error).__name__}"
        if self.is_mounted:
            self._then(words)

    def action_go(self, where: str) -> None:
        self._narrow()
        self.list.action_go(where)

    def action_choose(self) -> None:
        self._narrow()
        choice = self.list.current
        if choice is not None and choice.refusal is None:
            self.dismiss(choice.id)

    def action_choose_with_more(self) -> None:
        self.wants_more = bool(self._more)
        self.action_choose()

    def action_leave(self) -> None:
        self.dismiss(None)
