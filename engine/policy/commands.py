"""What the walk asks for and what it is told: the border between the rules and whoever drives them (`engine.live`, `engine.simulation`).

Two kinds. *Effects* touch memory only: the driver applies each at once, before it awaits anything, and resumes the walk with `Done`.
*Waits* take time: the driver performs them and resumes with one of the listed outcomes. Every resumption brings a fresh `World`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.domain.decisions import Decision
from engine.domain.failure import Failure
from engine.domain.ids import ModelRef, ProfileId
from engine.domain.usage import UsageStats

# --- effects ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StampUsed:
    """`lastUsed` = now, when the attempt starts (spec 4.1, decided)."""

    profile: ProfileId


@dataclass(frozen=True, slots=True)
class MarkPrimary:
    """The session attempted its primary as first candidate (`override.probe`)."""

    ref: ModelRef


@dataclass(frozen=True, slots=True)
class MarkThrottle:
    """The provider's cooldown probe starts now. sibling: a sibling probe of that model, which marks nothing else."""

    provider: str
    sibling: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimTrial:
    """A trial or cooldown probe of (profile, model) is in flight (`gate.single-flight`): Done, or where other processes serve the same
    state, and time passes until they know it, TrialTaken | Cancelled | BudgetOver."""

    profile: ProfileId
    model: str


@dataclass(frozen=True, slots=True)
class ReleaseTrial:
    profile: ProfileId
    model: str


@dataclass(frozen=True, slots=True)
class WriteUsage:
    """The profile's new record. urgent: a window opened, durable before the next candidate's attempt. change: what happened,
    for events: `window_opened`, `window_closed` or None."""

    profile: ProfileId
    usage: UsageStats
    urgent: bool = False
    ref: ModelRef | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class WriteSession:
    """Set session fields, at once in memory. durable: before the answer's first byte (content) or before the act is confirmed."""

    fields: Mapping[str, object]
    durable: bool = False
    note: str | None = None


@dataclass(frozen=True, slots=True)
class RememberSkip:
    """Section 10: skip (sessionId, ref) until that time (epoch ms)."""

    ref: ModelRef
    until: int


@dataclass(frozen=True, slots=True)
class CountSkip:
    """`log.coalesce`: an auth skip of this session; at: when the last record of it was made; count: skips not recorded since."""

    ref: ModelRef
    reason: str
    at: int
    count: int


@dataclass(frozen=True, slots=True)
class Log:
    """A decision record, for the log and for `TurnResult.decisions`."""

    decision: Decision


@dataclass(frozen=True, slots=True)
class Announce:
    """A notice with its exact text. kind: `fallback` or `cleared`."""

    text: str
    kind: str
    selected: ModelRef
    active: ModelRef


Effect = (
    StampUsed
    | MarkPrimary
    | MarkThrottle
    | ClaimTrial
    | ReleaseTrial
    | WriteUsage
    | WriteSession
    | RememberSkip
    | CountSkip
    | Log
    | Announce
)

IN_PLACE = (StampUsed, MarkPrimary, Log, Announce)
"""Effects after which the world at hand is as fresh as a new one: they write into what it points at, or into nothing that the rules read,
and no time passes."""


# --- waits -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CallProvider:
    """One attempt: Failed | Content | Cancelled | BudgetOver. profile None: a keyless provider. limit_ms: the attempt may take at most
    this long (budget); cut short: Failed with `caller_fault`. fatal_limit: cut short ends the turn: BudgetOver. Client retries
    (`attempt.retry-after`) happen inside it. number: 1-based over the turn."""

    ref: ModelRef
    profile: ProfileId | None
    number: int
    rule: str
    limit_ms: int | None = None
    fatal_limit: bool = False


@dataclass(frozen=True, slots=True)
class Deliver:
    """Hand the content to the caller: Completed | Broken | Cancelled."""

    ref: ModelRef


@dataclass(frozen=True, slots=True)
class SaveOverride:
    """`override.persist-first`: set the fields in memory at once, then wait until they are durable, at most 1 s: Saved | Cancelled."""

    fields: Mapping[str, object]
    ref: ModelRef


@dataclass(frozen=True, slots=True)
class Sleep:
    """`overloadedBackoffMs`: Slept | Cancelled | BudgetOver."""

    ms: int


@dataclass(frozen=True, slots=True)
class AwaitTrial:
    """Wait until one of these trials in flight ends (`gate.single-flight`): TrialEnded | Cancelled | BudgetOver."""

    trials: tuple[tuple[ProfileId, str], ...]
    limit_ms: int | None = None


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """`oauth.refresh-once`: one refresh in flight per profile, across tasks and processes: Refreshed | RefreshFailed | Cancelled."""

    profile: ProfileId
    force: bool = False


Wait = CallProvider | Deliver | SaveOverride | Sleep | AwaitTrial | RefreshToken
Command = Effect | Wait

# --- outcomes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Done:
    """An effect was applied."""


@dataclass(frozen=True, slots=True)
class TrialTaken:
    """Another process has that trial; the world shows it as in flight."""


@dataclass(frozen=True, slots=True)
class Failed:
    """calls: upstream HTTP calls that this attempt made (client retries included)."""

    failure: Failure
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Content:
    """Usable output has begun (text, tool call, reasoning), or the answer ended. empty: it ended with nothing usable.
    notes: what was left out of the request to put it to this provider."""

    empty: bool = False
    calls: int = 1
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Completed:
    pass


@dataclass(frozen=True, slots=True)
class Broken:
    """The stream broke after content (`attempt.committed`)."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Our caller went away or said stop: never inferred from an exception's text. calls: made before that."""

    calls: int = 0


@dataclass(frozen=True, slots=True)
class BudgetOver:
    """The turn's total budget ended (`attempt.budget`)."""

    calls: int = 0


@dataclass(frozen=True, slots=True)
class Saved:
    """degraded: not durable within 1 s; the turn goes on and an alarm says so."""

    degraded: bool = False


@dataclass(frozen=True, slots=True)
class Slept:
    pass


@dataclass(frozen=True, slots=True)
class TrialEnded:
    pass


@dataclass(frozen=True, slots=True)
class Refreshed:
    pass


@dataclass(frozen=True, slots=True)
class RefreshFailed:
    failure: Failure


Outcome = (
    Done
    | TrialTaken
    | Failed
    | Content
    | Completed
    | Broken
    | Cancelled
    | BudgetOver
    | Saved
    | Slept
    | TrialEnded
    | Refreshed
    | RefreshFailed
)
