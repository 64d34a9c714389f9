"""Records as the JSON that the spec names (1.2, 1.3, scenarios.md): one place for `simulate`, events, status and exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from engine.domain.naming import camel
from engine.domain.sessions import SESSION_FIELDS, Session
from engine.domain.turns import Attempt, CandidateResult, TurnError, TurnResult
from engine.domain.usage import ModelCooldown, UsageStats

_USAGE_FIELDS = tuple(f.name for f in fields(UsageStats))


def usage_json(usage: UsageStats, now: int) -> dict[str, object]:
    """`usageStats[profileId]` with the names of spec 1.2; ended windows are left out. The top-level `cooldown*` fields show the
    whole-profile cooldown if one is active, else the latest model-scoped one."""
    shown: dict[str, object] = {}
    for name in ("last_used", "last_failure_at"):
        _put(shown, name, getattr(usage, name))
    if usage.error_count:
        shown["errorCount"] = usage.error_count
    for name in ("failure_counts", "disabled_counts"):
        if getattr(usage, name):
            shown[camel(name)] = dict(getattr(usage, name))
    scoped = {model: c for model, c in usage.model_cooldowns.items() if c.until > now}
    if usage.cooldown_until and usage.cooldown_until > now:
        shown["cooldownUntil"], shown["cooldownReason"] = usage.cooldown_until, usage.cooldown_reason
    elif scoped:
        model = next(reversed(scoped))
        shown.update(cooldownUntil=scoped[model].until, cooldownReason=scoped[model].reason, cooldownModel=model)
    if scoped:
        shown["modelCooldowns"] = {m: {"until": c.until, "reason": c.reason, "errorCount": c.error_count} for m, c in scoped.items()}
    if usage.disabled_until and usage.disabled_until > now:
        shown["disabledUntil"], shown["disabledReason"] = usage.disabled_until, usage.disabled_reason
    if usage.blocked_until and usage.blocked_until > now:
        shown["blockedUntil"], shown["blockedReason"] = usage.blocked_until, usage.blocked_reason
        _put(shown, "blocked_source", usage.blocked_source)
    return shown


def usage_from_json(data: Mapping[str, object]) -> UsageStats:
    """The inverse, for stored and scripted records; unknown names are ignored. Raises ValueError on a value of the wrong kind."""
    values: dict[str, Any] = {}
    for name in _USAGE_FIELDS:
        value = data.get(camel(name))
        if value is None:
            continue
        if name == "model_cooldowns":
            value = {str(model): _scoped(entry) for model, entry in _mapping(name, value).items()}
        elif name in ("failure_counts", "disabled_counts"):
            value = {str(reason): int(str(n)) for reason, n in _mapping(name, value).items()}
        elif name.endswith(("_until", "_at", "_used", "_count")):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"{camel(name)}: a number is expected")
            value = int(value)
        else:
            value = str(value)
        values[name] = value
    return UsageStats(**values)


def session_json(session: Session) -> dict[str, object]:
    """The session's record with the names of spec 1.3; absent fields are left out."""
    shown: dict[str, object] = {}
    for name in SESSION_FIELDS:
        value = getattr(session, name)
        if value is not None and value is not False:
            shown[camel(name)] = value
    return shown


def session_from_json(data: Mapping[str, object]) -> Session:
    """The inverse; unknown names are ignored, null is absent."""
    values: dict[str, Any] = {name: data[camel(name)] for name in SESSION_FIELDS if data.get(camel(name)) is not None}
    return Session(**values)


def turn_json(result: TurnResult, *, decisions: bool = True) -> dict[str, object]:
    """A turn as spec/scenarios.md shows it."""
    shown: dict[str, object] = {
        "session": result.session,
        "outcome": str(result.outcome),
        "selected": str(result.selected),
        "active": str(result.active) if result.active is not None else None,
        "profile": result.profile,
        "selection": result.selection,
        "chain": [str(ref) for ref in result.chain],
        "attempts": [_attempt(a) for a in result.attempts],
        "candidates": [_candidate(c) for c in result.candidates],
        "notices": list(result.notices),
        "error": _error(result.error) if result.error is not None else None,
        "upstream_calls": result.upstream_calls,
    }
    if decisions:
        shown["decisions"] = [d.to_json() for d in result.decisions]
    return shown


def _attempt(attempt: Attempt) -> dict[str, object]:
    shown: dict[str, object] = {"ref": str(attempt.ref)}
    _put(shown, "profile", attempt.profile)
    shown["outcome"] = str(attempt.outcome)
    for name in ("reason", "status", "code", "error", "rule"):
        _put(shown, name, getattr(attempt, name))
    shown["at_ms"] = attempt.at_ms
    _put(shown, "ms", attempt.ms)
    return shown


def _candidate(candidate: CandidateResult) -> dict[str, object]:
    shown: dict[str, object] = {"ref": str(candidate.ref), "outcome": str(candidate.outcome)}
    _put(shown, "rule", candidate.rule)
    _put(shown, "reason", candidate.reason)
    return shown


def _error(error: TurnError) -> dict[str, object]:
    return {
        "type": error.type,
        "message": error.message,
        "reason": error.reason,
        "soonestCooldownExpiry": error.soonest_cooldown_expiry,
        "text": error.text,
        "attempts": [{f.name: getattr(entry, f.name) for f in fields(entry)} for entry in error.attempts],
    }


def _put(shown: dict[str, object], name: str, value: object) -> None:
    if value is not None:
        shown[camel(name)] = value


def _mapping(name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{camel(name)}: an object is expected")
    return value


def _scoped(entry: object) -> ModelCooldown:
    data = _mapping("modelCooldowns", entry)
    return ModelCooldown(int(str(data.get("until") or 0)), str(data.get("reason") or "unknown"), int(str(data.get("errorCount") or 0)))
