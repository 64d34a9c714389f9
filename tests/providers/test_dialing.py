"""A connection to a host by name: the first address that answers, and no socket left open by one that is given up at any moment."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest

from engine.providers.dialing import Address, by_turns, dialled
from engine.providers.http1 import Http1Transport

REFUSED = Address(socket.AF_INET, ("127.0.0.1", 1))


@pytest.fixture
def silent() -> Iterator[Address]:
    """An address that answers no connection: its queue is full."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):
            filling = stack.enter_context(socket.socket())
            filling.setblocking(False)
            filling.connect_ex(listening.getsockname())
        yield Address(socket.AF_INET, listening.getsockname())


@pytest.fixture
async def answering() -> AsyncIterator[Address]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1000)
        yield Address(socket.AF_INET, listening.getsockname())


async def open_files() -> int:
    """Once all that was cancelled has had its turn."""
    for _ in range(20):
        await asyncio.sleep(0)
    return len(os.listdir("/dev/fd"))


async def left_open(dial: Callable[[], Awaitable[Any]]) -> int:
    """Files that stay open after a dial was given up after each number of turns of the loop. Without the garbage collector's help."""
    gc.disable()
    try:
        before = await open_files()
        for turns in range(12):
            dialling = asyncio.ensure_future(dial())
            for _ in range(turns):
                await asyncio.sleep(0)
            dialling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                (await dialling).close()
        return await open_files() - before
    finally:
        gc.enable()


async def test_the_first_address_that_answers_wins(silent: Address, answering: Address) -> None:
    before = await open_files()
    for addresses in ([answering], [REFUSED, answering], [silent, answering], [silent, REFUSED, answering], [answering, silent]):
        with await dialled(addresses, 0.01) as connected:
            assert connected.getpeername() == answering.at
    assert await open_files() == before


async def test_when_no_address_answers_the_first_ones_error_is_told() -> None:
    with pytest.raises(ConnectionRefusedError) as refused:
        await dialled([REFUSED, REFUSED], 0.01)
    assert refused.value.errno == errno.ECONNREFUSED


def test_addresses_of_both_families_take_turns() -> None:
    six, four = socket.AF_INET6, socket.AF_INET
    found = by_turns([Address(six, ("a", 80)), Address(six, ("b", 80)), Address(four, ("c", 80))])
    assert [address.at[0] for address in found] == ["a", "c", "b"]


@pytest.mark.parametrize("delay_s", [0.0, 60.0])
async def test_a_dial_that_is_given_up_leaves_no_socket_open(silent: Address, answering: Address, delay_s: float) -> None:
    assert await left_open(lambda: dialled([silent, answering], delay_s)) == 0
    assert await left_open(lambda: dialled([answering, answering], delay_s)) == 0


async def test_a_connection_to_a_name_that_is_given_up_leaves_no_socket_open(answering: Address) -> None:
    request = httpx.Request("POST", f"http://localhost:{answering.at[1]}/v1/x", extensions={"timeout": {"connect": 5}})
    assert await left_open(lambda: Http1Transport().handle_async_request(request)) == 0
