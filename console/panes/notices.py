"""Pane 3: the feed. It follows while its last line is under the cursor, and holds still while somebody reads further up."""

from __future__ import annotations

from typing import ClassVar

from console.panes.pane import Pane
from console.view import notices
from console.view.frame import Frame
from console.view.lines import EMPTY, Line, Tone, span, wrap_into
from console.view.notices import FeedLog
from console.widgets.table import LineTable
from engine.domain.snapshot import FeedEntry


class NoticesPane(Pane):
    """only: the session whose entries are shown, None for all; it follows the selection when the operator asked for that."""

    number: ClassVar[int] = 3
    name_word: ClassVar[str] = "Notices"

    def __init__(self) -> None:
        self.table = LineTable(notices.COLUMNS, notices.key_of, tail=True, id="notices-list")
        super().__init__(self.table, id="notices")
        self.log_of_feed = FeedLog()
        self.only: str | None = None
        self._read_to = 0

    @property
    def selected(self) -> FeedEntry | None:
        return self.table.current

    @property
    def unread(self) -> int:
        """Entries below what was last followed to."""
        return 0 if self.following else sum(1 for entry in self.table.items if entry.seq > self._read_to)

    @property
    def following(self) -> bool:
        return self.table.at_end

    def make_rows(self, frame: Frame) -> list[FeedEntry]:
        return notices.rows(self.log_of_feed.entries, self.filter_text, self.only)

    def empty_lines(self, frame: Frame) -> tuple[Line, ...]:
        return notices.empty(bool(self.filter_text or self.only))

    def retitle(self) -> None:
        if self.following and self.table.items:
            self._read_to = self.table.items[-1].seq
        super().retitle()

    def total(self) -> int:
        return len(self.log_of_feed.entries)

    def title_parts(self) -> list[Line]:
        state = span("follow", Tone.DIM) if self.following else span(f"{self.unread} new below (G)", Tone.INFO)
        return [state, span(f"only {self._frame.look.safe(self.only)}", Tone.INFO)] if self.only is not None else [state]

    def note_lines(self, frame: Frame, cells: int) -> list[Line]:
        """The entry under the cursor, whole: over as many lines as the note has."""
        entry = self.selected
        height = max(1, self.note.size.height)
        if entry is None:
            return [EMPTY] * height
        text = span(frame.look.safe(entry.text), notices.severity_tone(entry.severity))
        return list(wrap_into(text, cells, height, frame.look.glyphs.ellipsis))
