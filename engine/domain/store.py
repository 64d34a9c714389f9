"""What the engine needs from a store (spec/store.md). Changes are data: field-wise patches that a store applies read-modify-write,
so that SQLite, memory and later Redis can each do it in their own atomic way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from engine.domain.credentials import Credential
from engine.domain.decisions import EVERY, Matching
from engine.domain.ids import AgentId, ProfileId, SessionKey, TurnId
from engine.domain.leases import Lease, Trial
from engine.domain.sessions import Session
from engine.domain.stored_answers import StoredAnswer
from engine.domain.usage import OperatorOff, UsageStats


@dataclass(frozen=True, slots=True)
class PatchSession:
    """Set `fields` (Session field -> value) of one session; None values remove. With `expect` only if each of those fields still
    holds the given value, else nothing is written and the change reports False (`not_applied`)."""

    session: SessionKey
    fields: Mapping[str, object]
    expect: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class DropSession:
    session: SessionKey


@dataclass(frozen=True, slots=True)
class PatchUsage:
    """Set fields of one profile's record (UsageStats field -> value, plain values only). `model_cooldowns`, `failure_counts` and
    `disabled_counts` are maps of which only the named keys change: key -> value, None removes the key."""

    agent: AgentId
    profile: ProfileId
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class PutCredential:
    """Store a credential. expect: the exact stored one it replaces (compare-and-set, `oauth.refresh-once`), or None for any."""

    agent: AgentId
    profile: ProfileId
    credential: Credential
    expect: Credential | None = None


@dataclass(frozen=True, slots=True)
class RemoveCredential:
    """Removes the credential and its usage record."""

    agent: AgentId
    profile: ProfileId


@dataclass(frozen=True, slots=True)
class PutOrder:
    """An operator's stored order; None removes it."""

    agent: AgentId
    provider: str
    profiles: tuple[ProfileId, ...] | None


@dataclass(frozen=True, slots=True)
class PutOff:
    """off None: back in service."""

    target: str
    off: OperatorOff | None


@dataclass(frozen=True, slots=True)
class PutAnswer:
    """Who made the answer that upstream keeps under this id; None forgets it."""

    id: str
    answer: StoredAnswer | None


@dataclass(frozen=True, slots=True)
class ClaimLease:
    """The lease is the holder's until then, unless another turn holds it and it has not ended by `now` (epoch ms, wall clock): then the
    change reports False. Claimed again by its holder it is renewed."""

    lease: Lease
    now: int


@dataclass(frozen=True, slots=True)
class DropLease:
    """The trial is over. Somebody else's lease stays."""

    trial: Trial
    holder: TurnId


@dataclass(frozen=True, slots=True)
class AppendDecision:
    """record: the JSON of `log.record`, masked."""

    record: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class AppendFeed:
    """record: a FeedEntry as JSON (or an audit record when kind is `operator_act`), masked."""

    record: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class AppendAudit:
    """Who did what, when, before and after: `{act, by, at, before, after, ok, message}`."""

    record: Mapping[str, object]


Change = (
    PatchSession
    | DropSession
    | PatchUsage
    | PutCredential
    | RemoveCredential
    | PutOrder
    | PutOff
    | PutAnswer
    | ClaimLease
    | DropLease
    | AppendDecision
    | AppendFeed
    | AppendAudit
)


@dataclass(frozen=True, slots=True)
class StoredAgent:
    """One agent's file, whole. Orders of dicts are the insertion order of the stored profiles."""

    credentials: Mapping[ProfileId, Credential] = field(default_factory=dict)
    usage: Mapping[ProfileId, UsageStats] = field(default_factory=dict)
    order: Mapping[str, tuple[ProfileId, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stored:
    """Everything that decisions need. notes: what was repaired, moved aside or refused while reading, for the start-up summary."""

    agents: Mapping[AgentId, StoredAgent]
    sessions: Mapping[SessionKey, Session]
    off: Mapping[str, OperatorOff]
    notes: tuple[str, ...] = ()
    feed: tuple[Mapping[str, object], ...] = ()
    answers: Mapping[str, StoredAnswer] = field(default_factory=dict)
    leases: tuple[Lease, ...] = ()


class StateStore(Protocol):
    """Errors: StoreError on a file of a newer version or a directory that cannot be used. A write that fails (disk full, read-only)
    raises StoreError from `commit`; for `enqueue` it is kept, tried again, and reported through `trouble`."""

    async def open(self) -> Stored: ...

    async def close(self) -> None:
        """Flushes what was enqueued, then closes every connection."""
        ...

    async def commit(self, changes: Sequence[Change]) -> Sequence[bool]:
        """Durable when it returns; also everything enqueued before. One answer per change: False = `not_applied`.
        Changes to one file are one immediate transaction."""
        ...

    def enqueue(self, changes: Sequence[Change]) -> None:
        """Written within 100 ms, in order. Never blocks, never raises."""
        ...

    async def foreign(self) -> Stored | None:
        """The state as stored, if another process wrote since the last look (`PRAGMA data_version`); None otherwise."""
        ...

    @property
    def trouble(self) -> str | None:
        """What is wrong with the store right now (disk full, read-only, locked), None when all is well."""
        ...

    async def decisions(
        self, *, session: str | None = None, turn: str | None = None, limit: int = 100, matching: Matching = EVERY
    ) -> Sequence[Mapping[str, object]]:
        """Newest first."""
        ...
