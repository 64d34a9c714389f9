"""The Profiles table: the state word of each credential, until when, why, for which model, and who uses it. Worst first."""

from __future__ import annotations

from collections.abc import Sequence

from console.view import filters, states, times
from console.view.frame import Frame
from console.view.lines import Line, Tone, fit_parts, line_width, span
from console.view.table import Column, Order, arrange
from console.view.text import shorten, width
from engine.domain.snapshot import ProfileView

DEFAULT_ORDER = Order("state", falling=True)
_BAR = 8
_FAR = 1 << 62


def key_of(profile: ProfileView) -> str:
    return profile.profile


def _tone(profile: ProfileView) -> Tone:
    return states.tone_of(profile.state, profile.detail)


def _name(profile: ProfileView, frame: Frame, cells: int) -> Line:
    return span(shorten(frame.look.safe(profile.profile), cells, ellipsis=frame.look.glyphs.ellipsis), Tone.STRONG)


def _mark(profile: ProfileView, frame: Frame, cells: int) -> Line:
    return span(states.glyph_of(profile.state, frame.look.glyphs), _tone(profile))


def _state(profile: ProfileView, frame: Frame, cells: int) -> Line:
    return span(profile.state.value, _tone(profile))


def _bar(profile: ProfileView, frame: Frame, cells: int) -> Line:
    window = profile.window
    full = times.filled(window.since, window.until, frame.now, cells) if window else None
    if full is None:
        return ()
    glyphs = frame.look.glyphs
    return ((glyphs.full * full, _tone(profile)), (glyphs.empty * (cells - full), Tone.DIM))


def _left(profile: ProfileView, frame: Frame, cells: int) -> Line:
    return span(times.countdown(_until(profile), frame.now, reduced_motion=frame.look.reduced_motion), _tone(profile))


def _until(profile: ProfileView) -> int | None:
    return profile.window.until if profile.window else None


def _reason_text(profile: ProfileView) -> str | None:
    return profile.window.reason if profile.window else profile.detail


def _reason(profile: ProfileView, frame: Frame, cells: int) -> Line:
    return span(shorten(frame.look.safe(_reason_text(profile)), cells, ellipsis=frame.look.glyphs.ellipsis))


def _scope(profile: ProfileView, frame: Frame, cells: int) -> Line:
    window = profile.window
    if window is None:
        return ()
    if window.model is None:
        return span("all models", Tone.DIM)
    return span(shorten(frame.look.safe(states.short_model(window.model)), cells, ellipsis=frame.look.glyphs.ellipsis))


def _step(profile: ProfileView, frame: Frame, cells: int) -> Line:
    return span(f"step {profile.window.step}", Tone.DIM) if profile.window and profile.window.step else ()


def _errors(profile: ProfileView, frame: Frame, cells: int) -> Line:
    return span(f"{frame.look.glyphs.times}{profile.error_count}", Tone.WARN) if profile.error_count else ()


def _used(profile: ProfileView, frame: Frame, cells: int) -> Line:
    return span(times.ago(profile.last_used, frame.now) or "never", Tone.DIM)


def _by(profile: ProfileView, frame: Frame, cells: int) -> Line:
    count = len(profile.used_by)
    return span(str(count) if count else "-", Tone.TEXT if count else Tone.DIM)


COLUMNS: tuple[Column[ProfileView], ...] = (
    Column("mark", "", 1, _mark),
    Column(
        "profile", "profile", 14, _name, grow=30, measure=lambda p, f: width(f.look.safe(p.profile)), sort=lambda p, f: p.profile, gap=" "
    ),
    Column("bar", "", _BAR, _bar, rank=7, measure=lambda p, f: line_width(_bar(p, f, _BAR))),
    Column("left", "left", 8, _left, measure=lambda p, f: line_width(_left(p, f, 0)), sort=lambda p, f: _until(p), right=True),
    Column("state", "state", 8, _state, sort=lambda p, f: (-states.urgency(p), -(_until(p) or _FAR)), falls=True),
    Column("reason", "reason", 11, _reason, rank=1, grow=24, measure=lambda p, f: width(f.look.safe(_reason_text(p)))),
    Column("scope", "scope", 10, _scope, rank=2, grow=26, measure=lambda p, f: line_width(_scope(p, f, 1 << 10))),
    Column("step", "step", 7, _step, rank=9, measure=lambda p, f: line_width(_step(p, f, 0))),
    Column("errors", "err", 4, _errors, rank=3, sort=lambda p, f: p.error_count or None, falls=True),
    Column("used", "used", 7, _used, rank=7, sort=lambda p, f: f.now - p.last_used if p.last_used is not None else None, right=True),
    Column("by", "users", 6, _by, rank=8, sort=lambda p, f: len(p.used_by) or None, falls=True, right=True, gap=" "),
)


def rows(profiles: Sequence[ProfileView], query: str, order: Order, frame: Frame) -> list[ProfileView]:
    kept = filters.keep(
        profiles,
        query,
        lambda p: (p.profile, p.provider, p.type, p.state.value, p.detail, p.window.reason if p.window else None, *p.used_by),
    )
    return arrange(kept, COLUMNS, order, key_of, frame)


def summary(profile: ProfileView, frame: Frame, cells: int) -> Line:
    """The selected profile in one line: state, window in full, who uses it. What does not fit is left out whole."""
    look = frame.look
    word = profile.state.value + (f" ({look.safe(profile.detail)})" if profile.detail else "")
    parts: list[tuple[int, Line]] = [(0, ((look.safe(profile.profile), Tone.STRONG), (f" {word}", _tone(profile))))]
    if window := profile.window:
        scope = look.safe(window.model) if window.model else "all models"
        parts.append((1, span(f"{look.safe(window.reason)} for {scope}")))
        left = times.left(window.until, frame.now, reduced_motion=look.reduced_motion)
        parts.append((2, span(f"until {times.stamp(window.until, frame.now, utc=look.utc)} ({left})")))
    more = len(profile.windows) - 1
    if more > 0:
        parts.append((3, span(f"+{more} more window{'s' if more > 1 else ''}", Tone.DIM)))
    if profile.used_by:
        names = ", ".join(look.safe(key) for key in profile.used_by[:3])
        parts.append((4, span(f"used by {names}" + (f" +{len(profile.used_by) - 3}" if len(profile.used_by) > 3 else ""), Tone.DIM)))
    return fit_parts(parts, cells)


def empty(frame: Frame, filtered: bool) -> tuple[Line, ...]:
    if filtered:
        return (span("no profile matches the filter (esc clears it)", Tone.DIM),)
    return (
        span("No profiles: the gateway has no credential to use."),
        (("Add one:  ", Tone.DIM), ("failover profiles add openai:work", Tone.STRONG), ("  (asks for the key)", Tone.DIM)),
        span("or name a keyRef under auth.profiles in the config file.", Tone.DIM),
    )
