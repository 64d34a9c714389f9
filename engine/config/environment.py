"""The two variables that change the rules (spec 5 and 10). Strict: a value that is not wholly a number never half-counts.

Variables that hold keys or name files are not read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

SKIP_TTL = "OPENCLAW_FALLBACK_SKIP_TTL_MS"
RETRY_WAIT = "OPENCLAW_SDK_RETRY_MAX_WAIT_SECONDS"

SKIP_TTL_MIN_MS = 1_000
SKIP_TTL_MAX_MS = 600_000
RETRY_WAIT_MS = 60_000
_NO_CAP_WORDS = ("0", "false", "off", "none", "disabled")
_LONGEST_MS = 366 * 86_400_000


@dataclass(frozen=True, slots=True)
class EnvironmentSettings:
    """skip_ttl_ms None: the skip cache is off. retry_max_wait_ms None: no cap. warnings name the variable."""

    skip_ttl_ms: int | None
    retry_max_wait_ms: int | None
    warnings: tuple[str, ...]


def read_environment(env: Mapping[str, str]) -> EnvironmentSettings:
    """Absent means the default; anything malformed means the default too, with a warning."""
    skip_ttl, skip_warning = _skip_ttl(env.get(SKIP_TTL))
    retry_wait, retry_warning = _retry_wait(env.get(RETRY_WAIT))
    return EnvironmentSettings(skip_ttl, retry_wait, tuple(text for text in (skip_warning, retry_warning) if text))


def _skip_ttl(text: str | None) -> tuple[int | None, str | None]:
    if text is None:
        return None, None
    if not re.fullmatch(r"[0-9]+", text, re.ASCII):
        return None, f"{SKIP_TTL}: must be a whole number of milliseconds; the skip cache stays off"
    digits = text.lstrip("0")
    if not digits:
        return None, None
    # Longer than any number in range: int() would refuse to read thousands of digits.
    value = int(digits) if len(digits) < 12 else SKIP_TTL_MAX_MS
    return min(max(value, SKIP_TTL_MIN_MS), SKIP_TTL_MAX_MS), None


def _retry_wait(text: str | None) -> tuple[int | None, str | None]:
    if text is None:
        return RETRY_WAIT_MS, None
    word = text.strip().lower()
    if word in _NO_CAP_WORDS:
        return None, None
    if re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", word, re.ASCII) and (seconds := float(word)) > 0:
        return max(1, round(min(seconds * 1000, _LONGEST_MS))), None
    return RETRY_WAIT_MS, f"{RETRY_WAIT}: must be a positive number of seconds, or `off`; the cap stays at 60 s"
