"""What the tests let another process do with a state directory: `python -m tests.store.processes ACT DIRECTORY ...`."""

from __future__ import annotations

import asyncio
import itertools
import os
import resource
import sys
from pathlib import Path

from engine.domain.errors import StoreError
from engine.domain.ids import ProfileId
from store.instance import GatewayLock, operator_token
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from tests.store.making import HASTY, decision, put, session, usage


def say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def count_for_ever(directory: StateDirectory) -> None:
    """Says each number once it is durable."""
    store = SqliteStore(directory)
    await store.open()
    for n in itertools.count(1):
        await store.commit([usage(ProfileId("acme:k1"), error_count=n), session(updated_at=n), decision(n)])
        say(n)


async def increments(directory: StateDirectory, name: str, writers: str, times: str) -> None:
    """Each writer raises the counter of a profile of its own by one, that often."""
    store = SqliteStore(directory)
    try:
        await store.open()

        async def writer(number: int) -> None:
            profile = ProfileId(f"acme:{name}{number}")
            for n in range(1, int(times) + 1):
                await store.commit([usage(profile, error_count=n)])

        await asyncio.gather(*(writer(number) for number in range(int(writers))))
    finally:
        await store.close()


async def add(directory: StateDirectory, profile: str) -> None:
    store = SqliteStore(directory)
    try:
        await store.open()
        await store.commit([put(ProfileId(profile))])
    finally:
        await store.close()


async def fill_disk(directory: StateDirectory) -> None:
    """Files must not grow any more; later they may. Says what a commit and the alarm said, and what was written in the end."""
    store = SqliteStore(directory, HASTY)
    try:
        await store.open()
        await store.commit([session("kept", updated_at=1)])
        largest = max(path.stat().st_size for path in directory.root.rglob("*") if path.is_file())
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
        store.enqueue([session("waiting", pin_reason="x" * 100_000)])
        try:
            await store.commit([session("refused", pin_reason="x" * 100_000)])
        except StoreError as problem:
            say(problem.title)
        say(f"alarm: {store.trouble}")
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        await store.commit([])
        say(f"alarm: {store.trouble}")
    finally:
        await store.close()


async def umask_zero(directory: StateDirectory) -> None:
    """Everything this room ever writes, with a umask that would open all of it."""
    os.umask(0)
    operator_token(directory)
    lock = GatewayLock.acquire(directory)
    lock.publish("http://127.0.0.1:4141")
    for _ in range(2):
        store = SqliteStore(directory)
        try:
            await store.open()
            for n in range(200):
                await store.commit([put(ProfileId(f"acme:{n}")), session(str(n), updated_at=n)])
        finally:
            await store.close()
        directory.shared_file.write_bytes(b"garbage")
    lock.release()


async def hold_gateway(directory: StateDirectory, address: str, shared: str = "") -> None:
    """Is the gateway of the directory, or one of them, until its standard input ends."""
    lock = GatewayLock.acquire(directory, shared=bool(shared))
    lock.publish(address)
    say(os.getpid())
    sys.stdin.read()
    lock.release()


ACTS = {act.__name__: act for act in (count_for_ever, increments, add, fill_disk, umask_zero, hold_gateway)}

if __name__ == "__main__":
    asyncio.run(ACTS[sys.argv[1]](StateDirectory(Path(sys.argv[2])), *sys.argv[3:]))
