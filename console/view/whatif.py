"""The answer to what-if as lines: the chain as it is and as it would be beside each other, and the turn that would follow. It shows what
the engine predicted and judges nothing itself."""

from __future__ import annotations

from console.view import chain, times
from console.view.frame import Frame
from console.view.lines import Line, Tone, join, pad, span
from engine.domain.foresight import Move, Moves, PredictedStep, WhatIf

_SIDE_BY_SIDE = 110
_STEP = {"succeeded": ("answers", Tone.OK), "failed": ("fails", Tone.BAD), "skipped": ("skipped", Tone.WARN)}


def draw(found: WhatIf, frame: Frame, cells: int) -> tuple[Line, ...]:
    look = frame.look
    lines: list[Line] = [span("Assumed", Tone.HEAD)]
    for taken in found.taken:
        mark = look.glyphs.ready if taken.held else look.glyphs.disabled
        lines.append(((f"{mark} ", Tone.INFO if taken.held else Tone.BAD), (look.safe(taken.text), Tone.TEXT if taken.held else Tone.BAD)))
    lines += [(), *_chains(found, frame, cells), (), *_turn(found, frame)]
    return tuple(lines)


def _chains(found: WhatIf, frame: Frame, cells: int) -> list[Line]:
    then = Frame(frame.snapshot, found.at, frame.look)
    when = f"then, at {times.stamp(found.at, frame.now, utc=frame.look.utc)}"
    if cells < _SIDE_BY_SIDE:
        return [
            span(f"Chain {when}", Tone.HEAD),
            *_chain(found, then, cells, after=True),
            (),
            span("Chain now", Tone.HEAD),
            *_chain(found, frame, cells, after=False),
        ]
    half = (cells - 3) // 2
    left = [span("Chain now", Tone.HEAD), *_chain(found, frame, half, after=False)]
    right = [span(f"Chain {when}", Tone.HEAD), *_chain(found, then, half, after=True)]
    height = max(len(left), len(right))
    left += [()] * (height - len(left))
    right += [()] * (height - len(right))
    bar = (f" {frame.look.glyphs.bar} ", Tone.DIM)
    return [(*pad(a, half), bar, *pad(b, half)) for a, b in zip(left, right, strict=True)]


def _chain(found: WhatIf, frame: Frame, cells: int, *, after: bool) -> list[Line]:
    preview = found.after if after else found.before
    rows = chain.rows(preview, frame)
    names = chain.names_width(rows, frame, cells)
    return [chain.headline(preview, preview.session, frame, cells), *(chain.draw(row, frame, cells, names) for row in rows)]


def _turn(found: WhatIf, frame: Frame) -> list[Line]:
    look = frame.look
    tone = Tone.OK if found.outcome == "ok" else Tone.BAD
    served = span(f"by {look.safe(found.active)}", Tone.STRONG) if found.active else ()
    lines: list[Line] = [join([span("The turn then", Tone.HEAD), span(look.safe(found.outcome), tone), served])]
    lines += [_step(step, frame) for step in found.steps]
    lines += [span(look.safe(notice), Tone.INFO) for notice in found.notices]
    lines.append(span("Predicted by the rules: no call was made, nothing was changed.", Tone.DIM))
    return lines


def _step(step: PredictedStep, frame: Frame) -> Line:
    look = frame.look
    word, tone = _STEP.get(step.outcome, (look.safe(step.outcome), Tone.TEXT))
    because = " ".join(str(part) for part in (step.status, look.safe(step.reason)) if part)
    parts: list[Line] = [
        span(f"  {look.safe(step.ref)}", Tone.STRONG),
        span(look.safe(step.profile)),
        span(word, tone),
        span(because, tone),
        span(f"rule {look.safe(step.rule)}" if step.rule else "", Tone.DIM),
    ]
    return join(parts)


def destination(ref: str | None, profile: str | None, frame: Frame) -> str:
    """Where a next turn goes, in words."""
    if ref is None:
        return "nowhere: every candidate would be skipped"
    return frame.look.safe(ref) + (f" with {frame.look.safe(profile)}" if profile else "")


def moves(found: Moves, frame: Frame, limit: int = 6) -> tuple[Line, ...]:
    """Whom an act moves, for the dialog before it."""
    refused = [taken for taken in found.taken if not taken.held]
    if refused:
        return tuple(span(frame.look.safe(taken.text), Tone.BAD) for taken in refused)
    of = f" of the {found.examined} latest active" if found.examined < found.total else ""
    if not found.count:
        return (span(f"No session{of} is moved: the next turn of each goes where it would go now.", Tone.DIM),)
    lines: list[Line] = [span(f"Moves {found.count} session{'s' if found.count != 1 else ''}{of}:", Tone.WARN)]
    lines += [_move(move, frame) for move in found.moved[:limit]]
    if found.count > limit:
        lines.append(span(f"  and {found.count - min(limit, len(found.moved))} more", Tone.DIM))
    if found.stranded:
        lines.append(span(f"{found.stranded} would have no candidate left: their turns fail.", Tone.BAD))
    return tuple(lines)


def _move(move: Move, frame: Frame) -> Line:
    arrow = frame.look.glyphs.arrow
    return (
        (f"  {frame.look.safe(move.session, 40)}  ", Tone.STRONG),
        (f"{destination(move.was_ref, move.was_profile, frame)} {arrow} ", Tone.DIM),
        (destination(move.ref, move.profile, frame), Tone.BAD if move.ref is None else Tone.TEXT),
    )
