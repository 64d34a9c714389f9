"""Foreign text made harmless: the one place through which every name, error and notice goes before it reaches a cell.

It must not know what the text means, and nothing may draw foreign text that did not come through `literal`."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from rich.cells import cell_len, set_cell_size

CELL_LIMIT = 400
"""Characters of one foreign string that a table or a notice takes; the rest is behind an ellipsis."""
BLOCK_LIMIT = 4_000
"""The same for a detail screen."""

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MARKS = frozenset({"Mn", "Me"})
_MARKS_IN_A_ROW = 2
_VARIATION = frozenset("\ufe0e\ufe0f")
_ASCII = {"→": "->", "↪": "->", "…": "~", "·": "-", "×": "x", "—": "-", "–": "-", "“": '"', "”": '"', "‘": "'", "’": "'", "\u00a0": " "}


def _escape(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def literal(text: str, limit: int = CELL_LIMIT, ascii_only: bool = False) -> str:
    """`text` as one line that a terminal prints as it stands: control, bidi, zero-width and unassigned characters become visible
    escapes, runs of white space one space, and what goes beyond `limit` characters an ellipsis."""
    # Cut before the cache sees it: a thousand megabyte-long errors must not be kept as keys.
    return _literal(text[: limit + 1], limit, ascii_only)


@lru_cache(maxsize=8_192)
def _literal(text: str, limit: int, ascii_only: bool) -> str:
    cut, text = len(text) > limit, text[:limit]
    if not (text.isascii() and text.isprintable()):
        text = _neutral(text)
    if cut:
        text += "…"
    return _seven_bit(text) if ascii_only and not text.isascii() else text


def _neutral(text: str) -> str:
    out: list[str] = []
    marks = 0
    for char in text:
        if char in "\t\n\r\v\f ":
            if out and out[-1] != " ":
                out.append(" ")
            marks = 0
            continue
        if char in _VARIATION:
            # Terminals disagree on the width of a character with a variation selector; without it columns stay straight.
            continue
        category = unicodedata.category(char)
        marks = marks + 1 if category in _MARKS else 0
        if marks > _MARKS_IN_A_ROW:
            continue
        out.append(_escape(char) if category in _UNSAFE else char)
    return "".join(out)


def _seven_bit(text: str) -> str:
    return "".join(char if char.isascii() else _ASCII.get(char) or _escape(char) for char in text)


def block(text: str, limit: int = BLOCK_LIMIT, ascii_only: bool = False) -> tuple[str, ...]:
    """Foreign text of several lines, each made harmless; for screens that show a whole error."""
    return tuple(literal(line, limit, ascii_only) for line in text[:limit].splitlines()[:60]) or ("",)


def width(text: str) -> int:
    """Cells that the text takes in a terminal."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, cells: int, *, right: bool = False, ellipsis: str = "…") -> str:
    """Exactly `cells` wide: padded, or cut with an ellipsis."""
    if cells <= 0:
        return ""
    size = width(text)
    if size > cells:
        mark = ellipsis[:cells]
        return set_cell_size(text, cells - len(mark)) + mark
    pad = " " * (cells - size)
    return pad + text if right else text + pad


def shorten(text: str, cells: int, *, ellipsis: str = "…") -> str:
    """At most `cells` wide, cut in the middle: the ends of a model or profile name are what tells it from its neighbours."""
    if width(text) <= cells:
        return text
    if cells <= len(ellipsis) + 2:
        return fit(text, cells, ellipsis=ellipsis)
    room = cells - len(ellipsis)
    tail = room // 2
    head = room - tail
    end = text
    while width(end) > tail:
        end = end[1:]
    return set_cell_size(text, head) + ellipsis + end
