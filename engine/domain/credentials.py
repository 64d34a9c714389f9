"""Credentials ("auth profiles"), spec 1.1. Secrets never appear in a repr; the raw values are read in three places only:
the provider call, the token refresh and the redaction sink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.domain.ids import ProfileId

ProfileType = Literal["oauth", "token", "api_key"]


@dataclass(frozen=True, slots=True)
class ApiKey:
    """`key` is the secret itself, or empty when `key_ref` names where it lies (`env:NAME`, `file:PATH`, `keyring:SERVICE/NAME`)."""

    provider: str
    key: str = field(default="", repr=False)
    key_ref: str | None = None
    type: Literal["api_key"] = "api_key"


@dataclass(frozen=True, slots=True)
class Token:
    """A static bearer; never refreshed. expires: epoch ms, or None for no expiry; a stored value that is not a finite
    positive number is kept as it came, so that selection can say `invalid_expires`."""

    provider: str
    token: str = field(default="", repr=False)
    expires: object = None
    key_ref: str | None = None
    type: Literal["token"] = "token"


@dataclass(frozen=True, slots=True)
class OAuth:
    """expires: epoch ms or None (unknown: refreshed before use). Other fields of the login are kept in `extra`."""

    provider: str
    access: str = field(default="", repr=False)
    refresh: str = field(default="", repr=False)
    expires: object = None
    email: str | None = None
    account_id: str | None = None
    project_id: str | None = None
    enterprise_url: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict, repr=False)
    type: Literal["oauth"] = "oauth"


Credential = ApiKey | Token | OAuth
Credentials = Mapping[ProfileId, Credential]


def secrets_of(credential: Credential) -> tuple[str, ...]:
    """Every secret string that this credential holds, for the redaction sink."""
    found: tuple[str, ...]
    match credential:
        case ApiKey():
            found = (credential.key,)
        case Token():
            found = (credential.token,)
        case OAuth():
            found = (credential.access, credential.refresh)
    return tuple(s for s in found if s)
