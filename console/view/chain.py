"""The Chain pane: the preview of the selected session's next turn, candidate by candidate, profile by profile, as lines.

It shows what the policy said and judges nothing itself."""

from __future__ import annotations

from dataclasses import dataclass

from console.view import pins, rules, states, times
from console.view.frame import Frame
from console.view.lines import Line, Tone, fit_parts, line_width, pad, span, wrap_into
from console.view.text import shorten, width
from engine.domain.snapshot import CandidatePreview, Preview, ProfileVerdict

_INDENT = 4
_VERDICT_CELLS = 26
_VERDICT = {"next": Tone.OK, "ready": Tone.TEXT, "probe": Tone.INFO, "skip": Tone.WARN}


@dataclass(frozen=True, slots=True)
class ChainRow:
    """One line: a candidate, a profile under it, or a remark."""

    key: str
    candidate: CandidatePreview | None = None
    verdict: ProfileVerdict | None = None
    remark: str | None = None
    place: int = 0
    sticky_since: int | None = None
    probe_at: int | None = None
    tone: Tone = Tone.DIM


@dataclass(frozen=True, slots=True)
class Names:
    """Cells for the names of candidates and of the profiles under them."""

    candidate: int
    profile: int


def key_of(row: ChainRow) -> str:
    return row.key


def rows(preview: Preview | None, frame: Frame) -> tuple[ChainRow, ...]:
    """The preview as lines, in the order of the chain; then what is to be said about the whole."""
    if preview is None:
        return ()
    out: list[ChainRow] = []
    for place, candidate in enumerate(preview.chain, 1):
        sticky = preview.sticky_since if candidate.verdict == "next" else None
        out.append(ChainRow(f"c{place}", candidate=candidate, place=place, sticky_since=sticky))
        out.extend(ChainRow(f"c{place}:{v.profile}", candidate=candidate, verdict=v, place=place) for v in candidate.profiles)
    if preview.primary_probe_at is not None:
        out.append(ChainRow("probe", remark="primary probe", probe_at=preview.primary_probe_at))
    if pin := pins.effect(frame.session(preview.session), preview, frame):
        out.append(ChainRow("pin", remark=pin.text, tone=Tone.INFO if pin.holds else Tone.WARN))
    if preview.strict:
        out.append(ChainRow("strict", remark="strict: no other model is tried, the failure is reported"))
    out.extend(ChainRow(f"note{n}", remark=note) for n, note in enumerate(preview.notes))
    out.append(ChainRow("selection", remark=f"rule {rules.worded(preview.selection)}"))
    return tuple(out)


def draw(row: ChainRow, frame: Frame, cells: int, names: Names) -> Line:
    """One line of `cells`; names: so that verdicts stand under each other."""
    if row.verdict is not None:
        return pad(_profile(row.verdict, frame, cells, names.profile), cells)
    if row.candidate is not None:
        return pad(_candidate(row, row.candidate, frame, cells, names.candidate), cells)
    return pad(wrap_into(_remark(row, frame), cells, 1, frame.look.glyphs.ellipsis)[0], cells)


def names_width(all_rows: tuple[ChainRow, ...], frame: Frame, cells: int) -> Names:
    """Cells for the names: what the longest of each kind needs, but never so much that the verdict falls off."""
    refs = [width(frame.look.safe(row.candidate.ref)) for row in all_rows if row.candidate is not None and row.verdict is None]
    profiles = [width(frame.look.safe(row.verdict.profile)) for row in all_rows if row.verdict is not None]
    return Names(*(max(8, min(max(found, default=0), cells - _VERDICT_CELLS)) for found in (refs, profiles)))


