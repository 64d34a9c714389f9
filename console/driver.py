"""Textual's driver with our own ear: its input thread takes the codes inside a pasted text, answers of the terminal and broken sequences
for keys, and ends the console at the first byte that is not UTF-8. What is drawn, and the modes of the terminal, stay Textual's.

What counts as typed is decided in `console.keyboard`; what a sequence is called, in Textual's parser."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator

from textual import constants, events
from textual._xterm_parser import FOCUSIN, XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from console.keyboard import Keyboard, Pasted, Piece, Typed

_POLL_S = 0.1
_READ = 65_536


class ConsoleDriver(LinuxDriver):
    """Whatever the terminal sends, the thread goes on until it is told to stop."""

    def run_input_thread(self) -> None:
        keyboard, parser = Keyboard(constants.ESCAPE_DELAY), XTermParser()
        heard = time.monotonic()
        while not self.exit_event.is_set():
            pieces: list[Piece] = []
            if select.select([self.fileno], [], [], _POLL_S)[0]:
                try:
                    data = os.read(self.fileno, _READ)
                except OSError:
                    # The terminal is gone; the signal that says so ends the console.
                    data = b""
                if not data:
                    self.exit_event.wait(_POLL_S)
                    continue
                heard, pieces = time.monotonic(), keyboard.feed(data)
            elif (patience_s := keyboard.patience_s) is not None and time.monotonic() - heard >= patience_s:
                pieces = keyboard.give_up()
            for piece in pieces:
                for message in _messages(piece, parser):
                    self.process_message(message)


def _messages(piece: Piece, parser: XTermParser) -> Iterator[Message]:
    if isinstance(piece, Pasted):
        yield events.Paste(piece.text)
    elif isinstance(piece, Typed):
        yield from parser.feed(piece.text)
    elif piece.text == "\x1b":
        yield events.Key("escape", piece.text)
    else:
        known = list(parser.feed(piece.text))
        # If it knows none such, it waits for more, and would hand it out as keys: this ends the waiting, and what comes of it is dropped.
        list(parser.feed(FOCUSIN))
        if not known and len(piece.text) == 2:
            known = [events.Key(f"alt+{key.key}", None) for key in parser.feed(piece.text[1]) if isinstance(key, events.Key)]
        yield from known
