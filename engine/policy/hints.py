"""`window.hint` and `window.blocked`: the times that a provider states. A malformed one is ignored, never an exception."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from engine.domain.failure import Failure

_DECIMAL = re.compile(r"\d+(\.\d+)?\Z", re.ASCII)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)s\Z", re.ASCII)
_SECONDS_BELOW = 1e11
"""`window.blocked`: a `resets_at` below this is seconds, else milliseconds."""


def stated_wait_ms(failure: Failure, now: int) -> int | None:
    """How long the provider asked to wait, in ms (> 0): `retry-after-ms`, then `retry-after` (seconds or HTTP date), then reset fields of
    the body (`retryDelay`, `retry_after`, `resets_in_seconds`). None: nothing valid was stated."""
    headers = failure.headers
    if headers:
        wait = _decimal(headers.get("retry-after-ms"), 1)
        if wait is None:
            wait = _decimal(headers.get("retry-after"), 1000)
        if wait is None:
            wait = _http_date(headers.get("retry-after"), now)
        if wait is not None:
            return wait
    for member in _error_objects(failure.body):
        for key, scale in (("retry_after_ms", 1), ("retry_after", 1000), ("resets_in_seconds", 1000)):
            wait = _number(member.get(key), scale)
            if wait is not None:
                return wait
        delay = member.get("retryDelay")
        if isinstance(delay, str) and (found := _DURATION.match(delay)):
            return _number(float(found[1]), 1000)
    return None


def blocked_until(failure: Failure, now: int) -> int | None:
    """The reset instant of a subscription limit (Codex `usage_limit_reached` with `resets_at` or `resets_in_seconds`), epoch ms in the
    future, else None."""
    if failure.body is None or "usage_limit_reached" not in failure.body:
        return None
    for member in _error_objects(failure.body):
        if "usage_limit_reached" not in (member.get("type"), member.get("code")):
            continue
        at = _number(member.get("resets_at"), 1)
        if at is not None:
            until = at * 1000 if at < _SECONDS_BELOW else at
        else:
            wait = _number(member.get("resets_in_seconds"), 1000)
            if wait is None:
                continue
            until = now + wait
        if until > now:
            return until
    return None


def _decimal(text: str | None, scale: int) -> int | None:
    if text is None or not _DECIMAL.match(text.strip()):
        return None
    return _number(float(text.strip()), scale)


def _number(value: object, scale: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # An int of thousands of digits overflows a float; nobody means it.
    if isinstance(value, int) and abs(value) > 1 << 62:
        value = 1 << 62
    if not math.isfinite(value) or value <= 0:
        return None
    return math.ceil(value * scale)


def _http_date(text: str | None, now: int) -> int | None:
    if text is None or len(text) > 64:
        return None
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    wait = math.ceil(at.timestamp() * 1000) - now
    return wait if wait > 0 else None


def _error_objects(body: str | None) -> Iterator[Mapping[str, object]]:
    """The objects of an error body that may state a time: itself, its `error`, and Google's `details[]`."""
    if body is None or not body.lstrip().startswith(("{", "[")):
        return
    try:
        parsed: object = json.loads(body)
    except (ValueError, RecursionError):
        return
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    if not isinstance(parsed, dict):
        return
    error = parsed.get("error")
    if isinstance(error, dict):
        yield error
        details = error.get("details")
        if isinstance(details, list):
            yield from (d for d in details[:12] if isinstance(d, dict))
    yield parsed
