"""What a table shows and in which order, without a terminal: columns that know how to draw, measure and sort themselves.

Knows nothing of sessions or profiles, and keeps no cursor: that is the widget's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from console.view.frame import Frame
from console.view.lines import Line, Tone, pad
from console.view.text import fit, width

T = TypeVar("T")
_SAMPLE = 300
_LUXURY = 7
_EASE = 8
_SENTENCE = 200
GAP = "  "


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column. width: the least it needs if its items want that much. grow: the most it takes when there is room. rank: the lowest
    grows first, the highest goes first when there is no room (0 stays). measure: cells that an item would like. sort: what is shown,
    as something to compare: rising, None last in either direction; no function where the column is no order. falls: sorting begins
    with the largest."""

    id: str
    title: str
    width: int
    cell: Callable[[T, Frame, int], Line]
    rank: int = 0
    grow: int = 0
    measure: Callable[[T, Frame], int] | None = None
    sort: Callable[[T, Frame], Any] | None = None
    falls: bool = False
    right: bool = False
    gap: str = GAP
    """What stands before the column, unless it is the first."""


@dataclass(frozen=True, slots=True)
class Order:
    """By which column; falling: the largest of what is shown first, and the arrow down."""

    column: str
    falling: bool = False


Widths = tuple[tuple[str, int], ...]


def lay_out(columns: Sequence[Column[T]], room: int, wanted: Mapping[str, int]) -> Widths:
    """The columns that fit into `room` cells, in their order, with the width of each."""
    kept = list(columns)
    # A column that only adds something makes way before a name has to be cut; the others stay as long as they fit at all.
    while any(column.rank >= _LUXURY for column in kept) and _comfortable(kept, wanted) > room:
        kept.remove(max(kept, key=lambda column: column.rank))
    while len(kept) > 1 and _least(kept, wanted) > room:
        kept.remove(max(kept, key=lambda column: (column.rank, kept.index(column))))
    spare = room - _least(kept, wanted)
    widths = {column.id: _floor(column, wanted) for column in kept}
    for column in sorted((c for c in kept if c.grow), key=lambda c: c.rank):
        more = max(0, min(spare, min(wanted.get(column.id, 0), column.grow) - widths[column.id]))
        widths[column.id] += more
        spare -= more
    if spare < 0 and kept:
        widths[kept[0].id] = max(1, widths[kept[0].id] + spare)
    return tuple((column.id, widths[column.id]) for column in kept)


def _floor(column: Column[Any], wanted: Mapping[str, int]) -> int:
    """A column whose items want less than its width leaves the rest to its neighbours; its title, with an arrow, stays whole."""
    title = width(column.title) + (1 if column.sort is not None else 0)
    return min(column.width, max(title, wanted.get(column.id, column.width)))


def _least(columns: Sequence[Column[Any]], wanted: Mapping[str, int]) -> int:
    return sum(_floor(column, wanted) for column in columns) + sum(len(column.gap) for column in columns[1:])


def _comfortable(columns: Sequence[Column[Any]], wanted: Mapping[str, int]) -> int:
    names = [column for column in columns if column.grow and column.rank <= 1]
    return _least(columns, wanted) + sum(
        max(0, min(wanted.get(c.id, 0), c.grow, c.width + (_EASE if c.grow < _SENTENCE else 5 * _EASE)) - _floor(c, wanted)) for c in names
    )


def wanted_widths(columns: Sequence[Column[T]], items: Sequence[T], frame: Frame) -> dict[str, int]:
    """What the items at the top would like. A sample is enough: a long name further down is cut, not lost."""
    some = items[:_SAMPLE]
    return {c.id: max((c.measure(item, frame) for item in some), default=0) for c in columns if c.measure}


def draw_row(columns: Mapping[str, Column[T]], widths: Widths, item: T, frame: Frame) -> Line:
    """One item as a line as wide as its columns."""
    out: list[tuple[str, Tone]] = []
    for place, (name, cells) in enumerate(widths):
        column = columns[name]
        if place:
            out.append((column.gap, Tone.TEXT))
        out.extend(pad(column.cell(item, frame, cells), cells, right=column.right, ellipsis=frame.look.glyphs.ellipsis))
    return tuple(out)


def arrow(order: Order, frame: Frame) -> str:
    """Up when what is shown rises from row to row, down when it falls."""
    return frame.look.glyphs.down if order.falling else frame.look.glyphs.up


def draw_head(columns: Mapping[str, Column[Any]], widths: Widths, order: Order | None, frame: Frame) -> Line:
    """The titles; the column that orders the rows carries the direction."""
    out: list[tuple[str, Tone]] = []
    for place, (name, cells) in enumerate(widths):
        column = columns[name]
        title = column.title
        sorting = order is not None and order.column == name
        if sorting and order is not None:
            title += arrow(order, frame)
        if place:
            out.append((column.gap, Tone.HEAD))
        out.append((fit(title, cells, right=column.right, ellipsis=""), Tone.STRONG if sorting else Tone.HEAD))
    return tuple(out)


def column_at(columns: Mapping[str, Column[Any]], widths: Widths, cell: int) -> str | None:
    """The column that stands at a cell of a row, with the gap before it."""
    right = 0
    for place, (name, cells) in enumerate(widths):
        right += cells + (len(columns[name].gap) if place else 0)
        if 0 <= cell < right:
            return name
    return None


def arrange(items: Sequence[T], columns: Sequence[Column[T]], order: Order, key: Callable[[T], str], frame: Frame) -> list[T]:
    """The items in order; ties by key, so that equals never change places; what has nothing to show in that column last."""
    by = next((c.sort for c in columns if c.id == order.column and c.sort), None)
    rows = sorted(items, key=key)
    if by is None:
        return rows
    some = [(value, item) for item in rows if (value := by(item, frame)) is not None]
    some.sort(key=lambda pair: pair[0], reverse=order.falling)
    return [item for _, item in some] + [item for item in rows if by(item, frame) is None]
