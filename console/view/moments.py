"""A moment as people type it: `30m` from now, a time of day that is still to come, or an ISO date and time. Nothing reads a clock here."""

from __future__ import annotations

from datetime import UTC, datetime, time

_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def moment(text: str, now: int, *, utc: bool = False) -> int:
    """Epoch ms. utc: a time of day is one of UTC, else of the local clock. Raises ValueError, in words for a person."""
    text = text.strip()
    if text and text[-1] in _UNITS_MS and text[:-1].isdecimal() and len(text) <= 10:
        return now + int(text[:-1]) * _UNITS_MS[text[-1]]
    try:
        if len(text) <= 8 and ":" in text:
            return _next(time.fromisoformat(text.zfill(5) if text.count(":") == 1 else text.zfill(8)), now, utc=utc)
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text[:40]!r} is not a moment; write 30m, 2h, 14:30 or 2026-01-05T14:30") from None


def _next(time_of_day: time, now: int, *, utc: bool) -> int:
    today = datetime.fromtimestamp(now / 1000, UTC) if utc else datetime.fromtimestamp(now / 1000).astimezone()
    hour, minute, second = time_of_day.hour, time_of_day.minute, time_of_day.second
    found = int(today.replace(hour=hour, minute=minute, second=second, microsecond=0).timestamp() * 1000)
    return found if found > now else found + _UNITS_MS["d"]
