"""The one gateway that runs on a state directory: its lock, its address for the command line, the operator's token.
Starts nothing and speaks no HTTP.

The lock is the truth, the file only tells more: a gateway that was killed leaves `gateway.json` behind, but no lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from dataclasses import asdict, dataclass

from engine.domain.errors import GatewayUnreachable, StartError, StoreError
from store.paths import ELSEWHERE, StateDirectory
from store.private import FILE_MODE, make_directory, put_if_absent, replace_file

PATIENCE_S = 0.3
RENEW = "remove the file; the next start makes a new one"


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """What `gateway.json` says. address: `http://127.0.0.1:4141`. instance: one id per start."""

    address: str
    pid: int
    instance: str


class GatewayLock:
    """Held from `acquire` until `release` or the end of the process, however it ends."""

    def __init__(self, directory: StateDirectory, descriptor: int) -> None:
        self._directory = directory
        self._descriptor: int | None = descriptor
        self.instance = secrets.token_hex(8)

    @classmethod
    def acquire(cls, directory: StateDirectory) -> GatewayLock:
        """This process is the directory's gateway; a file that an earlier one left is gone. Raises StartError when another one runs
        (naming its address) or the directory cannot be used."""
        try:
            make_directory(directory.root)
            descriptor = os.open(directory.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        except OSError as problem:
            happened = f"{directory.lock_file}: {problem.strerror}."
            raise StartError("The state directory cannot be used", happened, ELSEWHERE) from problem
        if not _lock(descriptor, fcntl.LOCK_EX, PATIENCE_S):
            os.close(descriptor)
            first = _read(directory)
            where = f"at {first.address} (pid {first.pid})" if first else "that is just starting"
            raise StartError(
                "Another gateway runs on this state directory",
                f"{directory.root} belongs to the gateway {where}.",
                "use it (failover attach), stop it, or choose another directory with --state-dir",
            )
        directory.gateway_file.unlink(missing_ok=True)
        return cls(directory, descriptor)

    def publish(self, address: str) -> None:
        """The command line finds this gateway at `address`. Raises StartError."""
        gateway = RunningGateway(address, os.getpid(), self.instance)
        try:
            replace_file(self._directory.gateway_file, json.dumps(asdict(gateway)).encode() + b"\n")
        except OSError as problem:
            happened = f"{self._directory.gateway_file}: {problem.strerror}."
            raise StartError("The gateway's address could not be written", happened, f"make room for it, or {ELSEWHERE}") from problem

    def release(self) -> None:
        """The directory is free; safe to call twice."""
        if self._descriptor is None:
            return
        try:
            # Before the lock goes: afterwards the file could be the next gateway's.
            self._directory.gateway_file.unlink(missing_ok=True)
        finally:
            os.close(self._descriptor)
            self._descriptor = None


def running(directory: StateDirectory) -> RunningGateway | None:
    """The gateway that holds the directory's lock, None when none does. Raises GatewayUnreachable while one is still starting."""
    try:
        descriptor = os.open(directory.lock_file, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise StoreError("The state directory cannot be read", f"{directory.lock_file}: {problem.strerror}.", ELSEWHERE) from problem
    try:
        # Shared, so that two commands that look at the same time do not take each other for a gateway.
        if _lock(descriptor, fcntl.LOCK_SH, 0):
            return None
    finally:
        os.close(descriptor)
    gateway = _read(directory)
    if gateway is None:
        raise GatewayUnreachable("A gateway is just starting on this state directory", str(directory.root), "try again in a moment")
    return gateway


def operator_token(directory: StateDirectory) -> str:
    """The token of the operator API, made at the first call; every caller gets the same one. Raises StoreError."""
    path = directory.token_file
    try:
        if not path.exists():
            make_directory(directory.root)
            put_if_absent(path, secrets.token_urlsafe(32).encode() + b"\n")
    except OSError as problem:
        happened = f"{path}: {problem.strerror}."
        raise StoreError("The operator's token cannot be written", happened, f"make room for it, or {ELSEWHERE}") from problem
    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise StoreError("The operator's token cannot be read", f"{path}: {problem}", RENEW) from problem
    if not token:
        raise StoreError("The operator's token is empty", str(path), RENEW)
    return token


def _lock(descriptor: int, kind: int, patience_s: float) -> bool:
    """True when taken. A command that looks whether a gateway runs holds the lock for an instant: a starting gateway waits for it."""
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.01)
        else:
            return True


def _read(directory: StateDirectory) -> RunningGateway | None:
    try:
        held = json.loads(directory.gateway_file.read_bytes())
        return RunningGateway(str(held["address"]), int(held["pid"]), str(held["instance"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
