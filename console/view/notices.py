"""The Notices feed: what happened, newest last, kept by this console beyond what one snapshot carries, and capped.

Entries are the engine's; nothing is said here that the engine did not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.view import filters, times
from console.view.frame import Frame
from console.view.lines import Line, Tone, span
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


def _session(entry: FeedEntry, frame: Frame, cells: int) -> Line:
    return span(shorten(frame.look.safe(entry.session) or "-", cells, ellipsis=frame.look.glyphs.ellipsis), Tone.DIM)


def _text(entry: FeedEntry, frame: Frame, cells: int) -> Line:
    tone = Tone.TEXT if entry.severity in ("info", "notice") else severity_tone(entry.severity)
    return span(frame.look.safe(entry.text), tone)


COLUMNS: tuple[Column[FeedEntry], ...] = (
    Column("at", "time", 8, _at),
    Column("mark", "", 1, _mark, gap=" "),
    Column("session", "session", 11, _session, rank=2, grow=24, measure=lambda e, f: width(f.look.safe(e.session)), gap=" "),
    Column("kind", "kind", 16, lambda e, f, n: span(f.look.safe(e.kind), Tone.DIM), rank=7),
    Column("text", "what happened", 26, _text, rank=1, grow=400, measure=lambda e, f: width(f.look.safe(e.text))),
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
