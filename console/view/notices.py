"""The Notices feed: what happened, newest last, kept by this console beyond what one snapshot carries, and capped.

Entries are the engine's; nothing is said here that the engine did not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from console.view import filters, states, times
from console.view.frame import Frame
from console.view.lines import Line, Tone, line_width, span
from console.view.table import Column
from console.view.text import shorten, width
from engine.domain.snapshot import FeedEntry

KEPT = 2_000


@dataclass(frozen=True, slots=True)
class FeedLog:
    """The entries seen so far, oldest first. Immutable: a frozen view keeps the one it has."""

    entries: tuple[FeedEntry, ...] = ()

    @property
    def last_seq(self) -> int:
        return self.entries[-1].seq if self.entries else 0

    def merged(self, feed: Sequence[FeedEntry]) -> FeedLog:
        """With what is new in `feed`. A feed whose newest entry is older than ours is another engine's: it replaces everything."""
        ordered = sorted(feed, key=lambda entry: entry.seq)
        if not ordered:
            return self
        if ordered[-1].seq < self.last_seq:
            return FeedLog(tuple(ordered[-KEPT:]))
        fresh = tuple(entry for entry in ordered if entry.seq > self.last_seq)
        return FeedLog((self.entries + fresh)[-KEPT:]) if fresh else self

    def after(self, seq: int) -> tuple[FeedEntry, ...]:
        return tuple(entry for entry in self.entries if entry.seq > seq)


def key_of(entry: FeedEntry) -> str:
    return str(entry.seq)


def severity_tone(severity: str) -> Tone:
    return {"notice": Tone.INFO, "warning": Tone.WARN, "error": Tone.BAD}.get(severity, Tone.DIM)


def _mark(entry: FeedEntry, frame: Frame, cells: int) -> Line:
    glyphs = frame.look.glyphs
    mark = {"notice": glyphs.fallback, "warning": glyphs.alarm, "error": glyphs.disabled}.get(entry.severity, glyphs.dot)
    return span(mark, severity_tone(entry.severity))


def _at(entry: FeedEntry, frame: Frame, cells: int) -> Line:
    return span(times.clock(entry.at, utc=frame.look.utc), Tone.DIM)


def _kind(entry: FeedEntry, frame: Frame, cells: int) -> Line:
    return span(shorten(frame.look.safe(entry.kind), cells, ellipsis=frame.look.glyphs.ellipsis), Tone.DIM)


def _text(entry: FeedEntry, frame: Frame, cells: int) -> Line:
    """Whole when it fits; else what tells one entry from the next: a shorter name, shorter words, and only then an ellipsis."""
    texts = (entry.text, *(text for shorter in _SHORTER if (text := shorter(entry.text)) is not None))
    line: Line = ()
    for text in texts:
        for name_cells in (cells, _NAME):
            line = _line(entry, frame, frame.look.safe(text), name_cells)
            if line_width(line) <= cells:
                return line
    return line


def _line(entry: FeedEntry, frame: Frame, text: str, name_cells: int) -> Line:
    """The session first where the entry is about one; a window is its profile's, whoever met it."""
    tone = Tone.TEXT if entry.severity in ("info", "notice") else severity_tone(entry.severity)
    if entry.session is None or entry.kind == "window" or entry.session in text:
        return span(text, tone)
    name = states.short_key(frame.look.safe(entry.session), name_cells, frame.look.glyphs.ellipsis)
    return ((f"{name} ", Tone.STRONG), (text, tone))


def _gist(text: str) -> str | None:
    """`started anthropic:me 30s overloaded`, `fell back to gpt-5.5: rate limit +1`."""
    if found := _WINDOW.fullmatch(text):
        kind = "" if found["kind"] == "cooldown" else f" {found['kind']}"
        return f"{found['verb']} {found['profile']}{kind} {found['rest']}"
    if found := _FALLBACK.fullmatch(text):
        reason, more = states.short_reason(found["reason"])
        return f"fell back to {states.short_model(found['active'])}: {reason} {more}".rstrip()
    if found := _CLEARED.fullmatch(text):
        return f"back on {states.short_model(found['selected'])}"
    if found := _ACT.fullmatch(text):
        return f"{found['act']}: {found['what']}"
    return None


def _terse(text: str) -> str | None:
    found = _FALLBACK.fullmatch(text)
    return f"→ {states.short_model(found['active'])}: {' '.join(states.short_reason(found['reason']))}".rstrip() if found else None


def _without_scope(text: str) -> str | None:
    found = _WINDOW.fullmatch(text)
    return text.removesuffix(found["scope"]) if found and found["scope"] else None


_NAME, _KEY = 18, 200
_WINDOW = re.compile(
    r"(?P<verb>started|ended|cleared) (?P<profile>\S+) (?P<kind>cooldown|disabled|blocked) (?P<rest>.*?)(?P<scope> \([^()]*\))?"
)
_FALLBACK = re.compile(r"\S+ Model Fallback: (?P<active>\S+) \(selected \S+; (?P<reason>.*)\)")
_CLEARED = re.compile(r"\S+ Model Fallback cleared: (?P<selected>\S+) \(was \S+\)")
_ACT = re.compile(r"\S+ \([^()]*\): (?P<act>[a-z_-]+): (?P<what>.*)")
_SHORTER = (_without_scope, _gist, _terse)

COLUMNS: tuple[Column[FeedEntry], ...] = (
    Column("at", "time", 8, _at),
    Column("mark", "", 1, _mark, gap=" "),
    Column("kind", "kind", 16, _kind, rank=7, measure=lambda e, f: width(f.look.safe(e.kind))),
    Column(
        "text",
        "what happened",
        26,
        _text,
        rank=1,
        grow=400,
        measure=lambda e, f: line_width(_line(e, f, f.look.safe(e.text), _KEY)),
        gap=" ",
    ),
)


def rows(entries: Sequence[FeedEntry], query: str, session: str | None) -> list[FeedEntry]:
    """Those that pass the filter, and of one session only when one is given."""
    some = [e for e in entries if e.session == session] if session is not None else entries
    return list(filters.keep(some, query, lambda e: (e.text, e.session, e.kind, e.severity, e.profile, e.provider, e.turn)))


def empty(filtered: bool) -> tuple[Line, ...]:
    if filtered:
        return (span("no notice matches the filter (esc clears it)", Tone.DIM),)
    return (
        span("Nothing has happened yet."),
        span("Model fallbacks, windows that open and end, operator acts and alarms appear here.", Tone.DIM),
    )
