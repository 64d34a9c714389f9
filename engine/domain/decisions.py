"""The decision log's records (spec section 12, `log.record`): every decision carries the slug of the rule that made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from engine.domain.naming import camel


@dataclass(frozen=True, slots=True)
class Decision:
    """One record; the JSON names are the camelCase of the fields. at: epoch ms. attempt: 1-based place in the chain.
    until: when the window that explains a skip ends, epoch ms. count: how many identical records this one stands for."""

    at: int
    turn: str
    session: str
    decision: str
    rule: str | None
    requested_provider: str
    requested_model: str
    agent: str | None = None
    candidate_provider: str | None = None
    candidate_model: str | None = None
    profile: str | None = None
    attempt: int | None = None
    total: int | None = None
    reason: str | None = None
    status: int | None = None
    code: str | None = None
    error: str | None = None
    next_candidate_provider: str | None = None
    next_candidate_model: str | None = None
    is_primary: bool | None = None
    fallback_configured: bool | None = None
    config_generation: int | None = None
    upstream_calls: int | None = None
    outcome: str | None = None
    until: int | None = None
    detail: str | None = None
    count: int | None = None
    fallback_step_from_model: str | None = None
    fallback_step_to_model: str | None = None
    fallback_step_from_failure_reason: str | None = None
    fallback_step_from_failure_detail: str | None = None
    fallback_step_final_outcome: str | None = None

    def to_json(self) -> dict[str, object]:
        """The record as spec section 12 names it; absent fields are left out."""
        record: dict[str, object] = {"event": "model_fallback_decision"}
        for name, shown in _FIELDS:
            value = getattr(self, name)
            if value is not None:
                record[shown] = value
        return record


_FIELDS = tuple((f.name, camel(f.name)) for f in fields(Decision))


@dataclass(frozen=True, slots=True)
class Matching:
    """Which records are meant, besides their session and turn. provider: of the candidate. since: inclusive, until: exclusive, epoch ms."""

    provider: str | None = None
    reason: str | None = None
    since: int | None = None
    until: int | None = None

    def admits(self, record: Mapping[str, object]) -> bool:
        """record: as JSON."""
        at = record.get("at")
        return (
            self.provider in (None, record.get("candidateProvider"))
            and self.reason in (None, record.get("reason"))
            and (self.since is None or (isinstance(at, int) and at >= self.since))
            and (self.until is None or (isinstance(at, int) and at < self.until))
        )


EVERY = Matching()

FOREIGN = ("session", "code", "error", "detail", "fallbackStepFromFailureDetail")
"""What a caller or a provider wrote, by JSON name: the members that may quote a secret. The others are our words and configured names."""
