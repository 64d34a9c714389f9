"""A few fixed lines: header, banner, facts, tabs, key bar, the line under a table. Painted again only where a line changed."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from console.view.lines import EMPTY, Line, changed_cells, pad
from console.widgets.paint import paint_of


class Bar(Widget):
    """Shows lines of the view; its height is that of its style, or of its lines with `height: auto`."""

    ALLOW_SELECT = False

    class Clicked(Message):
        """Somebody clicked on a cell of the first line."""

        def __init__(self, bar: Bar, cell: int) -> None:
            super().__init__()
            self.bar = bar
            self.cell = cell

        @property
        def control(self) -> Bar:
            return self.bar

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines: tuple[Line, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        return self._lines

    def show(self, lines: Sequence[Line]) -> None:
        before, self._lines = self._lines, tuple(lines)
        if len(before) != len(self._lines):
            self.refresh(layout=True)
            return
        for y, (old, new) in enumerate(zip(before, self._lines, strict=True)):
            if old != new:
                cells = max(1, self.size.width)
                runs = changed_cells(pad(old, cells), pad(new, cells))
                if runs:
                    self.refresh(*(Region(left, y, count, 1) for left, count in runs))

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Clicked(self, event.x))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        if self.size.width < 1:
            return Strip.blank(0)
        line = self._lines[y] if y < len(self._lines) else EMPTY
        return paint_of(self.app).strip(pad(line, self.size.width), ground=self.background_colors[1])
