"""`python -m tests.live.killed BASE`: the same fallback turn again and again, each time in a process of its own that kills itself (SIGKILL)
before or after its n-th transaction, until a turn comes to its end. What each said before lies in `BASE/<n>-<when>/said.jsonl`."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.domain.exchange import Answered
from engine.domain.store import Change
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from store.sqlite.database import Database
from tests.live import harness
from tests.live.harness import Call, ScriptedUpstream, StillClock, does, fails, ok, running, settings_of, stored_with

SETTINGS = settings_of(harness.chain("acme/big", "zeta/std"))
KEYS = harness.keys("acme:k1", "zeta:k1")


def say(place: Path, **said: Any) -> None:
    """On the disk before it returns."""
    with (place / "said.jsonl").open("a") as file:
        file.write(json.dumps(said) + "\n")
        file.flush()
        os.fsync(file.fileno())


def kill_at(number: int, when: str) -> None:
    """The hook: every transaction of every file passes `Database.write`."""
    write, made = Database.write, 0

    async def counted(self: Database, units: Sequence[Sequence[Change]]) -> Any:
        nonlocal made
        made += 1
        mine = made  # files are written side by side
        if mine == number and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        done = await write(self, units)
        if mine == number and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    Database.write = counted  # type: ignore[method-assign]


async def prepare(place: Path) -> None:
    store = await stored_with(KEYS, SqliteStore(StateDirectory(place / "state")))
    await store.close()


async def fall_back(place: Path) -> None:
    """One turn of `desk`: acme is limited, zeta answers."""
    upstream = ScriptedUpstream()

    async def told(call: Call) -> None:
        say(place, called=call.ref)

    upstream.on("acme/big", does(told, fails(429, "slow down")))
    upstream.on("zeta/std", does(told, ok("hello")))
    async with running(SETTINGS, store=SqliteStore(StateDirectory(place / "state")), upstream=upstream, clock=StillClock()) as bench:
        live = bench.begin("desk")
        answer = await live.answer()
        assert isinstance(answer, Answered)
        say(place, answered=str(answer.served), notices=list(answer.notices))
        async for _ in live.chunks():
            pass
        await live.result()
    say(place, ended=True)


def run(place: Path, number: int, when: str) -> bool:
    """True: it was killed."""
    place.mkdir(parents=True)
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(prepare(place))
            kill_at(number, when)
            asyncio.run(fall_back(place))
            os._exit(0)
        except BaseException as problem:  # a child must not go on as its parent
            print(repr(problem), file=sys.stderr)
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status) == signal.SIGKILL
    if os.WEXITSTATUS(status):
        raise SystemExit(f"the turn of {place.name} failed")
    return False


def main(base: Path) -> None:
    for number in range(1, 50):
        killed = [run(base / f"{number:02}-{when}", number, when) for when in ("before", "after")]
        if not any(killed):
            return
    raise SystemExit("the turn writes and writes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
