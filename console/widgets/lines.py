"""A list drawn line by line: the base of tables, of the chain, of text screens. Only lines that changed are painted again, and a
countdown costs one line a second, however many rows there are.

It keeps the cursor on an identity, not on a row number. What a row means, and what a key does to it, is not its business."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console.actions import Scope
from console.view.frame import Frame
from console.view.lines import Line, Tone, changed_cells, line_width, pad
from console.widgets.keys import bindings
from console.widgets.paint import paint_of

T = TypeVar("T")
_GUTTER = 2
_MARGIN = 1
_Drawn = tuple[Line, str, bool]


@dataclass(frozen=True, slots=True)
class Numbered:
    """A line of a text, known by its place."""

    place: int
    line: Line

    def key(self) -> str:
        return str(self.place)

    def draw(self, frame: Frame, cells: int) -> Line:
        return pad(self.line, cells)


class LineList(ScrollView, Generic[T], can_focus=True):
    """Items with a cursor. Set `cursor=False` for text that is only read, `tail=True` for a feed that follows its end."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Scope.LIST)
    ALLOW_SELECT = False

    class Moved(Message):
        """The cursor stands on another identity."""

        def __init__(self, lines: LineList[Any]) -> None:
            super().__init__()
            self.lines = lines

        @property
        def control(self) -> LineList[Any]:
            return self.lines

    class Opened(Moved):
        """A row was double-clicked."""

    class HeadClicked(Moved):
        """A cell of the line above the rows was clicked."""

        def __init__(self, lines: LineList[Any], cell: int) -> None:
            super().__init__(lines)
            self.cell = cell

    def __init__(
        self, key: Callable[[T], str], *, draw: Callable[[T, Frame, int], Line] | None = None, cursor: bool = True, tail: bool = False,
        id: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(id=id)
        self.frame: Frame = Frame(None, 0)
        self.items: Sequence[T] = ()
        self.cursor_key: str | None = None
        self._key = key
        self._draw = draw
        self._with_cursor = cursor
        self._tail = tail
        self._index: dict[str, int] = {}
        self._cursor = 0
        self._empty: tuple[Line, ...] = ()
        self._drawn: dict[int, _Drawn] = {}
        self._marked: int | None = None

    # What a subclass may change.

    def draw_item(self, item: T, cells: int) -> Line:
        return self._draw(item, self.frame, cells) if self._draw is not None else ()

    def draw_head(self, cells: int) -> Line | None:
        """A line that stays above the rows, None for none."""
        return None

    @property
    def head_height(self) -> int:
        return 0

    # What the panes call.

    def show(self, items: Sequence[T], frame: Frame, empty: tuple[Line, ...] = ()) -> None:
        """Other items, another instant: the cursor stays on its identity, or on its row when that is gone."""
        at_end = self._tail and self._cursor >= len(self.items) - 1
        # Somebody who scrolled away from the cursor with the wheel is reading there.
        in_sight = self.top <= self._cursor < self.top + self.page
        anchor = self._key(self.items[self.top]) if self._tail and not at_end and self.top < len(self.items) else None
        self.items, self.frame, self._empty = items, frame, empty
        self._index = {self._key(item): place for place, item in enumerate(items)}
        self.virtual_size = Size(1, len(items) + self.head_height)
        before = self.cursor_key
        place = self._index.get(before) if before is not None else None
        if at_end or place is None:
            place = len(items) - 1 if at_end else min(self._cursor, len(items) - 1)
        self._cursor = max(0, place)
        self.cursor_key = self._key(items[self._cursor]) if items else None
        if at_end:
            self.scroll_to(y=max(0, len(items) - self.page), animate=False)
        elif anchor is not None:
            # The lines being read stay where they are, also when the oldest were dropped.
            self.scroll_to(y=self._index.get(anchor, 0), animate=False)
        elif self._with_cursor and in_sight:
            self._reveal()
        self._paint_changes()
        if self.cursor_key != before:
            self.post_message(self.Moved(self))

    def tick(self, frame: Frame) -> None:
        """Another instant, the same items."""
        self.frame = frame
        self._paint_changes()

    @property
    def current(self) -> T | None:
        """The item under the cursor."""
        return self.items[self._cursor] if self._with_cursor and self._cursor < len(self.items) else None

    @property
    def at_end(self) -> bool:
        return self._cursor >= len(self.items) - 1

    @property
    def top(self) -> int:
        return max(0, self.scroll_offset.y)

    @property
    def page(self) -> int:
        return max(1, self.size.height - self.head_height)

    def move_to(self, place: int) -> None:
        if not self.items:
            return
        place = max(0, min(place, len(self.items) - 1))
        moved = place != self._cursor
        self._cursor = place
        self.cursor_key = self._key(self.items[place])
        self._reveal()
        self._paint_changes()
        if moved:
            self.post_message(self.Moved(self))

    def move_to_key(self, key: str) -> bool:
        place = self._index.get(key)
        if place is None:
            return False
        self.move_to(place)
        return True

    @property
    def place(self) -> int:
        """The row of the cursor."""
        return self._cursor

    def mark(self, place: int | None) -> None:
        """In a text, which has no cursor: the line that was looked for, brought into sight."""
        self._marked = place
        if place is not None and not self.top <= place < self.top + self.page:
            self.scroll_to(y=max(0, place - self.page // 2), animate=False)
        self._paint_changes()

    # Keys and mouse.

    def action_go(self, where: str) -> None:
        # A text keeps a line of the page before in sight.
        whole, half, every = self.page - (not self._with_cursor), max(1, self.page // 2), len(self.items)
        steps = {
            "up": -1,
            "page_up": -whole,
            "half_up": -half,
            "top": -every,
            "down": 1,
            "page_down": whole,
            "half_down": half,
            "bottom": every,
        }
        step = steps.get(where, 0)
        if self._with_cursor:
            self.move_to(self._cursor + step)
        else:
            self.scroll_to(y=max(0, min(self.top + step, len(self.items) - self.page)), animate=False)

    def on_click(self, event: events.Click) -> None:
        if event.y < self.head_height:
            self.post_message(self.HeadClicked(self, event.x - _GUTTER))
            return
        place = self.top + event.y - self.head_height
        if not 0 <= place < len(self.items) or not self._with_cursor:
            return
        self.move_to(place)
        if event.chain == 2:
            self.post_message(self.Opened(self))

    def on_resize(self, event: events.Resize) -> None:
        if self._tail and self.at_end:
            self.scroll_to(y=max(0, len(self.items) - self.page), animate=False)
        elif self._with_cursor:
            self._reveal()

    def on_focus(self) -> None:
        self._paint_changes()

    def on_blur(self) -> None:
        self._paint_changes()

    def _reveal(self) -> None:
        if self._cursor < self.top:
            self.scroll_to(y=self._cursor, animate=False)
        elif self._cursor >= self.top + self.page:
            self.scroll_to(y=self._cursor - self.page + 1, animate=False)

    # Drawing.

    def _line_at(self, y: int) -> _Drawn:
        cells = self.size.width
        head = self.head_height
        if y < head:
            return pad((("  ", Tone.TEXT), *(self.draw_head(cells - _GUTTER - _MARGIN) or ())), cells, ellipsis=""), "", False
        place = self.top + y - head
        if place >= len(self.items):
            line = self._empty[y - head] if not self.items and y - head < len(self._empty) else ()
            return pad((("  ", Tone.TEXT), *line), cells), "", False
        stale = self.frame.stale
        glyphs = self.frame.look.glyphs
        here = self._with_cursor and place == self._cursor
        mark = "~" if stale else " "
        gutter = f"{glyphs.cursor if here else mark} " if self._with_cursor else ("~ " if stale else "")
        line = self.draw_item(self.items[place], max(1, cells - len(gutter) - _MARGIN))
        row = ("cursor" if self.has_focus or not self.can_focus else "away") if here else "cursor" if place == self._marked else ""
        return pad(((gutter, Tone.INFO if here else Tone.DIM), *line), cells), row, stale

    def render_line(self, y: int) -> Strip:
        if self.size.width < 1:
            return Strip.blank(0)
        drawn = self._line_at(y)
        self._drawn[y] = drawn
        return paint_of(self.app).strip(*drawn, self.background_colors[1])

    def _paint_changes(self) -> None:
        """Ask for a repaint of the lines that would look different, and of no other."""
        if not self.is_attached or not self.size or not self.display:
            return
        dirty: list[Region] = []
        for y in range(self.size.height):
            was, now = self._drawn.get(y), self._line_at(y)
            if was == now:
                continue
            if was is None or was[1:] != now[1:] or line_width(was[0]) != line_width(now[0]):
                dirty.append(Region(0, y, self.size.width, 1))
            else:
                # To what was drawn last, which is what stands in the terminal: also when several changes come between two paints.
                dirty += [Region(left, y, cells, 1) for left, cells in changed_cells(was[0], now[0])]
        if dirty:
            self.refresh(*dirty)
