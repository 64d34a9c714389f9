"""A session's record (spec 1.3). The eight selection fields and the notice state belong to the fallback runner."""

from __future__ import annotations

from dataclasses import dataclass, fields

from engine.domain.ids import ModelRef, ProfileId


@dataclass(frozen=True, slots=True)
class Session:
    """One session. Times are epoch ms. None = absent. `pending_notice` is a cleared notice not yet delivered."""

    provider_override: str | None = None
    model_override: str | None = None
    model_override_source: str | None = None
    auth_profile_override: ProfileId | None = None
    auth_profile_override_source: str | None = None
    auth_profile_override_compaction_count: int | None = None
    model_override_fallback_origin_provider: str | None = None
    model_override_fallback_origin_model: str | None = None
    pinned_by: str | None = None
    pin_reason: str | None = None
    pin_until: int | None = None
    session_id: str | None = None
    compaction_count: int = 0
    updated_at: int | None = None
    live_model_switch_pending: bool = False
    fallback_notice_selected_model: str | None = None
    fallback_notice_active_model: str | None = None
    fallback_notice_reason: str | None = None
    fallback_notice_since: int | None = None
    pending_notice: str | None = None
    agent: str | None = None

    @property
    def override(self) -> ModelRef | None:
        """The overriding pair, None unless both halves are there (`selection.half-entry`)."""
        if self.provider_override and self.model_override:
            return ModelRef(self.provider_override, self.model_override)
        return None

    @property
    def origin(self) -> ModelRef | None:
        """The primary that an auto override came from, None unless both halves are there."""
        if self.model_override_fallback_origin_provider and self.model_override_fallback_origin_model:
            return ModelRef(self.model_override_fallback_origin_provider, self.model_override_fallback_origin_model)
        return None


OWNED_FIELDS = (
    "provider_override",
    "model_override",
    "model_override_source",
    "auth_profile_override",
    "auth_profile_override_source",
    "auth_profile_override_compaction_count",
    "model_override_fallback_origin_provider",
    "model_override_fallback_origin_model",
)
"""The eight fields that `override.persist-first` writes and `override.rollback` compares (spec 1.3)."""

NOTICE_FIELDS = (
    "fallback_notice_selected_model",
    "fallback_notice_active_model",
    "fallback_notice_reason",
    "fallback_notice_since",
)

SESSION_FIELDS = tuple(f.name for f in fields(Session))
NEW_SESSION = Session()
