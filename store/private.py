"""Files and directories that only their owner can read, from the first byte on (L03): never a default mode that is tightened
afterwards. No knowledge of what lies in them; where they lie is `store.paths`."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
OTHERS = 0o077


def make_directory(path: Path) -> None:
    """The directory exists; every level that had to be made has mode 0700. Raises OSError."""
    missing: list[Path] = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for level in reversed(missing):
        try:
            os.mkdir(level, DIRECTORY_MODE)
        except FileExistsError:
            if not level.is_dir():
                raise


def create_file(path: Path) -> int:
    """A new, empty file of mode 0600; its descriptor. Raises FileExistsError, also for a symbolic link that leads nowhere."""
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE)


def beside(path: Path) -> Path:
    """A free temporary name in the same directory, so that a rename or a link to `path` is atomic."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}")


def _write_new(path: Path, data: bytes) -> None:
    with open(create_file(path), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, data: bytes) -> None:
    """`path` holds `data`, mode 0600; a reader sees the old content or the new, never a part. Raises OSError."""
    draft = beside(path)
    try:
        _write_new(draft, data)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def put_if_absent(path: Path, data: bytes) -> bool:
    """`path` exists, whole and with mode 0600; True if it holds `data`, False if another was there first. Raises OSError."""
    draft = beside(path)
    try:
        _write_new(draft, data)
        return settle(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def settle(draft: Path, path: Path) -> bool:
    """The finished draft becomes `path` unless `path` exists already (False). Raises OSError."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError as problem:
        if problem.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        # A file system without hard links: the small race of two first starts is the price there.
        if path.exists():
            return False
        os.rename(draft, path)
    return True


def tighten(path: Path, mode: int = FILE_MODE) -> str | None:
    """Takes every right of others away. What was wrong, in words, or None; never raises for a path that is not there."""
    try:
        found = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None
    if not found & OTHERS:
        return None
    try:
        path.chmod(mode)
    except OSError as problem:
        return f"{path} can be read by others (mode {found:04o}) and could not be closed: {problem.strerror}"
    return f"{path} could be read by others (mode {found:04o}); now it has mode {mode:04o}"
