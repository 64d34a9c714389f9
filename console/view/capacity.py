"""Capacity of the next hour: which share of each provider's profiles is without a window, per five minutes, as one line. Windows that will
open are not guessed: this is what is known now."""

from __future__ import annotations

from collections.abc import Sequence

from console.view.frame import Frame
from console.view.lines import Line, Tone, fit_parts, span
from console.view.states import REFRESHABLE
from engine.domain.snapshot import ProfileState, ProfileView

STEP_MS = 5 * 60_000
STEPS = 12
_USELESS = (ProfileState.MISSING, ProfileState.OFF)
_RAMP, _RAMP_ASCII = "▁▂▃▄▅▆▇█", "_.:-=+*#"
LEAST_CELLS = 60


def free_at(profile: ProfileView, moment: int) -> bool:
    """Without a window at that moment (epoch ms), as far as is known now. A window of one model counts: part of it is not to be had."""
    if profile.state in _USELESS or (profile.state is ProfileState.EXPIRED and profile.detail != REFRESHABLE):
        return False
    windows = profile.windows or ((profile.window,) if profile.window is not None else ())
    return all(window.until <= moment for window in windows)


def shares(profiles: Sequence[ProfileView], now: int) -> dict[str, tuple[tuple[int, ...], int]]:
    """By provider: how many profiles are free now and after each five minutes of the hour, and how many there are."""
    by: dict[str, list[ProfileView]] = {}
    for profile in profiles:
        by.setdefault(profile.provider, []).append(profile)
    return {
        provider: (tuple(sum(free_at(p, now + place * STEP_MS) for p in members) for place in range(STEPS)), len(members))
        for provider, members in by.items()
    }


def draw(profiles: Sequence[ProfileView], frame: Frame, cells: int) -> Line:
    """`capacity next 60 min  anthropic ▁▁▃▅▅▅▅▅ 0/2 free`. Providers that have everything all the time come last, and go first."""
    ramp = _RAMP_ASCII if frame.look.ascii_only else _RAMP
    found = sorted(shares(profiles, frame.now).items(), key=lambda item: (min(item[1][0]) / item[1][1], item[0]))
    parts: list[tuple[int, Line]] = [(0, span("next 60 min" if cells < 90 else "capacity next 60 min", Tone.DIM))]
    for rank, (provider, (free, total)) in enumerate(found, 1):
        tone = Tone.BAD if free[0] == 0 else Tone.WARN if min(free) < total else Tone.OK
        bars = "".join(ramp[round(count / total * (len(ramp) - 1))] for count in free)
        parts.append((rank, ((f"{frame.look.safe(provider, 16)} ", Tone.TEXT), (bars, tone), (f" {free[0]}/{total} free", Tone.DIM))))
    return fit_parts(parts, cells)
