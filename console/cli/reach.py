"""From the command line to an engine: the gateway that runs on the state directory, else the state itself. Every view and every act of a
script comes through here, so that both mean the same. How a local engine is made is in `wiring`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from console.cli.options import Target
from console.remote import RemoteOperations
from engine.domain.errors import GatewayUnreachable
from engine.domain.operations import Operations
from store.instance import RunningGateway, operator_token, running
from store.paths import StateDirectory

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reached:
    """url None: no gateway runs, `operations` work on the state in `directory`."""

    operations: Operations
    url: str | None
    directory: StateDirectory


def ask(target: Target, question: Callable[[Reached], Awaitable[T]], *, only_running: bool = False) -> T:
    """The answer to one question, asked in an event loop of its own. only_running: the state alone will not do."""

    async def asked() -> T:
        async with reached(target, only_running=only_running) as found:
            return await question(found)

    return asyncio.run(asked())


@asynccontextmanager
async def reached(target: Target, *, only_running: bool = False) -> AsyncIterator[Reached]:
    """Raises GatewayUnreachable if a gateway must run and none does, and what `wiring.local_operations` raises."""
    directory = StateDirectory.locate(target.state_dir)
    gateway = running(directory)
    if gateway is not None:
        async with remote(directory, gateway) as operations:
            yield Reached(operations, gateway.address, directory)
        return
    if only_running:
        raise no_gateway(directory)
    from console.cli.wiring import local_operations

    async with local_operations(directory, target.config) as local:
        yield Reached(local, None, directory)


def remote(directory: StateDirectory, gateway: RunningGateway) -> RemoteOperations:
    """The operations of the gateway that runs there, and after a loss of the one that runs there then; its instance is checked before the
    token is sent."""

    def anew() -> tuple[str, str, str]:
        now = running(directory)
        if now is None:
            raise no_gateway(directory)
        return now.address, operator_token(directory), now.instance

    return RemoteOperations(gateway.address, operator_token(directory), instance=gateway.instance, anew=anew)


def no_gateway(directory: StateDirectory) -> GatewayUnreachable:
    happened = f"none runs on the state directory {directory.root}"
    return GatewayUnreachable("No gateway is running", happened, "start one with `failover serve`, or name its directory with --state-dir")
