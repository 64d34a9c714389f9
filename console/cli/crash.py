"""What a person sees of an error that nobody expected: one line, and where its details are. The traceback goes to a file of the
state directory, 0600, with every known secret masked, because a traceback may quote anything."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path

import click

from console.view.text import literal
from engine.domain.redaction import SINK


def say_crash(error: BaseException) -> None:
    """Writes the details away and says so, whatever else is broken."""
    line = f"failover: unexpected {type(error).__name__}: {literal(SINK.mask(str(error)), 200)}"
    path = write_details(error)
    click.echo(f"{line}\n  details: {path}" if path else f"{line}\n  details could not be written", err=True)


def write_details(error: BaseException) -> Path | None:
    """The traceback, masked, in a new file of 0600; None if there is no place for it."""
    text = SINK.mask("".join(traceback.format_exception(error)))
    about = f"{datetime.now(UTC).isoformat()} {' '.join(sys.argv[:2])}\n{text}"
    for folder in (_state_folder(), Path(tempfile.gettempdir())):
        if folder is None:
            continue
        try:
            handle, name = tempfile.mkstemp(".txt", f"crash-{datetime.now(UTC):%Y%m%dT%H%M%S}-", folder)
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(about)
            return Path(name)
        except OSError:
            continue
    return None


def _state_folder() -> Path | None:
    try:
        from store.paths import StateDirectory

        folder = StateDirectory.locate().root
    except Exception:
        return None
    return folder if folder.is_dir() else None
