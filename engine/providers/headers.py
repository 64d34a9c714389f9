"""Which headers pass through: those of a caller up to a provider, those of a provider down to a caller. Two short lists of rules, because
each is a border for secrets. Adds no header of our own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

# fmt: off
_NEVER_UP = frozenset(
    {
        "host", "content-length", "content-type", "accept", "accept-encoding", "connection", "keep-alive",
        "proxy-connection", "http2-settings", "te", "trailer", "transfer-encoding", "upgrade", "expect", "forwarded", "via", "origin",
        "referer", "range", "from", "date", "max-forwards", "cache-control", "pragma", "priority", "x-real-ip",
        # Account ids belong to the caller's credential, and the profile's is another one.
        "openai-organization", "openai-project",
    }
)
# fmt: on
_NEVER_UP_BEGINNINGS = ("x-failover-", "x-forwarded-", "proxy-", "sec-", "access-control-", "if-", "cf-", "x-amz-", "x-goog-")
_SECRET_WORD = re.compile(
    r"(?:^|[-_])(?:(?:api)?(?:keys?|tokens?)|auth|authorization|authentication|secrets?|cookies?2?|passw\w*|credentials?|signature|jwt)(?:$|[-_])"
)
_HARMLESS = frozenset({"idempotency-key"})

_DOWN = re.compile(r"(?:x-|anthropic-)?ratelimit-.+|x-ratelimit|(?:x-)?request-id|retry-after(?:-ms)?|openai-processing-ms|openai-version")


@lru_cache(maxsize=1024)
def goes_up(name: str) -> bool:
    """True for a caller's header (lower-case) that a provider may see: never one that may hold a credential of the caller, never one that
    concerns only the connection between the caller and us."""
    if name in _HARMLESS:
        return True
    return name not in _NEVER_UP and not name.startswith(_NEVER_UP_BEGINNINGS) and not _SECRET_WORD.search(name)


@lru_cache(maxsize=1024)
def comes_down(name: str) -> bool:
    """True for a provider's header (lower-case) that its caller may see (spec/gateway.md, "What comes back")."""
    return _DOWN.fullmatch(name) is not None


def lowered(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Raw headers as text with lower-case names; of a repeated one the last counts."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw}


def passed_down(headers: Mapping[str, str]) -> dict[str, str]:
    """Of a provider's headers those that its caller may see."""
    return {name: value for name, value in headers.items() if comes_down(name)}
