"""Changes and stores as the tests of this room need them, and how they run another process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from engine.domain.credentials import ApiKey, Credential, OAuth
from engine.domain.ids import MAIN_AGENT, AgentId, ProfileId, SessionKey
from engine.domain.store import AppendDecision, PatchSession, PatchUsage, PutCredential
from store.sqlite.lane import Timing

ROOT = Path(__file__).resolve().parents[2]
MAIN = SessionKey("main")
K1, K2, K3 = (ProfileId(f"acme:k{n}") for n in (1, 2, 3))
OPS = AgentId("ops")
# Nothing here waits for company or for another attempt: a test that wants a write asks for one.
PATIENT = Timing(group_ms=3_600_000, retry_ms=3_600_000, busy_timeout_ms=5000)
HASTY = Timing(group_ms=3_600_000, retry_ms=3_600_000, busy_timeout_ms=0)


def put(
    profile: ProfileId, credential: Credential | None = None, agent: AgentId = MAIN_AGENT, expect: Credential | None = None
) -> PutCredential:
    return PutCredential(agent, profile, credential or ApiKey("acme", f"secret of {profile}"), expect)


def session(key: str = "main", expect: dict[str, object] | None = None, **fields: object) -> PatchSession:
    return PatchSession(SessionKey(key), fields, expect)


def usage(profile: ProfileId = K1, agent: AgentId = MAIN_AGENT, **fields: object) -> PatchUsage:
    return PatchUsage(agent, profile, fields)


def decision(n: int, session: str = "main", turn: str | None = None) -> AppendDecision:
    return AppendDecision({"event": "model_fallback_decision", "at": n, "session": session, "turn": turn or f"t{n}"})


def login(access: str, **extra: object) -> OAuth:
    return OAuth("acme", access, f"refresh of {access}", 1_767_610_800_000, "a@example.org", "acc", None, None, extra)


async def until(condition: Callable[[], object]) -> None:
    """Ten seconds at most."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - a timer of the store's or another connection's view gives no event
            await asyncio.sleep(0.001)


def worker_threads() -> list[str]:
    """SQLite connections' threads that do not end."""
    ours = [thread for thread in threading.enumerate() if "_connection_worker_thread" in thread.name]
    for thread in ours:
        thread.join(5)
    return [thread.name for thread in ours if thread.is_alive()]


def other_process(*arguments: object) -> subprocess.Popen[str]:
    """`tests/store/processes.py` with these arguments, its output as text."""
    command = [sys.executable, "-m", "tests.store.processes", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> str:
    """Its standard output, once it ended well."""
    out, err = process.communicate(timeout=50)
    assert process.returncode == 0, err
    return out
