"""What a terminal sends, before it is taken for keys: only what was typed may act. Pasted text is set apart, answers and reports of the
terminal that nobody asked for are dropped whole, and no byte is an error (field report M06: mouse reports beyond column 95).

Bytes in, pieces out; no terminal, no clock and no meaning of keys in here."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from dataclasses import dataclass

KEPT_BYTES = 65_536
"""Of a paste: more than any field here takes."""

_PASTE_S = 3.0
"""A stalled ssh may deliver a paste in parts; but without its end the console must not be deaf for ever."""

_SEQUENCE_S = 0.5
_STRINGS = (b"]", b"P", b"X", b"^", b"_")
_STRING_END = re.compile(rb"\x07|\x1b\\|\x18|\x1a")
_PASTE_BEGINS, _PASTE_ENDS = b"\x1b[200~", b"\x1b[201~"
_CONTROL = re.compile(rb"\x1b\[[\x30-\x3f]*[\x20-\x2f]*")
_OLD_MOUSE = b"\x1b[M"
_OLD_MOUSE_BYTES = 6
_LONGEST = 32
_LONGEST_STRING = 1_048_576


@dataclass(frozen=True, slots=True)
class Typed:
    """Characters that were typed."""

    text: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """One whole escape sequence; a lone `ESC` is the key of that name."""

    text: str


@dataclass(frozen=True, slots=True)
class Pasted:
    """What came between the marks of a bracketed paste, up to `KEPT_BYTES`."""

    text: str


Piece = Typed | Sequence | Pasted


class Keyboard:
    """Takes bytes as they come, in any portions. escape_s: how long after ESC more of the same key may come."""

    def __init__(self, escape_s: float = 0.1) -> None:
        self._escape_s = escape_s
        self._held = bytearray()
        self._pasting: bytearray | None = None
        self._letters = getincrementaldecoder("utf-8")("replace")

    @property
    def patience_s(self) -> float | None:
        """How long the rest of what has begun may take; after so much silence `give_up` is due. None: nothing has begun."""
        if self._pasting is not None:
            return _PASTE_S
        if self._held == b"\x1b":
            return self._escape_s
        return _SEQUENCE_S if self._held else None

    def feed(self, data: bytes) -> list[Piece]:
        self._held += data
        pieces: list[Piece] = []
        while self._held and self._step(pieces):
            pass
        return pieces

    def give_up(self) -> list[Piece]:
        """A lone ESC was the key, a paste without an end has ended; of anything else that was broken off, nothing is left."""
        if self._pasting is not None:
            text = (self._pasting + self._held)[:KEPT_BYTES].decode("utf-8", "replace")
            self._pasting = None
            self._held.clear()
            return [Pasted(text)]
        alone = self._held == b"\x1b"
        self._held.clear()
        return [Sequence("\x1b")] if alone else []

    def _step(self, pieces: list[Piece]) -> bool:
        """Take one piece off the front. False: more bytes are needed for it."""
        if self._pasting is not None:
            return self._paste(self._pasting, pieces)
        held = self._held
        begins = held.find(b"\x1b")
        if begins:
            typed = self._take(len(held) if begins < 0 else begins)
            # What no alphabet knows was not typed.
            text = self._letters.decode(typed).replace("\ufffd", "")
            if text:
                pieces.append(Typed(text))
            return True
        self._letters.reset()
        if len(held) == 1:
            return False
        kind = held[1:2]
        if kind == b"\x1b":
            self._take(1)
            pieces.append(Sequence("\x1b"))
            return True
        if kind == b"[":
            return self._control(pieces)
        if kind in _STRINGS:
            return self._string()
        size = 3 if kind == b"O" else 1 + _letter_size(held[1])
        if len(held) < size:
            return False
        self._whole(size, pieces)
        return True

    def _paste(self, kept: bytearray, pieces: list[Piece]) -> bool:
        held = self._held
        ends = held.find(_PASTE_ENDS)
        # The mark of the end may be there in part.
        sure = ends if ends >= 0 else max(0, len(held) - len(_PASTE_ENDS) + 1)
        kept += self._take(sure)[: max(0, KEPT_BYTES - len(kept))]
        if ends < 0:
            return False
        self._take(len(_PASTE_ENDS))
        self._pasting = None
        pieces.append(Pasted(kept.decode("utf-8", "replace")))
        return True

    def _control(self, pieces: list[Piece]) -> bool:
        held = self._held
        if held.startswith(_OLD_MOUSE):
            # Three bytes of any value follow. Nothing here asks for this dialect.
            if len(held) < _OLD_MOUSE_BYTES:
                return False
            self._take(_OLD_MOUSE_BYTES)
            return True
        body = _CONTROL.match(held)
        end = body.end() if body is not None else 0
        if end >= _LONGEST:
            self._take(end)
            return True
        if end >= len(held):
            return False
        if not 0x40 <= held[end] <= 0x7E:
            # Broken off by something that cannot stand in it.
            self._take(end)
        elif held[: end + 1] == _PASTE_BEGINS:
            self._take(end + 1)
            self._pasting = bytearray()
        else:
            self._whole(end + 1, pieces)
        return True

    def _string(self) -> bool:
        """An answer of the terminal (colours, its name, the clipboard): dropped with all that is in it."""
        end = _STRING_END.search(self._held, 2)
        if end is None:
            if len(self._held) > _LONGEST_STRING:
                del self._held[2:-1]
            return False
        self._take(end.end())
        return True

    def _whole(self, size: int, pieces: list[Piece]) -> None:
        text = self._take(size).decode("utf-8", "replace")
        if "\ufffd" not in text:
            pieces.append(Sequence(text))

    def _take(self, size: int) -> bytes:
        taken = bytes(self._held[:size])
        del self._held[:size]
        return taken


def _letter_size(first: int) -> int:
    """Bytes of a UTF-8 letter by its first."""
    return 4 if first >= 0xF0 else 3 if first >= 0xE0 else 2 if first >= 0xC0 else 1
