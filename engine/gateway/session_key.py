"""Which session a request belongs to (spec/gateway.md). Pure but for the salt of this process. What a session holds is the engine's."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.domain.ids import ModelRef, SessionKey
from engine.gateway.reply import Refused

HEADERS = (
    "x-failover-session",
    "x-claude-code-session-id",
    # Codex
    "session_id",
    "session-id",
    "conversation_id",
    "thread-id",
    # others
    "x-session-id",
    "x-session-affinity",
)
"""The first that is there counts."""

ID_LIMIT = 200
DERIVED = "derived:"
_SALT = os.urandom(16)
"""A derived session lives as long as the process, so its key need not mean anything after it, and a credential in it cannot be guessed."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """caller: of a derived session, the name under which the console shows one row; such a session lives in memory only."""

    key: SessionKey
    caller: str | None = None

    def of_model(self, ref: ModelRef | None) -> SessionKey:
        """A model that a request names has a record of its own under the session."""
        return self.key if ref is None else SessionKey(f"{self.key}#{ref}")


def conversation_of(
    headers: Mapping[str, str], body_ids: Iterable[str], first_user_message: object, client: str, continued: SessionKey | None = None
) -> Conversation:
    """body_ids: the dialect's, in their order. client: the caller's address. continued: the session of the answer that the request goes
    on from (`previous_response_id`); only a header names another. Raises Refused 400 for an id in a header that cannot be a
    key."""
    key = _from_headers(headers)
    if key is None and continued is not None and not continued.startswith(DERIVED):
        key = continued
    if key is None and continued is None:
        key = next((_bounded(found) for found in body_ids if found.strip()), None)
    if key is not None:
        return Conversation(SessionKey(key))
    credential = headers.get("authorization") or headers.get("x-api-key") or headers.get("api-key") or ""
    agent = headers.get("user-agent", "")
    caller = _digest(f"{client}\n{agent}\n{credential}")
    product = "".join(c for c in agent.split(" ")[0][:40] if c.isascii() and c.isprintable()) or "unnamed"
    derived = continued or SessionKey(f"{DERIVED}{caller}:{_digest(_text(first_user_message))}")
    return Conversation(derived, f"{product} at {client} ({caller[:6]})")


def _from_headers(headers: Mapping[str, str]) -> str | None:
    for name in HEADERS:
        value = headers.get(name)
        if value is None:
            continue
        value = _utf8(value).strip()
        if not value:
            continue
        if len(value) > ID_LIMIT or not value.isprintable() or value.startswith(DERIVED):
            rule = f"at most {ID_LIMIT} printable characters, not beginning with {DERIVED!r}"
            raise Refused(400, "invalid_session_id", f"The session id in {name} must be {rule}. Send another id.")
        return value
    return None


def _bounded(found: str) -> str:
    found = found.strip()
    if len(found) <= ID_LIMIT and found.isprintable() and not found.startswith(DERIVED):
        return found
    return "sha256:" + hashlib.sha256(found.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6, key=_SALT).hexdigest()


def _text(message: object) -> str:
    return message if isinstance(message, str) else json.dumps(message)


def _utf8(value: str) -> str:
    # ASGI gives bytes; they were read as latin-1.
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
