"""What the four panes share: a title in the border, a list, a filter line, and a line that says everything about the row under the cursor.

No pane acts: keys go to the live screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from console.view.frame import Frame
from console.view.header import liveness
from console.view.lines import EMPTY, Line, Tone, fit_parts, span
from console.widgets.bar import Bar
from console.widgets.lines import LineList
from console.widgets.paint import paint_of


class FilterInput(Input):
    """Where a filter is typed. Enter and the first esc keep it; arrows move in the list without leaving."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "keep", show=False),
        Binding("up", "move('up')", show=False),
        Binding("down", "move('down')", show=False),
    ]

    def action_keep(self) -> None:
        self.query_ancestor(Pane).close_filter(clear=False)

    async def action_submit(self) -> None:
        # At once, not by a message: a key typed right after enter is for the list already.
        self.action_keep()

    def action_move(self, where: str) -> None:
        pane = self.query_ancestor(Pane)
        pane.lines.action_go(where)


class Pane(Vertical):
    """number and name stand in the title and in the tab."""

    number: ClassVar[int] = 0
    name_word: ClassVar[str] = ""

    def __init__(self, lines: LineList[Any], *, id: str) -> None:
        super().__init__(id=id, classes="pane")
        self.lines = lines
        self.filter_text = ""
        self.note = Bar(classes="note")
        self._frame = Frame(None, 0)
        self._titled: Line = EMPTY

    def compose(self) -> ComposeResult:
        yield self.lines
        with Horizontal(classes="filter"):
            slash = Bar(classes="slash")
            slash.show([span("/", Tone.INFO)])
            yield slash
            yield FilterInput(placeholder="words, !word for what must not be there", compact=True, select_on_focus=False)
        yield from self.above_note()
        yield self.note

    def above_note(self) -> ComposeResult:
        """What a pane shows between its list and its note."""
        yield from ()

    def update(self, frame: Frame) -> None:
        """Rows, note and title from a frame."""
        self._frame = frame
        self.lines.show(self.make_rows(frame), frame, self.empty_lines(frame))
        self.retitle()

    def tick(self, frame: Frame) -> None:
        """Only the instant changed."""
        self._frame = frame
        self.lines.tick(frame)
        self.retitle()

    def retitle(self) -> None:
        """Title and note, which depend on cursor, sort and filter as well."""
        cells = max(4, self.size.width - 4)
        self.note.show(self.note_lines(self._frame, cells))
        title = fit_parts(self._title(), cells)
        # Compared here: what Textual gives back is not what it was given, and a new title paints the whole pane.
        if title != self._titled:
            self._titled = title
            self.border_title = paint_of(self.app).content(title)

    def _title(self) -> list[tuple[int, Line]]:
        here = f"{self._frame.look.glyphs.cursor} " if self.has_focus_within else ""
        parts: list[tuple[int, Line]] = [
            (0, ((here, Tone.INFO), (f"{self.number} {self.name_word}", Tone.STRONG), (self.count_text(), Tone.DIM)))
        ]
        if self._frame.stale:
            parts.append((1, span(liveness(self._frame).removeprefix("ENGINE "), Tone.BAD)))
        elif self._frame.truth.value == "FROZEN":
            parts.append((1, span("FROZEN", Tone.INFO)))
        if self.filter_text:
            parts.append((2, span(f"/{self._frame.look.safe(self.filter_text)}", Tone.INFO)))
        parts += [(3 + place, part) for place, part in enumerate(self.title_parts())]
        return parts

    # What a pane says.

    def make_rows(self, frame: Frame) -> Sequence[Any]:
        return ()

    def empty_lines(self, frame: Frame) -> tuple[Line, ...]:
        return ()

    def count_text(self) -> str:
        total = self.total()
        shown = len(self.lines.items)
        return f" ({shown} of {total})" if shown != total else f" ({total})"

    def total(self) -> int:
        return len(self.lines.items)

    def title_parts(self) -> list[Line]:
        return []

    def note_line(self, frame: Frame, cells: int) -> Line:
        return EMPTY

    def note_lines(self, frame: Frame, cells: int) -> list[Line]:
        """As many as the style gives the note."""
        return [self.note_line(frame, cells)]

    def problems(self) -> list[int]:
        """The rows that somebody should look at."""
        return []

    # The filter.

    def open_filter(self) -> None:
        self.add_class("-filtering")
        self.query_one(FilterInput).focus()

    def close_filter(self, *, clear: bool) -> None:
        entry = self.query_one(FilterInput)
        if clear:
            entry.value = ""
        if not entry.value:
            self.remove_class("-filtering")
        if entry.has_focus:
            self.lines.focus()

    @on(Input.Changed)
    def _filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.filter_text = event.value.strip()
        self.update(self._frame)

    def on_resize(self) -> None:
        self.retitle()
