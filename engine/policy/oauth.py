"""Spec section 11: when a login is refreshed. The refresh itself is I/O and belongs to `engine.live`."""

from __future__ import annotations

import math

from engine.domain.credentials import Credential, OAuth

REFRESH_BEFORE_MS = 5 * 60_000


def _expires(credential: OAuth) -> float | None:
    value = credential.expires
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def must_refresh(credential: Credential | None, now: int) -> bool:
    """`oauth.refresh-once`: refreshed when `expires - now` <= 5 min or absent, if there is a refresh token. now: epoch ms."""
    if not isinstance(credential, OAuth) or not credential.refresh:
        return False
    expires = _expires(credential)
    return expires is None or expires - now <= REFRESH_BEFORE_MS or not credential.access


def still_valid(credential: Credential | None, now: int) -> bool:
    """A refresh that fails while the token is still valid does not matter yet: the token is used."""
    if not isinstance(credential, OAuth) or not credential.access:
        return False
    expires = _expires(credential)
    return expires is not None and expires > now


def is_dead(credential: Credential, now: int) -> bool:
    """`rotate.dead-secret`: an expired login that cannot be refreshed."""
    return (
        isinstance(credential, OAuth)
        and not credential.refresh
        and (not credential.access or ((expires := _expires(credential)) is not None and expires <= now))
    )
