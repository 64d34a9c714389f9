"""Copying out of the console: OSC 52 to the terminal, wrapped for tmux, and a file for terminals that know neither.

What is copied may be foreign: it goes out neutralised, so that pasting it into a shell cannot do more than its letters say."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from console.view.text import literal

LIMIT = 8_000
"""Characters; terminals drop longer OSC 52 sequences without a word."""


def harmless(text: str) -> str:
    """Each line made harmless; whole lines as far as the limit goes."""
    lines = text.splitlines() or [""]
    out: list[str] = []
    room = LIMIT
    for line in lines:
        safe = literal(line, LIMIT)
        if len(safe) + 1 > room and out:
            out.append("… (cut)")
            break
        out.append(safe)
        room -= len(safe) + 1
    return "\n".join(out)


def for_tmux(text: str) -> str | None:
    """The sequence that tmux hands on to the terminal around it, None outside tmux."""
    if "TMUX" not in os.environ:
        return None
    payload = base64.b64encode(text.encode()).decode()
    return f"\x1bPtmux;\x1b\x1b]52;c;{payload}\a\x1b\\"


def to_file(text: str, path: Path | None) -> str:
    """Write it, readable by its owner only. Returns the words for the toast, empty when there is no file."""
    if path is None:
        return ""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError:
        return ""
    return f", and to {path}"
