"""What the console sees: immutable views with a revision (design.md, "One snapshot, one direction"). All times are epoch ms of
the engine's clock; nothing here holds a secret. The operator API carries exactly these shapes as JSON (snake_case)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from engine.domain.ids import ProfileId, SessionKey


class ProfileState(StrEnum):
    """The state words of the console: a contract. EXPIRED with `detail` "refreshable" is still used."""

    READY = "ready"
    COOLDOWN = "cooldown"
    DISABLED = "disabled"
    BLOCKED = "blocked"
    EXPIRED = "expired"
    MISSING = "missing"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class WindowView:
    """One active window. state: cooldown, disabled or blocked. since: when it opened, if known. model None: the whole profile.
    step: 1-based step of its ladder."""

    state: ProfileState
    until: int
    reason: str
    model: str | None = None
    since: int | None = None
    step: int = 0


@dataclass(frozen=True, slots=True)
class ProfileView:
    """One profile. `window` is the one that ends last of the most severe kind, the one a table shows; `windows` are all."""

    profile: ProfileId
    provider: str
    type: str
    state: ProfileState
    window: WindowView | None = None
    windows: tuple[WindowView, ...] = ()
    detail: str | None = None
    error_count: int = 0
    last_used: int | None = None
    last_failure_at: int | None = None
    used_by: tuple[SessionKey, ...] = ()
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn in flight. committed: content has gone out, it can no longer fail over."""

    turn: str
    started_at: int
    ref: str | None
    profile: ProfileId | None
    attempts: int
    committed: bool


@dataclass(frozen=True, slots=True)
class SessionView:
    """One session record. source: default, auto, user, legacy, cron or heartbeat. selected differs from active on a fallback.
    on_fallback: an auto override or a notice state is held. derived: lives in memory only and takes no user pin."""

    key: SessionKey
    agent: str | None
    selected: str
    active: str
    source: str
    profile: ProfileId | None = None
    pin_source: str | None = None
    pinned_by: str | None = None
    pin_reason: str | None = None
    pin_until: int | None = None
    on_fallback: bool = False
    reason: str | None = None
    since: int | None = None
    last_outcome: str | None = None
    last_activity: int | None = None
    in_flight: tuple[TurnView, ...] = ()
    strict: bool = False
    derived: bool = False


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One line of the notice feed. seq grows by one. severity: info, notice, warning or error."""

    seq: int
    at: int
    severity: str
    kind: str
    text: str
    session: SessionKey | None = None
    provider: str | None = None
    profile: ProfileId | None = None
    turn: str | None = None


@dataclass(frozen=True, slots=True)
class Traffic:
    """Of the last minute. p50_ms: of answered turns. ok_share: 0..1, None without turns. errors: failed turns."""

    requests_per_s: float = 0.0
    p50_ms: float | None = None
    ok_share: float | None = None
    errors: int = 0
    in_flight: int = 0
    turns_total: int = 0


@dataclass(frozen=True, slots=True)
class OffView:
    """What an operator took out of service: a profile id, a provider or `provider/model`."""

    target: str
    since: int
    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class OrderView:
    """The order in which a provider's profiles are tried, before windows are looked at. rule: where it comes from (`order.stored`: an
    operator set it). Of the agent `main`."""

    provider: str
    rule: str
    profiles: tuple[ProfileId, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything the live screen shows, at one instant. mode: LIVE or DEMO. speed: of policy time (demo)."""

    revision: int
    now: int
    mode: str
    address: str
    version: str
    read_only: bool
    config_generation: int
    sessions: tuple[SessionView, ...]
    profiles: tuple[ProfileView, ...]
    feed: tuple[FeedEntry, ...]
    traffic: Traffic
    alarms: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    draining: bool = False
    speed: float = 1.0
    models: tuple[str, ...] = ()
    undo: tuple[str, str] | None = None
    off: tuple[OffView, ...] = ()
    orders: tuple[OrderView, ...] = ()


@dataclass(frozen=True, slots=True)
class ProfileVerdict:
    """A profile under a candidate of the preview. usable: it would be tried now. rule: why (order, pin or window slug)."""

    profile: ProfileId
    state: ProfileState
    usable: bool
    rule: str
    until: int | None = None
    reason: str | None = None
    step: int = 0
    model: str | None = None
    pin: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class CandidatePreview:
    """verdict: `next`, `ready`, `probe` or `skip`. rule: the gate's slug. role: `origin, last resort`, `primary probe`, ..."""

    ref: str
    verdict: str
    rule: str
    reason: str | None = None
    until: int | None = None
    role: str | None = None
    profiles: tuple[ProfileVerdict, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """What the session's next turn would do, by the policy code, without a call. next_ref None: every candidate would be skipped.
    primary_probe_at: when the primary is next tried on the way (`override.probe`), epoch ms, None when not on a fallback."""

    session: SessionKey
    selection: str
    selected: str
    chain: tuple[CandidatePreview, ...]
    next_ref: str | None
    next_profile: ProfileId | None
    primary_probe_at: int | None = None
    sticky_since: int | None = None
    strict: bool = False
    notes: tuple[str, ...] = field(default=())
