"""Has the file changed, and what of a change needs a new start? The engine asks once a second; nothing here waits, reads or watches.

A reload is: `changed`, then `read_config` with the next generation, and the old settings stay if that raises.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from engine.domain.settings import Settings


class Stamp(NamedTuple):
    """What tells one content of a file from another without reading it. The inode: editors and ConfigMaps replace the file."""

    inode: int
    size: int
    modified_ns: int
    changed_ns: int


def stamp(path: Path) -> Stamp | None:
    """The stamp of the file now; None while it is not there (an editor may be between two steps of saving)."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return Stamp(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def changed(path: Path, last: Stamp | None) -> Stamp | None:
    """The file's new stamp if it is another than `last`, else None. A file that is gone has not changed: the last good one stays."""
    now = stamp(path)
    return now if now != last else None


def needs_restart(before: Settings, after: Settings) -> tuple[str, ...]:
    """The keys that differ and take effect only with the next start: what was bound or opened with them is in use."""
    pairs = {
        "gateway.host": (before.gateway.host, after.gateway.host),
        "gateway.port": (before.gateway.port, after.gateway.port),
        "log.file": (before.store.log_file, after.store.log_file),
        "console.mouse": (before.console.mouse, after.console.mouse),
    }
    return tuple(key for key, (old, new) in pairs.items() if old != new)
