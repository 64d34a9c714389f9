"""Who acts from a command line, for the audit record: the OS user and the terminal (spec/console.md). No token and no secret is a name."""

from __future__ import annotations

import contextlib
import getpass
import os


def operator() -> str:
    """`ana (pts/3)`; a user without an entry in the password file is its number, a script without a terminal says so."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = f"uid {os.getuid()}"
    return f"{user} ({_terminal()})"


def _terminal() -> str:
    for stream in (0, 2, 1):
        with contextlib.suppress(OSError):
            return os.ttyname(stream).removeprefix("/dev/")
    return "no terminal"
