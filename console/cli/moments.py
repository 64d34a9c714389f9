"""Times as people give them on a command line: how long ago, a time of day, a date, or epoch milliseconds. Read only; nothing is shown."""

from __future__ import annotations

import re
from datetime import datetime

import click

from engine.domain.clock import SystemClock

_AGO = re.compile(r"(\d+)\s*([smhd])\Z")
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DAY_MS = 86_400_000


class Moment(click.ParamType[int]):
    """Comes out as epoch ms."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = moment(str(value), SystemClock().wall_ms())
        if found is None:
            self.fail(f"{value!r} is no time; write 15m (ago), 14:02, 2026-01-31T14:02 or epoch milliseconds", param, ctx)
        return found


def moment(text: str, now: int) -> int | None:
    """`15m`: so long before now; `14:02` or `14:02:31`: the latest such time of day here; ISO 8601, without a zone: here; a number of ten
    digits or more: epoch ms. None: none of these."""
    text = text.strip()
    ago = _AGO.match(text)
    if ago is not None:
        return now - int(ago[1]) * _UNIT_MS[ago[2]]
    if text.isascii() and text.isdigit() and len(text) >= 10:
        return int(text)
    today = datetime.fromtimestamp(now / 1000).astimezone()
    try:
        if re.match(r"\d{1,2}:\d\d(:\d\d)?\Z", text):
            hour, minute, *rest = (int(part) for part in text.split(":"))
            at = today.replace(hour=hour, minute=minute, second=rest[0] if rest else 0, microsecond=0).timestamp()
            return round(at * 1000) - (_DAY_MS if at * 1000 > now else 0)
        parsed = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    return round((parsed if parsed.tzinfo else parsed.astimezone()).timestamp() * 1000)
