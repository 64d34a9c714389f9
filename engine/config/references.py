"""Where a secret lies and how to get it: `env:NAME`, `file:PATH`, `keyring:SERVICE/NAME`.

A reference is configuration, a secret is not: what is read here goes to the provider call and the redaction sink, and is never
put into a message. Failing is ordinary (a variable that is not set), so the answer is a reason and not an exception.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.config.problems import REFERENCE_FORMS
from engine.config.values import is_reference

MAX_SECRET_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Resolved:
    """A secret, or the reason why there is none; exactly one of them is set."""

    secret: str | None = field(default=None, repr=False)
    reason: str | None = None


def resolve(reference: str, env: Mapping[str, str]) -> Resolved:
    """Reads the secret that `reference` names. White space around it is dropped: files and `$(...)` end with a line break."""
    kind, _, place = reference.partition(":")
    if not is_reference(reference):
        return Resolved(reason=f"not a reference: {REFERENCE_FORMS}")
    match kind:
        case "env":
            return _usable(env[place], reference) if place in env else Resolved(reason=f"{reference}: the variable is not set")
        case "file":
            return _from_file(place, reference)
        case _:
            return _from_keyring(place, reference)


def _usable(text: str, reference: str) -> Resolved:
    secret = text.strip()
    if not secret:
        return Resolved(reason=f"{reference}: it is empty")
    if any(ord(char) < 32 or ord(char) == 127 for char in secret):
        # It would break the header that carries it.
        return Resolved(reason=f"{reference}: more than one line, or a control character in it")
    return Resolved(secret)


def _from_file(place: str, reference: str) -> Resolved:
    try:
        with Path(place).expanduser().open("rb") as file:
            raw = file.read(MAX_SECRET_BYTES + 1)
        if len(raw) > MAX_SECRET_BYTES:
            return Resolved(reason=f"{reference}: too long for a secret")
        return _usable(raw.decode("utf-8-sig"), reference)
    except UnicodeDecodeError:
        return Resolved(reason=f"{reference}: not a text file")
    except (OSError, RuntimeError) as error:  # RuntimeError: `~somebody` without a home
        return Resolved(reason=f"{reference}: {getattr(error, 'strerror', None) or error}")


def _from_keyring(place: str, reference: str) -> Resolved:
    service, _, name = place.partition("/")
    try:
        keyring = importlib.import_module("keyring")
    except ImportError:
        return Resolved(reason=f"{reference}: the keyring package is not installed (pip install 'failover-console[keyring]')")
    try:
        secret = keyring.get_password(service, name)
    except Exception as error:  # a backend may raise anything, and none of it may end the app
        return Resolved(reason=f"{reference}: {type(error).__name__} from the keyring")
    return _usable(secret, reference) if isinstance(secret, str) else Resolved(reason=f"{reference}: the keyring has no such entry")
