"""The header and the banner: is this true, is traffic flowing, how many are in trouble. Whole words or nothing: parts drop by rank."""

from __future__ import annotations

from console.view import states, times
from console.view.frame import Frame, Truth
from console.view.lines import Line, Tone, fit_parts, line_width, span
from engine.domain.snapshot import ProfileState, Snapshot

_TRUTH_TONE = {Truth.WAITING: Tone.INFO, Truth.LIVE: Tone.OK, Truth.FROZEN: Tone.INFO, Truth.STALE: Tone.WARN, Truth.DOWN: Tone.BAD}


def truth_word(frame: Frame) -> str:
    """LIVE, DEMO, FROZEN 12 behind, STALE 9s, ENGINE DOWN 14s: never more than is so. What is no live gateway says so in every state:
    `DEMO FROZEN 12 behind`."""
    mode = frame.snapshot.mode if frame.snapshot is not None and frame.snapshot.mode in ("DEMO", "BUNDLE") else ""
    if not mode:
        return liveness(frame)
    return mode if frame.truth is Truth.LIVE else f"{mode} {liveness(frame)}"


def liveness(frame: Frame) -> str:
    """How far what is shown may be believed, whatever it is of: LIVE, FROZEN 12 behind, STALE 9s."""
    match frame.truth:
        case Truth.FROZEN:
            return f"FROZEN {frame.behind} behind"
        case Truth.STALE | Truth.DOWN:
            return f"{frame.truth.value} {times.span_s(frame.age_ms // 1000)}"
        case Truth.LIVE | Truth.WAITING:
            return frame.truth.value


def draw(frame: Frame, cells: int) -> Line:
    """The header, exactly `cells` wide, clock at the right."""
    look = frame.look
    snapshot = frame.snapshot
    now = times.clock(frame.now, utc=look.utc) + ("Z" if look.utc else "") if snapshot is not None else ""
    left = fit_parts(_parts(frame, snapshot), max(0, cells - len(now) - 3))
    room = cells - line_width(left) - len(now) - 2
    if room < 0:
        return fit_parts([(0, left)], cells)
    return ((" ", Tone.TEXT), *left, (" " * room, Tone.TEXT), (now, Tone.STRONG), (" ", Tone.TEXT))


def _parts(frame: Frame, snapshot: Snapshot | None) -> list[tuple[int, Line]]:
    glyphs = frame.look.glyphs
    truth = span(truth_word(frame), _TRUTH_TONE[frame.truth] if frame.truth is not Truth.LIVE or snapshot is None else Tone.OK)
    parts: list[tuple[int, Line]] = [(10, span("failover", Tone.STRONG)), (0, truth)]
    if snapshot is None:
        return parts
    if snapshot.speed not in (0.0, 1.0):
        parts.append((5, span(f"time {glyphs.times}{snapshot.speed:g}", Tone.INFO)))
    if frame.read_only or snapshot.read_only:
        parts.append((1, span("READ-ONLY", Tone.INFO)))
    if snapshot.draining:
        parts.append((1, span("DRAINING", Tone.WARN)))
    traffic = snapshot.traffic
    fallback = sum(1 for session in snapshot.sessions if session.on_fallback)
    out = sum(1 for profile in snapshot.profiles if states.is_out(profile))
    cooling = sum(1 for profile in snapshot.profiles if profile.state is ProfileState.COOLDOWN)
    ok = None if traffic.ok_share is None else traffic.ok_share * 100
    parts += [
        (8, span(frame.look.safe(snapshot.address.removeprefix("http://")))),
        (6, span(f"{traffic.requests_per_s:.1f} req/s")),
        (9, span("" if traffic.p50_ms is None else f"p50 {_latency(traffic.p50_ms)}", Tone.DIM)),
        (7, span("ok --" if ok is None else f"ok {ok:.1f}%", _share_tone(ok))),
        (1, span(f"{fallback} on fallback", Tone.WARN if fallback else Tone.DIM)),
        (2, span(f"{out} blocked", Tone.BAD if out else Tone.DIM)),
        (4, span(f"{cooling} cooling", Tone.WARN) if cooling else ()),
        (3, span(f"{traffic.errors} errors/min", Tone.BAD if traffic.errors else Tone.DIM)),
        (12, span(f"config gen {snapshot.config_generation}", Tone.DIM)),
    ]
    if frame.since_key:
        parts.append((11, span(f"i: {frame.since_key} new since you looked", Tone.INFO)))
    return parts


def _latency(ms: float) -> str:
    return f"{ms:.0f}ms" if ms < 10_000 else f"{ms / 1000:.0f}s"


def _share_tone(ok: float | None) -> Tone:
    if ok is None:
        return Tone.DIM
    return Tone.OK if ok >= 99 else Tone.WARN if ok >= 90 else Tone.BAD


def banner(frame: Frame) -> tuple[Line, ...]:
    """What must not be overlooked: a lost engine with the age of the data shown, alarms, a drain. Empty when all is well."""
    lines: list[Line] = []
    snapshot = frame.snapshot
    look = frame.look
    if frame.truth is Truth.DOWN:
        held = "no data yet"
        if snapshot is not None:
            held = f"showing the last good data, {times.span_s(frame.age_ms // 1000)} old"
        lines.append((("ENGINE DOWN ", Tone.BAD), (f" {look.safe(frame.trouble)}", Tone.TEXT), (f"  {held}; trying again", Tone.DIM)))
    elif frame.truth is Truth.STALE:
        lines.append(
            (("STALE ", Tone.WARN), (f" no news for {times.span_s(frame.age_ms // 1000)}: acts ask before they are sent", Tone.TEXT))
        )
    if snapshot is not None:
        lines += [(("ALARM ", Tone.BAD), (f" {look.safe(alarm)}", Tone.TEXT)) for alarm in snapshot.alarms[:3]]
        if snapshot.draining:
            lines.append((("DRAINING ", Tone.WARN), (" the gateway takes no new requests and ends when the last is done", Tone.TEXT)))
        lines += [(("config ", Tone.WARN), (f" {look.safe(warning)}", Tone.DIM)) for warning in snapshot.warnings[:1]]
    return tuple(lines)
