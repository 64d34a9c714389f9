"""What every test gets: no provider key, no configuration and no state of the developer's own, and no network but loopback.

Nothing that a single room needs belongs here.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

OWN_VARIABLES = re.compile(r"(.*_API_KEY|.*_AUTH_TOKEN|AZURE_OPENAI_.*|FAILOVER_.*|OPENCLAW_.*|.*_PROXY)", re.IGNORECASE)
OWN_FOLDERS = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")


class NetworkForbidden(RuntimeError):
    """A test reached for something that is not on this machine."""


def _is_here(host: object) -> bool:
    if not isinstance(host, str):
        return False
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """A command run inside a test may send the project's log elsewhere; the next test finds it as it was."""
    log = logging.getLogger("failover")
    level, propagate, handlers = log.level, log.propagate, list(log.handlers)
    yield
    log.setLevel(level)
    log.propagate = propagate
    log.handlers[:] = handlers


@pytest.fixture(autouse=True)
def sealed(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> None:
    """The environment is cleared of what a developer's own installation would bring in; connections leave this machine in no test."""
    for name in list(os.environ):
        if OWN_VARIABLES.fullmatch(name):
            monkeypatch.delenv(name)
    # A folder that does not exist is as good as an empty one, and costs nothing to make.
    nowhere: Path = tmp_path_factory.getbasetemp() / "home" / str(abs(hash(request.node.nodeid)))
    for name in OWN_FOLDERS:
        monkeypatch.setenv(name, str(nowhere / name.lower()))

    real_connect, real_connect_ex, real_sendto = socket.socket.connect, socket.socket.connect_ex, socket.socket.sendto
    real_getaddrinfo = socket.getaddrinfo

    def refuse_far(sock: socket.socket, address: Any) -> None:
        if sock.family in (socket.AF_INET, socket.AF_INET6) and not _is_here(address[0]):
            raise NetworkForbidden(f"a test may connect to loopback only, not to {address[0]}:{address[1]}")

    def connect(self: socket.socket, address: Any) -> None:
        refuse_far(self, address)
        real_connect(self, address)

    def connect_ex(self: socket.socket, address: Any) -> int:
        refuse_far(self, address)
        return real_connect_ex(self, address)

    def sendto(self: socket.socket, data: Any, *rest: Any) -> int:
        refuse_far(self, rest[-1])
        return real_sendto(self, data, *rest)

    def getaddrinfo(host: Any, *rest: Any, **options: Any) -> Any:
        # A name that is not ours is a name that nobody knows: asking for it would be a packet too.
        name = host.decode() if isinstance(host, bytes) else host
        if isinstance(name, str) and name and not _is_here(name) and not re.fullmatch(r"[0-9.]+|[0-9a-fA-F:.%]*:[0-9a-zA-Z:.%]*", name):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real_getaddrinfo(host, *rest, **options)

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket.socket, "connect_ex", connect_ex)
    monkeypatch.setattr(socket.socket, "sendto", sendto)
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
