"""The gateway that runs on a state directory: its lock, its address for the command line, the operator's token.
Starts nothing and speaks no HTTP.

The lock is the truth, the file only tells more: a gateway that was killed leaves `gateway.json` behind, but no lock. With `--shared` there
may be several; one has the lock, and the next takes it over when that one ends, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import threading
import time
from dataclasses import asdict, dataclass

from engine.domain.errors import GatewayUnreachable, StartError, StoreError
from store.paths import ELSEWHERE, StateDirectory
from store.private import FILE_MODE, make_directory, put_if_absent, replace_file

PATIENCE_S = 0.3
TAKE_OVER_S = 0.1
RENEW = "remove the file; the next start makes a new one"


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """What `gateway.json` says. address: `http://127.0.0.1:4141`. instance: one id per start. shared: it expects others beside it."""

    address: str
    pid: int
    instance: str
    shared: bool = False


class GatewayLock:
    """Held from `acquire` until `release` or the end of the process, however it ends. first: the gateway that had the directory before us
    and still has it (only with `shared`); when it ends, commands find us."""

    def __init__(self, directory: StateDirectory, descriptor: int, first: RunningGateway | None = None, *, shared: bool = False) -> None:
        self._directory = directory
        self._descriptor: int | None = descriptor
        self._address: str | None = None
        self._changing = threading.Lock()
        self._over = threading.Event()
        self._waiting: threading.Thread | None = None
        self.first = first
        self._shared = shared
        self.instance = secrets.token_hex(8)

    @classmethod
    def acquire(cls, directory: StateDirectory, *, shared: bool = False) -> GatewayLock:
        """This process is the directory's gateway; a file that an earlier one left is gone. Raises StartError when another one runs
        (naming its address) and this one is not to share the directory with it, or when the directory cannot be used."""
        try:
            make_directory(directory.root)
            descriptor = os.open(directory.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        except OSError as problem:
            happened = f"{directory.lock_file}: {problem.strerror}."
            raise StartError("The state directory cannot be used", happened, ELSEWHERE) from problem
        if not _lock(descriptor, fcntl.LOCK_EX, PATIENCE_S):
            first = _read(directory)
            if shared:
                return cls(directory, descriptor, first, shared=True)._wait_in_line()
            os.close(descriptor)
            where = f"at {first.address} (pid {first.pid})" if first else "that is just starting"
            raise StartError(
                "Another gateway runs on this state directory",
                f"{directory.root} belongs to the gateway {where}.",
                "use it (failover attach), stop it, share the directory with it (--shared), or choose another one with --state-dir",
            )
        directory.gateway_file.unlink(missing_ok=True)
        return cls(directory, descriptor, shared=shared)

    def publish(self, address: str) -> None:
        """The command line finds this gateway at `address`, at once or when it is its turn. Raises StartError."""
        with self._changing:
            self._address = address
            if self._waiting is not None:
                return
            try:
                self._write(address)
            except OSError as problem:
                happened = f"{self._directory.gateway_file}: {problem.strerror}."
                raise StartError("The gateway's address could not be written", happened, f"make room for it, or {ELSEWHERE}") from problem

    def release(self) -> None:
        """The directory is free, or the next gateway's; safe to call twice."""
        self._over.set()
        waiting = self._waiting
        if waiting is not None:
            waiting.join()
        if self._descriptor is None:
            return
        try:
            if self._waiting is None:
                # Before the lock goes: afterwards the file could be the next gateway's.
                self._directory.gateway_file.unlink(missing_ok=True)
        finally:
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self, address: str) -> None:
        gateway = RunningGateway(address, os.getpid(), self.instance, self._shared)
        replace_file(self._directory.gateway_file, json.dumps(asdict(gateway)).encode() + b"\n")

    def _wait_in_line(self) -> GatewayLock:
        self._waiting = threading.Thread(target=self._take_over, name="gateway-lock", daemon=True)
        self._waiting.start()
        return self

    def _take_over(self) -> None:
        """Looks instead of waiting inside `flock`: nothing could end that wait but the other gateway."""
        assert self._descriptor is not None
        while not self._over.wait(TAKE_OVER_S):
            if not _lock(self._descriptor, fcntl.LOCK_EX, 0):
                continue
            with self._changing:
                self._waiting = self.first = None
                with contextlib.suppress(OSError):
                    self._directory.gateway_file.unlink(missing_ok=True)
                    if self._address is not None:
                        self._write(self._address)
            return


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
        return RunningGateway(str(held["address"]), int(held["pid"]), str(held["instance"]), held.get("shared") is True)
    except (OSError, ValueError, KeyError, TypeError):
        return None
