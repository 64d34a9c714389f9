"""What the parts of one engine share: put together once by `engine.live.engine`, handed to turns, acts and tickers. No behaviour here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from engine.domain.clock import Clock
from engine.domain.exchange import Upstream
from engine.domain.ids import AgentId, ProfileId, SessionKey
from engine.domain.redaction import Redactor
from engine.live.activity import Activity
from engine.live.alarms import Alarms
from engine.live.bus import EventBus
from engine.live.feed import Feed
from engine.live.leases import Leases
from engine.live.memory import Memory
from engine.live.oauth import TokenRefresher
from engine.live.provenance import Provenance
from engine.live.records import DerivedSessions
from engine.live.revision import Revision
from engine.live.secrets import Secrets
from engine.live.trials import TrialBell
from engine.live.writer import Writer
from engine.policy.windows import Window


@dataclass(slots=True)
class Parts:
    """speed: policy time runs so many times faster than real time. wall: what blocks and token ends are judged by (`window.clock`).
    window_opened, window_cleared, pin_set: whoever announces their ends is told of them."""

    clock: Clock
    speed: float
    wall: Callable[[], int]
    memory: Memory
    writer: Writer
    bus: EventBus
    feed: Feed
    alarms: Alarms
    activity: Activity
    revision: Revision
    redactor: Redactor
    secrets: Secrets
    tokens: TokenRefresher
    trials: TrialBell
    leases: Leases
    upstream: Upstream
    derived: DerivedSessions
    provenance: Provenance
    window_opened: Callable[[AgentId, ProfileId, str, Window], None]
    window_cleared: Callable[[AgentId, ProfileId, Window], None]
    pin_set: Callable[[SessionKey], None]
    background: set[asyncio.Task[Any]] = field(default_factory=set)

    def real_s(self, policy_ms: float) -> float:
        """Policy time in real seconds."""
        return max(0.0, policy_ms / 1000 / self.speed)

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """A task that nobody waits for; kept from the garbage collector, awaited when the engine stops."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self.background.add(task)
        task.add_done_callback(self.background.discard)
        return task
