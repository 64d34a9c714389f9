"""The table of Sessions, Profiles and Notices: a line list with columns that come and go with the width.

10,000 rows cost what the visible ones cost; rows are drawn when they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from textual import events

from console.view import table
from console.view.frame import Frame
from console.view.lines import Line
from console.view.table import Column, Order
from console.widgets.lines import LineList

T = TypeVar("T")


class LineTable(LineList[T]):
    """order: what the head shows; the rows come sorted. Columns keep their widths while rows change, and grow when a row needs it."""

    def __init__(
        self,
        columns: Sequence[Column[T]],
        key: Callable[[T], str],
        *,
        order: Order | None = None,
        tail: bool = False,
        id: str | None = None,
    ) -> None:
        super().__init__(key, tail=tail, id=id)
        self.order = order
        self._columns = tuple(columns)
        self._by_id = {column.id: column for column in columns}
        self._wanted: dict[str, int] = {}
        self._widths: dict[int, table.Widths] = {}

    @property
    def head_height(self) -> int:
        return 1 if self.items else 0

    def show(self, items: Sequence[T], frame: Frame, empty: tuple[Line, ...] = ()) -> None:
        for name, cells in table.wanted_widths(self._columns, items, frame).items():
            if cells > self._wanted.get(name, 0):
                self._wanted[name] = cells
                self._widths.clear()
        super().show(items, frame, empty)

    def on_resize(self, event: events.Resize) -> None:
        # A new width is the moment to forget what rows of the past wanted.
        self._wanted = table.wanted_widths(self._columns, self.items, self.frame)
        self._widths.clear()
        super().on_resize(event)

    def sort_by_next(self) -> None:
        """The next visible column that is an order; turns round to the first."""
        names = [name for name, _ in self._layout(max(1, self.size.width - 3)) if self._by_id[name].sort is not None]
        if not names or self.order is None:
            return
        place = names.index(self.order.column) + 1 if self.order.column in names else 0
        name = names[place % len(names)]
        self.order = Order(name, self._by_id[name].falls)

    def sort_by_cell(self, cell: int) -> None:
        """The column whose title stands at a cell, if it is an order; turned round when it is the one already."""
        name = table.column_at(self._by_id, self._layout(max(1, self.size.width - 3)), cell)
        if name is None or self.order is None or self._by_id[name].sort is None:
            return
        if name == self.order.column:
            self.turn_round()
        else:
            self.order = Order(name, self._by_id[name].falls)

    def turn_round(self) -> None:
        if self.order is not None:
            self.order = Order(self.order.column, not self.order.falling)

    def order_words(self) -> str:
        """`last ▲`, for the title of the pane: the column's own title, and the arrow that it carries."""
        if self.order is None:
            return ""
        return f"{self._by_id[self.order.column].title} {table.arrow(self.order, self.frame)}"

    def draw_item(self, item: T, cells: int) -> Line:
        return table.draw_row(self._by_id, self._layout(cells), item, self.frame)

    def draw_head(self, cells: int) -> Line:
        return table.draw_head(self._by_id, self._layout(cells), self.order, self.frame)

    def _layout(self, cells: int) -> table.Widths:
        widths = self._widths.get(cells)
        if widths is None:
            widths = self._widths[cells] = table.lay_out(self._columns, cells, self._wanted)
        return widths
