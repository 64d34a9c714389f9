"""Spec 4.2: what a session's stored profile means for a candidate. A user pin is strict, an auto pin a preference."""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.ids import ProfileId, provider_of
from engine.domain.sessions import Session
from engine.policy.world import World

PIN_FIELDS = ("auth_profile_override", "auth_profile_override_source", "auth_profile_override_compaction_count")
USER_PIN_FIELDS = ("pinned_by", "pin_reason", "pin_until")


def pin_is_user(session: Session, now: int | None = None) -> bool:
    """`pin.compaction`: a pin without a source is auto if a compaction count is stored, else user. An expired user pin is none."""
    if session.auth_profile_override is None:
        return False
    if session.auth_profile_override_source is None:
        user = session.auth_profile_override_compaction_count is None
    else:
        user = session.auth_profile_override_source == "user"
    return user and not (now is not None and session.pin_until is not None and session.pin_until <= now)


def pin_is_auto(session: Session) -> bool:
    return session.auth_profile_override is not None and not pin_is_user(session)


def auto_pin_fields(session: Session) -> tuple[str, ...]:
    return tuple(name for name in PIN_FIELDS if getattr(session, name) is not None)


def unpin_fields(session: Session) -> dict[str, object]:
    """The fields that remove a pin of either source."""
    return {name: None for name in (*PIN_FIELDS, *USER_PIN_FIELDS) if getattr(session, name) is not None}


@dataclass(frozen=True, slots=True)
class PinView:
    """What the pin says to one candidate. user: the only profile allowed. missing: a user pin whose profile is gone.
    preferred: an auto pin to try first; rechoose: a compaction came since, so the pin is chosen anew."""

    user: ProfileId | None = None
    missing: bool = False
    preferred: ProfileId | None = None


NO_PIN = PinView()


def pin_for(provider: str, world: World) -> PinView:
    """The session's pin as a candidate of `provider` sees it; candidates of other providers ignore it."""
    session = world.session
    profile = session.auth_profile_override
    if profile is None:
        return NO_PIN
    credential = world.credentials.get(profile)
    owner = credential.provider.lower() if credential is not None else provider_of(profile)
    if owner != provider:
        return NO_PIN
    if pin_is_user(session):
        if session.pin_until is not None and session.pin_until <= world.now:
            return NO_PIN
        return PinView(user=profile, missing=credential is None)
    if credential is None:
        return NO_PIN
    if (session.auth_profile_override_compaction_count or 0) != session.compaction_count:
        return NO_PIN
    return PinView(preferred=profile)
