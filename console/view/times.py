"""Deadlines and instants as people read them. Absolute epoch milliseconds come in; durations exist only here."""

from __future__ import annotations

from datetime import UTC, datetime

_DAY = 86_400


def countdown(until: int | None, now: int, *, reduced_motion: bool = False) -> str:
    """Time left: `00:41`, `4:12:09`, `2d 03:14`; rounded up, so that 00:00 means over. Empty without a deadline."""
    if until is None:
        return ""
    left = max(0, -(-(until - now) // 1000))
    if reduced_motion and left > 60:
        left = -(-left // 60) * 60
        if left < 3600:
            return f"{left // 60}m"
    days, rest = divmod(left, _DAY)
    hours, rest = divmod(rest, 3600)
    minutes, seconds = divmod(rest, 60)
    if days > 999:
        return ">999d"
    if days:
        return f"{days}d {hours:02}:{minutes:02}"
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


def left(until: int | None, now: int, *, reduced_motion: bool = False) -> str:
    """The time left where no title says what it is: `00:41 left`; `over` once it is. Empty without a deadline."""
    if until is None:
        return ""
    return f"{countdown(until, now, reduced_motion=reduced_motion)} left" if until > now else "over"


def ago(at: int | None, now: int) -> str:
    """How long ago, in one unit: `2s ago`, `9m ago`, `3h ago`, `12d ago`. Empty when never. It says so itself, so that nobody takes it
    for the time left."""
    if at is None:
        return ""
    return f"{span_s((now - at) // 1000)} ago"


def span_s(seconds: int) -> str:
    """A duration in one unit, rounded down."""
    seconds = max(0, seconds)
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m"
    return f"{seconds // 3600}h" if seconds < _DAY else f"{min(seconds // _DAY, 999)}d"


def instant(at: int | None, *, utc: bool = False) -> datetime | None:
    if at is None:
        return None
    try:
        return datetime.fromtimestamp(at / 1000, UTC if utc else None)
    except (OverflowError, ValueError, OSError):
        return None


def clock(at: int | None, *, utc: bool = False) -> str:
    """Time of day, `14:02:31`; what is no time reads `--:--:--`."""
    moment = instant(at, utc=utc)
    return moment.strftime("%H:%M:%S") if moment else "--:--:--"


def stamp(at: int | None, now: int, *, utc: bool = False) -> str:
    """Time of day, with the date before it when that is not today's."""
    moment, today = instant(at, utc=utc), instant(now, utc=utc)
    if moment is None or today is None:
        return "--:--:--"
    text = moment.strftime("%H:%M:%S")
    return text if moment.date() == today.date() else f"{moment:%m-%d} {text}"


def filled(since: int | None, until: int | None, now: int, cells: int) -> int | None:
    """How many of `cells` of a countdown bar are still full: what is left of the window. None when its beginning is not known."""
    if since is None or until is None or until <= since:
        return None
    left = (until - now) / (until - since)
    return max(0, min(cells, -(-int(left * cells * 1000) // 1000)))
