"""The seal around the tests itself (tests/conftest.py)."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import platformdirs
import pytest

FOREIGN = ("192.0.2.1", 9)  # TEST-NET-1: belongs to nobody


@pytest.fixture(scope="module", autouse=True)
def developer_keys():
    # Module scope comes before the seal, so these stand for what a developer's shell brings in.
    before = dict(os.environ)
    os.environ.update(ANTHROPIC_API_KEY="made-up", SOME_NEW_API_KEY="made-up", FAILOVER_CONFIG="/nowhere", https_proxy="http://192.0.2.1")
    yield
    os.environ.clear()
    os.environ.update(before)


def test_keys_of_the_developer_are_hidden():
    for name in ("ANTHROPIC_API_KEY", "SOME_NEW_API_KEY", "FAILOVER_CONFIG", "https_proxy"):
        assert name not in os.environ


def test_own_config_and_state_are_hidden():
    assert not Path(platformdirs.user_config_dir("failover")).exists()
    assert not Path(platformdirs.user_state_dir("failover")).exists()


@pytest.mark.parametrize("address", [FOREIGN, ("10.0.0.1", 80), ("0.0.0.0", 80)])
def test_a_far_address_is_refused(address: tuple[str, int]):
    with socket.socket() as sock:
        with pytest.raises(RuntimeError, match="loopback only"):
            sock.connect(address)
        with pytest.raises(RuntimeError, match="loopback only"):
            sock.connect_ex(address)


def test_a_far_datagram_is_refused():
    with socket.socket(type=socket.SOCK_DGRAM) as sock, pytest.raises(RuntimeError, match="loopback only"):
        sock.sendto(b"x", FOREIGN)


async def test_a_far_address_is_refused_in_a_loop_too():
    with pytest.raises(RuntimeError, match="loopback only"):
        await asyncio.open_connection(*FOREIGN)


def test_a_far_name_is_not_even_asked_for():
    with pytest.raises(socket.gaierror):
        socket.create_connection(("provider.example", 443))


async def test_loopback_is_open():
    served = asyncio.Event()

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.set()
        writer.close()

    server = await asyncio.start_server(serve, "localhost", 0)
    async with server:
        _, writer = await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
        await served.wait()
        writer.close()
        await writer.wait_closed()


def test_unix_sockets_are_open(tmp_path_factory: pytest.TempPathFactory):
    path = str(tmp_path_factory.mktemp("s") / "s")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(path)
        listener.listen()
        client.connect(path)
        assert client.getpeername() == path
