"""Single values of the configuration that need a look inside: addresses and references to secrets. Nothing in here reads a secret."""

from __future__ import annotations

import re
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from engine.config.problems import NO_SECRET

T = TypeVar("T")

_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:[^\x00-\x1f]+|keyring:[^/\x00-\x1f]+/[^\x00-\x1f]+")


def is_reference(text: str) -> bool:
    """True for `env:NAME`, `file:PATH` and `keyring:SERVICE/NAME`. All else may be a secret."""
    return _REFERENCE.fullmatch(text) is not None


def url_problem(text: str) -> str | None:
    """Why `text` cannot be the address of a service, or None. The address itself is not repeated: it may hold a password."""
    if re.search(r"[\s\x00-\x1f\x7f]", text):
        return "must be a URL without spaces"
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return "must be an http or https URL; its host or port cannot be read"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must be an http or https URL, such as `https://host/v1`"
    if "@" in parts.netloc:
        return f"must be a URL without a user or a password: {NO_SECRET}"
    return None


def given(value: T | None, default: T) -> T:
    """What the file says, zero and false included; the default only where it says nothing."""
    return default if value is None else value


def _reference(text: str) -> str:
    if not is_reference(text):
        raise PydanticCustomError("literal_secret", NO_SECRET)
    return text


def _url(text: str) -> str:
    if problem := url_problem(text):
        raise PydanticCustomError("url", problem)
    return text


def _base_url(text: str) -> str:
    if "?" in text or "#" in text:
        raise PydanticCustomError("url", "must be a URL without `?` and `#`: a path is put after it")
    return text


Reference = Annotated[str, AfterValidator(_reference)]
Url = Annotated[str, AfterValidator(_url)]
BaseUrl = Annotated[Url, AfterValidator(_base_url)]
