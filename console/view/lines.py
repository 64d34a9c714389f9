"""The currency of the view: a line is spans of text with a tone. Tones are meanings; which colour they have is a theme's business.

No styles and no foreign text handling here."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from console.view.text import fit, width


class Tone(StrEnum):
    """What a piece of text means. The values are names of theme variables (`tone-ok`)."""

    TEXT = "text"
    DIM = "dim"
    STRONG = "strong"
    HEAD = "head"
    OK = "ok"
    WARN = "warn"
    BAD = "bad"
    HELD = "held"
    INFO = "info"


Span = tuple[str, Tone]
Line = tuple[Span, ...]

EMPTY: Line = ()
_NEAR = 10
"""Cells between two changes that cost less to send again than to jump over."""


def span(text: str, tone: Tone = Tone.TEXT) -> Line:
    return ((text, tone),)


def plain(line: Line) -> str:
    """The text alone."""
    return "".join(text for text, _ in line)


def line_width(line: Line) -> int:
    return sum(width(text) for text, _ in line)


def pad(line: Line, cells: int, *, right: bool = False, ellipsis: str = "…") -> Line:
    """Exactly `cells` wide; a cut falls into the span where the room ends."""
    size = line_width(line)
    if size <= cells:
        filler = (" " * (cells - size), Tone.TEXT)
        return (filler, *line) if right else (*line, filler)
    out: list[Span] = []
    room = cells
    for text, tone in line:
        size = width(text)
        if size >= room:
            # One blank more than there is room for: a span that ends exactly here still shows that something follows.
            out.append((fit(text + " ", room, ellipsis=ellipsis), tone))
            break
        out.append((text, tone))
        room -= size
    return tuple(out)


def join(parts: Iterable[Line], separator: str = "  ", tone: Tone = Tone.DIM) -> Line:
    """The parts that are not empty, with the separator between them."""
    out: list[Span] = []
    for part in parts:
        if not any(text for text, _ in part):
            continue
        if out:
            out.append((separator, tone))
        out.extend(part)
    return tuple(out)


def fit_parts(parts: Iterable[tuple[int, Line]], cells: int, separator: str = "  ", *, least: int = 1) -> Line:
    """The parts in order, those with the highest rank dropped first until the rest fits. A part is shown whole or not at all, except
    that `least` parts stay in any case."""
    return join((part for _, part in kept_parts(parts, cells, separator, least=least)), separator)


def kept_parts(parts: Iterable[tuple[int, Line]], cells: int, separator: str = "  ", *, least: int = 1) -> list[tuple[int, Line]]:
    """Those that `fit_parts` joins, with their ranks."""
    kept = [(rank, part) for rank, part in parts if any(text for text, _ in part)]
    while len(kept) > least:
        total = sum(line_width(part) for _, part in kept) + len(separator) * (len(kept) - 1)
        if total <= cells:
            break
        kept.remove(max(kept, key=lambda item: item[0]))
    return kept


def name_at(cell: int, parts: Iterable[tuple[str, Line]], separator: str = "  ") -> str | None:
    """The name of the part that stands at a cell of the joined parts."""
    left = 0
    for name, part in parts:
        if left <= cell < left + line_width(part):
            return name
        left += line_width(part) + len(separator)
    return None


def changed_cells(old: Line, new: Line) -> list[tuple[int, int]]:
    """Where `new` looks different: first cell and number of cells of each run; both lines are as wide as each other. What a countdown
    changes is a few cells, and a terminal at the end of a slow ssh is sent no more than those."""
    if len(old) != len(new) or any(len(a) != len(b) for (a, _), (b, _) in zip(old, new, strict=True)):
        return [(0, line_width(new))]
    runs: list[tuple[int, int]] = []
    place = 0
    for (was, before), (now, after) in zip(old, new, strict=True):
        if was == now and before is after:
            place += width(now)
            continue
        if before is not after or len(now) != width(now) or len(was) != width(was):
            # A wide character may be in it: cells and characters do not match.
            first, last = 0, width(now)
        else:
            same = [a == b for a, b in zip(was, now, strict=True)]
            first, last = same.index(False), len(same) - same[::-1].index(False)
        if runs and place + first - sum(runs[-1]) < _NEAR:
            runs[-1] = (runs[-1][0], place + last - runs[-1][0])
        else:
            runs.append((place + first, last - first))
        place += width(now)
    return runs


def wrap(line: Line, cells: int, hang: int = 2) -> tuple[Line, ...]:
    """The line over as many lines as it takes, broken at blanks where there is one; later ones indented as the first, plus `hang`."""
    if cells < 8 or line_width(line) <= cells:
        return (line,)
    text = plain(line)
    indent = min(len(text) - len(text.lstrip(" ")) + hang, cells // 2)
    out: list[Line] = []
    current: list[Span] = []
    room = cells
    for word, tone in _words(line):
        piece = word
        while width(piece) > room:
            fresh = room == cells - (indent if out else 0)
            if not fresh and (room < 2 or width(piece.strip()) <= cells - indent):
                out.append(tuple(current))
                piece = piece.lstrip(" ")
            else:
                head = _take(piece, room)
                out.append((*current, (head, tone)))
                piece = piece[len(head) :]
            current, room = [(" " * indent, Tone.TEXT)], cells - indent
        if piece:
            current.append((piece, tone))
            room -= width(piece)
    if any(text.strip() for text, _ in current):
        out.append(tuple(current))
    return tuple(out)


def wrap_into(line: Line, cells: int, height: int, ellipsis: str) -> tuple[Line, ...]:
    """Exactly `height` lines, the rest blank; what does not fit ends in an ellipsis, between two words."""
    lines = wrap(line, cells, 0)
    if len(lines) > height:
        last = plain(lines[height - 1]).rstrip()
        if width(last) + width(ellipsis) > cells:
            last = last.rpartition(" ")[0] or fit(last, cells - width(ellipsis), ellipsis="")
        lines = (*lines[: height - 1], span(last + ellipsis, lines[height - 1][-1][1]))
    return (*lines, *[EMPTY] * (height - len(lines)))


def _words(line: Line) -> Iterable[Span]:
    for text, tone in line:
        start = 0
        for place in range(1, len(text)):
            if text[place] == " " and text[place - 1] != " ":
                yield text[start:place], tone
                start = place
        if text[start:]:
            yield text[start:], tone


def _take(text: str, cells: int) -> str:
    """The longest beginning that fits; at least one character, so that a caller always gets on."""
    size = 0
    for place, char in enumerate(text):
        size += width(char)
        if size > cells:
            return text[: max(1, place)]
    return text
