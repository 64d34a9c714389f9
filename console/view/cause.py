"""Why a session is where it is, in plain sentences: what it runs on, which turn led there, what the provider said, and what comes next.
From the engine's records and preview; no rule is known here, and what is not recorded is not guessed."""

from __future__ import annotations

from collections.abc import Sequence

from console.view import records, rules, states, times
from console.view.frame import Frame
from console.view.lines import Line, Span, Tone
from console.view.records import Record, Turn
from engine.domain.snapshot import Preview, SessionView, WindowView

_SAID = 200
"""Characters of a provider's own words in the sentence; all of them stand in the records below."""
_SLACK_MS = 1_000


def draw(session: SessionView, found: Sequence[Record] | None, frame: Frame, preview: Preview | None = None) -> tuple[Line, ...]:
    """The cause, then what happens next. found: newest first, None while they are asked for."""
    turns = records.turns_of(found or ())
    lines: list[Line] = []
    if session.last_outcome == "failed":
        lines.append(_failed(session, turns, frame))
    if session.on_fallback:
        lines.append(_fallback(session, None if found is None else turns, frame))
    elif session.last_outcome != "failed":
        lines.append(_settled(session, frame, preview))
    if preview is not None:
        lines.append(_next(preview, frame))
    return tuple(lines)


def _fallback(session: SessionView, turns: Sequence[Turn] | None, frame: Frame) -> Line:
    safe = frame.look.safe
    since = ""
    if session.since is not None:
        since = f" since {times.stamp(session.since, frame.now, utc=frame.look.utc)} ({times.ago(session.since, frame.now)})"
    head: Line = (
        (f"{safe(session.key)} runs on ", Tone.TEXT),
        (safe(session.active), Tone.WARN),
        (f" instead of {safe(session.selected)}{since}", Tone.TEXT),
    )
    if turns is None:
        return head
    if session.since is None and session.in_flight:
        # Stored before the attempt; nothing has answered yet, and it may be taken back.
        return (*head, (": its turn in flight has just been moved there, and has not been answered yet.", Tone.INFO))
    turn = causing(session, turns)
    if turn is None:
        newest = records.number_of(turns[0][-1], "at") if turns else None
        late = newest is not None and session.since is not None and newest < session.since
        where = "has not ended yet, or its records have not come" if late else "is not kept"
        return (*head, (f": {safe(session.reason or 'the reason is not recorded')}. The turn that led there {where}.", Tone.TEXT))
    return (*head, (", because ", Tone.TEXT), *_happened(turn, frame))


def causing(session: SessionView, turns: Sequence[Turn]) -> Turn | None:
    """The turn in which the session came to its fallback: under way at that moment, with a failure or a candidate passed over before that
    model answered."""
    since = session.since
    for turn in turns:
        began, ended = records.number_of(turn[0], "at"), records.number_of(turn[-1], "at")
        if since is None or began is None or ended is None or not began - _SLACK_MS <= since <= ended + _SLACK_MS:
            continue
        if any(map(records.is_failure, turn)) and any(_answered(record, session.active) for record in turn):
            return turn
    return None


def _answered(record: Record, ref: str) -> bool:
    named = f"{record.get('candidateProvider')}/{record.get('candidateModel')}"
    return record.get("decision") == "candidate_succeeded" and named == ref


def _failed(session: SessionView, turns: Sequence[Turn], frame: Frame) -> Line:
    head: tuple[Span, ...] = ((f"The last turn of {frame.look.safe(session.key)} failed", Tone.BAD),)
    ended = ((turn, records.end_of(turn)) for turn in turns)
    turn = next((turn for turn, end in ended if end is not None and end.get("outcome") not in ("ok", "aborted")), None)
    if turn is None or not any(map(records.is_failure, turn)):
        return (*head, (f" {times.ago(session.last_activity, frame.now)}.", Tone.TEXT))
    return (*head, (": ", Tone.TEXT), *_happened(turn, frame))


