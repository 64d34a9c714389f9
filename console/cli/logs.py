"""Where the diagnostics of a running gateway go: a file if one is named, else standard error, but never onto a screen that is being drawn.
Every line passes the redaction sink and stays one line."""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

from console.view.text import literal
from engine.domain.errors import StartError
from engine.domain.redaction import SINK
from engine.domain.settings import StoreSettings

LONG = 4_000


class MaskedLines(logging.Formatter):
    """One masked, harmless line a record; a traceback is part of it, because its text may quote anything."""

    def __init__(self) -> None:
        self.converter = time.gmtime
        super().__init__("%(asctime)sZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        return literal(SINK.mask(super().format(record)), LONG)


def start_logging(named: Path | None, settings: StoreSettings, *, screen: bool = False) -> None:
    """named: on the command line; else the configured file, if there is one. From now on the project's own loggers speak, other
    libraries stay silent: what they would log of a request is not ours to keep. Raises StartError when the file cannot be written."""
    log = logging.getLogger("failover")
    log.propagate = False
    log.handlers.clear()
    file = named or (Path(settings.log_file).expanduser() if settings.log_file else None)
    handler: logging.Handler
    if file is not None:
        handler = _to_file(file)
        log.setLevel(settings.log_level.upper())
    elif screen:
        handler = logging.NullHandler()
    else:
        handler = logging.StreamHandler(sys.stderr)
        log.setLevel(logging.WARNING)
    handler.setFormatter(MaskedLines())
    log.addHandler(handler)


def _to_file(file: Path) -> logging.Handler:
    try:
        # Closed to others from the first byte on: it may name sessions and people.
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
        return logging.FileHandler(file, encoding="utf-8", errors="backslashreplace")
    except OSError as problem:
        raise StartError("The log file cannot be written", f"{file}: {problem.strerror}", "name another with --log-file") from problem
