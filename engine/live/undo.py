"""Taking an act back (spec/console.md, key `u`): what each act wrote and what stood there before. An act is taken back whole, and only
while all of it still stands as the act left it. In memory: a restart forgets what could be undone, the audit log does not."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from uuid import uuid4

from engine.domain.ids import AgentId, ProfileId, SessionKey
from engine.domain.sessions import SESSION_FIELDS
from engine.domain.usage import OperatorOff, UsageStats
from engine.live.memory import Memory

KEPT = 50
_NOT_COMPARED = frozenset({"updated_at", "live_model_switch_pending"})
"""Bookkeeping that the next turn rewrites: it says nothing about what the act wrote."""


@dataclass(frozen=True, slots=True)
class SessionWrite:
    session: SessionKey
    before: Mapping[str, object]
    after: Mapping[str, object]

    def stands(self, memory: Memory) -> bool:
        now = memory.session(self.session)
        return all(getattr(now, name) == value for name, value in self.after.items() if name not in _NOT_COMPARED)


@dataclass(frozen=True, slots=True)
class UsageWrite:
    agent: AgentId
    profile: ProfileId
    before: UsageStats
    after: UsageStats

    def stands(self, memory: Memory) -> bool:
        return _health(memory.usage(self.agent, self.profile)) == _health(self.after)


@dataclass(frozen=True, slots=True)
class OffWrite:
    target: str
    before: OperatorOff | None
    after: OperatorOff | None

    def stands(self, memory: Memory) -> bool:
        return memory.off.get(self.target) == self.after


@dataclass(frozen=True, slots=True)
class OrderWrite:
    agent: AgentId
    provider: str
    before: tuple[ProfileId, ...] | None
    after: tuple[ProfileId, ...] | None

    def stands(self, memory: Memory) -> bool:
        agent = memory.agents.get(self.agent)
        return (agent.order.get(self.provider) if agent is not None else None) == self.after


Write = SessionWrite | UsageWrite | OffWrite | OrderWrite


@dataclass(frozen=True, slots=True)
class DoneAct:
    """One act that was carried out. writes empty: it cannot be taken back."""

    name: str
    by: str
    message: str
    writes: tuple[Write, ...] = ()
    id: str = field(default_factory=lambda: uuid4().hex[:12])


class DoneActs:
    def __init__(self, touch: Callable[[], None]) -> None:
        self._touch = touch
        self._acts: deque[DoneAct] = deque(maxlen=KEPT)

    def add(self, act: DoneAct) -> None:
        self._acts.append(act)
        self._touch()

    def find(self, act_id: str | None, by: str) -> DoneAct | None:
        """By id, or the caller's last one."""
        return next((a for a in reversed(self._acts) if (a.id == act_id if act_id is not None else a.by == by)), None)

    def remove(self, act: DoneAct) -> None:
        self._acts.remove(act)
        self._touch()

    @property
    def last_undoable(self) -> tuple[str, str] | None:
        """(id, message), for the screen."""
        act = next((a for a in reversed(self._acts) if a.writes), None)
        return (act.id, act.message) if act is not None else None


def session_values(memory: Memory, key: SessionKey, names: Mapping[str, object]) -> dict[str, object]:
    """The values that these fields have now."""
    session = memory.session(key)
    return {name: getattr(session, name) for name in names if name in SESSION_FIELDS}


def _health(usage: UsageStats) -> tuple[object, ...]:
    """All but `lastUsed`: being used changes nothing that a clear wrote."""
    return (
        usage.cooldown_until,
        usage.disabled_until,
        usage.blocked_until,
        usage.error_count,
        dict(usage.failure_counts),
        usage.last_failure_at,
        dict(usage.model_cooldowns),
        dict(usage.disabled_counts or {}),
    )