def _happened(turn: Turn, frame: Frame) -> Line:
    """The first failure of a turn, with the provider's words and until when that holds; a call that failed before one that was not made."""
    look = frame.look
    failures = [record for record in turn if records.is_failure(record)]
    first = next((record for record in failures if record.get("decision") == "candidate_failed"), failures[0])
    profile = records.text_of(first, "profile")
    name = records.ref_of(first, "candidate", frame) + (f" with {look.safe(profile)}" if profile else "")
    answer = records.answer_of(first, frame) or "nothing that is recorded"
    at = times.stamp(records.number_of(first, "at"), frame.now, utc=look.utc)
    where = f"turn {look.safe(records.text_of(first, 'turn'), 40)} at {at}"
    called = first.get("decision") == "candidate_failed"
    out: list[Span] = [(f"{name} {'failed with' if called else 'was skipped for'} ", Tone.TEXT), (answer, Tone.WARN)]
    out.append((f" in {where}", Tone.TEXT))
    if error := records.text_of(first, "error") or records.text_of(first, "detail"):
        out.append((f': "{look.safe(error, _SAID)}"', Tone.TEXT))
    more = len(failures) - 1
    if more:
        out.append((f" (and {more} more candidate{'s' if more != 1 else ''} failed or passed over)", Tone.DIM))
    out.append((".", Tone.TEXT))
    window = _window(profile, records.text_of(first, "candidateModel"), frame)
    if window is not None:
        until = times.stamp(window.until, frame.now, utc=look.utc)
        left = times.left(window.until, frame.now, reduced_motion=look.reduced_motion)
        out.append((f" {look.safe(profile)} is {window.state.value} until {until} ({left}).", Tone.TEXT))
    return tuple(out)


def _window(profile: str | None, model: str | None, frame: Frame) -> WindowView | None:
    """The window that keeps this profile from this model now, the last to end."""
    view = frame.profile(profile)
    if view is None:
        return None
    windows = view.windows or ((view.window,) if view.window is not None else ())
    meant = [w for w in windows if w.until > frame.now and (w.model is None or model in (None, w.model, states.short_model(w.model)))]
    return max(meant, key=lambda window: window.until, default=None)


def _settled(session: SessionView, frame: Frame, preview: Preview | None) -> Line:
    safe = frame.look.safe
    reason = rules.meaning(preview.selection) if preview is not None else ""
    text = reason or ("somebody selected it" if session.source in ("user", "legacy") else "it is on no fallback")
    return ((f"{safe(session.key)} runs on ", Tone.TEXT), (safe(session.active), Tone.OK), (f": {text}.", Tone.TEXT))


def _next(preview: Preview, frame: Frame) -> Line:
    """Where the next turn goes, and when the session's own model is tried again."""
    look = frame.look
    if preview.next_ref is None:
        soonest = min((c.until for c in preview.chain if c.until is not None and c.until > frame.now), default=None)
        when = f"; the first is free again at {times.stamp(soonest, frame.now, utc=look.utc)}" if soonest is not None else ""
        when += f" ({times.left(soonest, frame.now, reduced_motion=look.reduced_motion)})" if soonest is not None else ""
        return (("Next turn: ", Tone.HEAD), (f"every candidate would be skipped{when}.", Tone.BAD))
    profile = f" with {look.safe(preview.next_profile)}" if preview.next_profile else ""
    out: list[Span] = [("Next turn: ", Tone.HEAD), (look.safe(preview.next_ref), Tone.STRONG), (f"{profile}.", Tone.TEXT)]
    at = preview.primary_probe_at
    if at is not None:
        left = times.countdown(at, frame.now, reduced_motion=look.reduced_motion)
        due = "with the next turn" if at <= frame.now else f"with the first turn in {left} or later"
        out.append((f" Its own model is tried again {due}.", Tone.TEXT))
    return tuple(out)
