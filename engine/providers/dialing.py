"""Connects a socket to a host by name, trying its addresses beside each other. Ours, because asyncio's own way (`happy_eyeballs_delay`,
CPython 3.11) leaves sockets to the garbage collector when it is given up. Nothing of TLS, HTTP or how long it may take."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest


@dataclass(frozen=True, slots=True)
class Address:
    """family: `socket.AF_INET` or `AF_INET6`. at: as `connect` takes it."""

    family: int
    at: tuple[object, ...]


async def resolved(host: str, port: int) -> list[Address]:
    """The addresses of a name, in the order in which to try them. Raises socket.gaierror."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return by_turns([Address(family, at) for family, _, _, _, at in found])


def by_turns(addresses: Sequence[Address]) -> list[Address]:
    """Those of the first one's family and the others by turns (RFC 8305): a family that does not work costs one delay."""
    alike = [address for address in addresses if address.family == addresses[0].family]
    others = [address for address in addresses if address.family != addresses[0].family]
    return [address for address in chain.from_iterable(zip_longest(alike, others)) if address is not None]


async def dialled(addresses: Sequence[Address], delay_s: float) -> socket.socket:
    """Connected to the first address that answers; each has `delay_s` alone before the next is tried beside it. Of all other sockets none
    stays open, whenever this is cancelled. Raises the first address's OSError when all fail."""
    waiting = list(reversed(addresses))
    tries: list[asyncio.Task[socket.socket]] = []
    won: asyncio.Task[socket.socket] | None = None
    try:
        while won is None:
            running = [attempt for attempt in tries if not attempt.done()]
            if waiting:
                running.append(asyncio.ensure_future(_connected(waiting.pop())))
                tries.append(running[-1])
            elif not running:
                raise next(error for attempt in tries if (error := attempt.exception()) is not None)
            await asyncio.wait(running, timeout=delay_s if waiting else None, return_when=asyncio.FIRST_COMPLETED)
            won = next((attempt for attempt in tries if attempt.done() and attempt.exception() is None), None)
        return won.result()
    finally:
        for attempt in tries:
            if attempt is not won:
                attempt.cancel()
                attempt.add_done_callback(_discard)


async def _connected(address: Address) -> socket.socket:
    connecting = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        connecting.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connecting, address.at)
    except BaseException:
        connecting.close()
        raise
    return connecting


def _discard(attempt: asyncio.Task[socket.socket]) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()
