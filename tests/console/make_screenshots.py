"""The pictures of the README, from the running app on a running demo: `python -m tests.console.make_screenshots`. Real engine, gateway and
providers on loopback; it waits until what a picture is about has happened."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from console.around import Around
from console.cli.demo import Demo
from console.pictures import export
from console.remote import RemoteOperations
from engine.domain.snapshot import ProfileState, Snapshot
from engine.simulation.demo.scenarios import SCENARIOS

FOLDER = Path(__file__).parents[2] / "screenshots"
WIDE, SMALL = (160, 48), (80, 24)
PICTURES: tuple[tuple[str, tuple[int, int], tuple[str, ...]], ...] = (
    ("fallback", WIDE, ()),
    ("small", SMALL, ()),
    ("why", WIDE, ("e",)),
    ("pin", WIDE, ("p",)),
    ("session", WIDE, ("enter",)),
    ("what-if", WIDE, ("w", *"openai:work 429", "enter")),
    ("faults", WIDE, ("!",)),
)


def under_way(snapshot: Snapshot) -> bool:
    """A fallback that is announced, with the cooldowns that led to it still running."""
    cooling = [p for p in snapshot.profiles if p.state is ProfileState.COOLDOWN]
    return sum(s.on_fallback for s in snapshot.sessions) >= 2 and len(cooling) >= 2


async def until(operations: RemoteOperations, happened: Callable[[Snapshot], bool]) -> Snapshot:
    end = time.monotonic() + 60
    while True:
        snapshot = await operations.snapshot()
        if happened(snapshot):
            return snapshot
        if time.monotonic() > end:
            raise TimeoutError("the demo did not come to what the picture shows")
        await asyncio.sleep(0.1)


async def take(demo: Demo) -> None:
    gateway = demo.gateway
    operations = RemoteOperations(gateway.url, gateway.token, instance=gateway.instance)
    await until(operations, under_way)
    around = Around(director=demo.world.director)
    for name, size, keys in PICTURES:
        await export(operations, FOLDER / f"{name}.svg", size, keys, utc=True, owns_engine=False, around=around)
    await export(operations, FOLDER / "no-color.svg", WIDE, no_color=True, utc=True, owns_engine=False, around=around)


def make() -> None:
    FOLDER.mkdir(exist_ok=True)
    with Demo(SCENARIOS["outage"], 10, 3, 0) as demo:
        asyncio.run(take(demo))


if __name__ == "__main__":
    make()