def _candidate(row: ChainRow, candidate: CandidatePreview, frame: Frame, cells: int, names: int) -> Line:
    look, glyphs = frame.look, frame.look.glyphs
    name = shorten(look.safe(candidate.ref), names, ellipsis=glyphs.ellipsis)
    mark = {"next": glyphs.ready, "ready": glyphs.off, "probe": glyphs.cooldown, "skip": glyphs.skip}.get(candidate.verdict, glyphs.missing)
    tone = _VERDICT.get(candidate.verdict, Tone.TEXT)
    bold = Tone.STRONG if candidate.verdict == "next" else Tone.TEXT
    head: Line = ((f"{row.place:>2} ", Tone.DIM), *pad(span(name, bold), names), (f"  {mark} {look.safe(candidate.verdict):<5}", tone))
    details: list[tuple[int, Line]] = []
    if row.sticky_since is not None:
        details.append((2, span(f"sticky since {times.stamp(row.sticky_since, frame.now, utc=look.utc)}", Tone.DIM)))
    if candidate.until is not None:
        details.append((1, span(times.left(candidate.until, frame.now, reduced_motion=look.reduced_motion), tone)))
    if candidate.reason:
        details.append((0, span(look.safe(candidate.reason), tone)))
    if candidate.role:
        details.append((3, span(look.safe(candidate.role), Tone.DIM)))
    details.append((4, span(look.safe(candidate.rule), Tone.DIM)))
    return (*head, (" ", Tone.TEXT), *fit_parts(details, cells - line_width(head) - 1, " ", least=0))


def _profile(verdict: ProfileVerdict, frame: Frame, cells: int, names: int) -> Line:
    look, glyphs = frame.look, frame.look.glyphs
    tone = states.tone_of(verdict.state, verdict.detail)
    mark = states.glyph_of(verdict.state, glyphs)
    name = shorten(look.safe(verdict.profile), names, ellipsis=glyphs.ellipsis)
    plain = Tone.TEXT if verdict.usable else Tone.DIM
    head: Line = ((" " * _INDENT, Tone.TEXT), *pad(span(name, plain), names), (f"  {mark} {verdict.state.value:<8}", tone))
    details: list[tuple[int, Line]] = []
    if verdict.until is not None:
        details.append((0, span(times.left(verdict.until, frame.now, reduced_motion=look.reduced_motion), tone)))
    if verdict.reason:
        details.append((1, span(look.safe(verdict.reason), tone)))
    if verdict.step:
        details.append((3, span(f"step {verdict.step}", Tone.DIM)))
    if verdict.pin:
        details.append((2, span(f"pinned ({look.safe(verdict.pin)})", Tone.INFO)))
    if verdict.model and verdict.until is not None:
        details.append((5, span(f"only {look.safe(states.short_model(verdict.model))}", Tone.DIM)))
    if verdict.detail:
        details.append((4, span(look.safe(verdict.detail), Tone.DIM)))
    details.append((6, span(look.safe(verdict.rule), Tone.DIM)))
    return (*head, (" ", Tone.TEXT), *fit_parts(details, cells - line_width(head) - 1, " ", least=0))


def _remark(row: ChainRow, frame: Frame) -> Line:
    text = f"   {frame.look.safe(row.remark)}"
    if row.probe_at is None:
        return span(text, row.tone)
    left = times.countdown(row.probe_at, frame.now, reduced_motion=frame.look.reduced_motion)
    due = "with the next turn" if row.probe_at <= frame.now else f"in {left}"
    return ((text, Tone.DIM), (f" {due}", Tone.INFO))


def explained(row: ChainRow | None, frame: Frame) -> Line:
    """The rule of a row with what it means; a remark whole."""
    if row is None or row.probe_at is not None:
        return ()
    if row.remark is not None:
        return span(frame.look.safe(row.remark), row.tone)
    rule = row.verdict.rule if row.verdict is not None else row.candidate.rule if row.candidate is not None else ""
    return span(f"rule {rules.worded(frame.look.safe(rule))}", Tone.DIM)


def headline(preview: Preview | None, session: str | None, frame: Frame, cells: int) -> Line:
    """What the next turn would do, in one line; always bound to the session it names."""
    if session is None:
        return span("no session selected", Tone.DIM)
    if preview is None:
        return span("asking the engine", Tone.DIM)
    if preview.next_ref is None:
        return span("next turn: every candidate would be skipped", Tone.BAD)
    ref = (frame.look.safe(preview.next_ref), Tone.STRONG)
    lead = "next turn would go to " if cells >= 50 else "next turn: "
    profile = span(f"with {frame.look.safe(preview.next_profile)}", Tone.DIM) if preview.next_profile else ()
    return fit_parts([(0, ((lead, Tone.DIM), ref)), (1, profile)], cells, " ")
