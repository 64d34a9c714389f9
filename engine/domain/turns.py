"""One request of a session: what was asked (`TurnRequest`) and what became of it (`TurnResult`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from engine.domain.decisions import Decision
from engine.domain.ids import MAIN_AGENT, AgentId, ModelRef, ProfileId, SessionKey, TurnId


class RunKind(StrEnum):
    CHAT = "chat"
    HEARTBEAT = "heartbeat"
    CRON = "cron"


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """What a turn was asked to do (spec section 2).

    agent: whose configuration counts (None: the defaults). one_off: a model for this run only. requested: a model that a
    gateway request names. cron_model: the payload's model. fallbacks: the turn's own list; None = inherit, () = strict.
    budget_ms: total budget, replaces the configured one. inexpressible: candidates whose dialect cannot express the request.
    held_by: the (ref, profile) that holds the stored state this request continues; other candidates are dialect-unsupported.
    held_somewhere: it continues stored state of which nobody knows whose it is: the first candidate's first profile only.
    continues: the ids of that state.
    """

    turn: TurnId
    session: SessionKey
    kind: RunKind = RunKind.CHAT
    agent: AgentId | None = None
    image: bool = False
    side_effect_only: bool = False
    budget_ms: int | None = None
    one_off: ModelRef | None = None
    requested: ModelRef | None = None
    cron_model: ModelRef | None = None
    fallbacks: tuple[ModelRef, ...] | None = None
    per_run: bool = False
    silent: bool = False
    inexpressible: frozenset[ModelRef] = frozenset()
    held_by: tuple[ModelRef, ProfileId | None] | None = None
    held_somewhere: bool = False
    continues: tuple[str, ...] = ()

    @property
    def owner(self) -> AgentId:
        """The agent whose profiles the turn sees (spec/store.md: a turn without an agent is `main`'s)."""
        return self.agent or MAIN_AGENT


class AttemptOutcome(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ABORTED = "aborted"
    KILLED = "killed"


class CandidateOutcome(StrEnum):
    """`walk.one-outcome`: exactly one for every candidate of the chain."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    REDIRECTED = "redirected"
    NOT_REACHED = "not_reached"


class TurnOutcome(StrEnum):
    OK = "ok"
    FAILED = "failed"
    ABORTED = "aborted"
    PARTIAL = "partial"
    KILLED = "killed"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One upstream attempt. at_ms: since the turn began. reason, status, code, error: of a failure. ms: how long it took."""

    ref: ModelRef
    profile: ProfileId | None
    outcome: AttemptOutcome
    at_ms: int
    reason: str | None = None
    status: int | None = None
    code: str | None = None
    error: str | None = None
    rule: str | None = None
    ms: int | None = None


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """rule: the gate or pin rule that admitted or skipped it; reason: on a skip."""

    ref: ModelRef
    outcome: CandidateOutcome
    rule: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FailureEntry:
    """One element of a failure's `attempts[]` (spec 8.1): an attempt or a skip."""

    provider: str
    model: str
    profile: ProfileId | None
    reason: str
    status: int | None
    code: str | None
    error: str | None
    skipped: bool
    rule: str | None


@dataclass(frozen=True, slots=True)
class TurnError:
    """type: FallbackSummaryError, AttemptError, BudgetExceeded, Aborted or Partial. text: for a reader (spec 8.1).
    soonest_cooldown_expiry: epoch ms or None."""

    type: str
    message: str
    reason: str | None
    soonest_cooldown_expiry: int | None
    text: str
    attempts: tuple[FailureEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What a turn came to; spec/scenarios.md gives the JSON shape."""

    turn: TurnId
    session: SessionKey
    outcome: TurnOutcome
    selected: ModelRef
    active: ModelRef | None
    profile: ProfileId | None
    selection: str
    chain: tuple[ModelRef, ...]
    attempts: tuple[Attempt, ...]
    candidates: tuple[CandidateResult, ...]
    notices: tuple[str, ...]
    error: TurnError | None
    decisions: tuple[Decision, ...]
    upstream_calls: int
    last_headers: Mapping[str, str] = field(default_factory=dict)
    last_body: str | None = None
    last_failure_ref: ModelRef | None = None
