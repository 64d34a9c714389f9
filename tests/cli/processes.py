"""Processes that tests of the command line start: a gateway that serves, with the demo's providers behind it on loopback."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from engine.domain.ids import MAIN_AGENT
from engine.domain.store import PutCredential
from engine.simulation.demo.cast import credentials
from engine.simulation.demo.script import Behaviour, Scenario, Step
from store.opening import opened
from store.paths import StateDirectory
from store.sqlite import SqliteStore

ROOT = Path(__file__).resolve().parent.parent.parent
Done = subprocess.CompletedProcess[str]
Failover = Callable[..., Done]
HELLO = {"model": "auto", "messages": [{"role": "user", "content": "hello"}]}
BROKEN = Scenario("broken", "", 1e9, (Step(0, "anthropic", Behaviour.RATE_LIMIT, retry_after_s=600),))
"""The first provider refuses from the moment on at which the script begins."""


class Serving:
    """A `failover serve` process that accepts requests."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        first = process.stdout.readline()
        told = re.fullmatch(r"gateway (http://127\.0\.0\.1:\d+)\n", first)
        assert told, first + (process.stderr.read() if process.stderr else "")
        self.url = told[1]

    def ask(self, session: str = "main", **headers: str) -> httpx.Response:
        sent = {"x-failover-session": session, **headers}
        return httpx.post(f"{self.url}/v1/chat/completions", json=HELLO, headers=sent, trust_env=False, timeout=20)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """(exit status, standard error)"""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors


@contextmanager
def serving(state: Path, *arguments: str) -> Iterator[Serving]:
    command = [sys.executable, "-m", "console.cli.main", "serve", "--port", "0", "--state-dir", str(state), *arguments]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield Serving(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def store_keys(state: Path, *profiles: str) -> None:
    """The keys of the demo's providers are stored, as `failover profiles add` stores them."""

    async def put() -> None:
        store = SqliteStore(StateDirectory(state))
        async with opened(store):
            chosen = {name: key for name, key in credentials().items() if not profiles or name in profiles}
            await store.commit([PutCredential(MAIN_AGENT, name, key) for name, key in chosen.items()])

    asyncio.run(put())


def eventually(holds: Callable[[], bool], within_s: float = 10) -> bool:
    """True as soon as it holds; for what another process does in its own time."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False
