"""`usageStats[profileId]` (spec 1.2): the windows, counters and steps of one profile. Ended windows stay in the record until a
success, a clear or the next failure: they say that a trial is due (`gate.single-flight`). Exports leave them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.domain.ids import ProfileId


@dataclass(frozen=True, slots=True)
class ModelCooldown:
    """A cooldown of one model on one profile. until: epoch ms. error_count: this model's own step."""

    until: int
    reason: str
    error_count: int = 0


@dataclass(frozen=True, slots=True)
class UsageStats:
    """Times are epoch ms. `cooldown_*` is the whole-profile cooldown (no `cooldown_model`) or, in an older record without
    `model_cooldowns`, the only one it knew. `model_cooldowns` holds every model-scoped one."""

    last_used: int | None = None
    cooldown_until: int | None = None
    cooldown_reason: str | None = None
    cooldown_model: str | None = None
    disabled_until: int | None = None
    disabled_reason: str | None = None
    blocked_until: int | None = None
    blocked_reason: str | None = None
    blocked_source: str | None = None
    error_count: int = 0
    failure_counts: Mapping[str, int] = field(default_factory=dict)
    last_failure_at: int | None = None
    model_cooldowns: Mapping[str, ModelCooldown] = field(default_factory=dict)
    disabled_counts: Mapping[str, int] | None = None


NEVER_USED = UsageStats()
Usage = Mapping[ProfileId, UsageStats]


@dataclass(frozen=True, slots=True)
class OperatorOff:
    """What an operator took out of service: a profile id, a provider or a ref (spec 1.2 `operatorOff`). since: epoch ms."""

    target: str
    since: int
    by: str
    reason: str | None = None
