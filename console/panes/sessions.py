"""Pane 1: every session the gateway has seen. What a row says is decided in `console.view.sessions`."""

from __future__ import annotations

from typing import ClassVar

from console.panes.pane import Pane
from console.view import sessions, states
from console.view.frame import Frame
from console.view.lines import EMPTY, Line, Tone, span
from console.widgets.table import LineTable
from engine.domain.snapshot import SessionView


class SessionsPane(Pane):
    number: ClassVar[int] = 1
    name_word: ClassVar[str] = "Sessions"

    def __init__(self) -> None:
        self.table = LineTable(sessions.COLUMNS, sessions.key_of, order=sessions.DEFAULT_ORDER, id="sessions-list")
        super().__init__(self.table, id="sessions")

    @property
    def selected(self) -> SessionView | None:
        return self.table.current

    def make_rows(self, frame: Frame) -> list[SessionView]:
        if frame.snapshot is None or self.table.order is None:
            return []
        return sessions.rows(frame.snapshot.sessions, self.filter_text, self.table.order, frame)

    def empty_lines(self, frame: Frame) -> tuple[Line, ...]:
        if frame.snapshot is None:
            return (span("waiting for the engine", Tone.DIM),)
        return sessions.empty(frame.snapshot.address, frame, bool(self.filter_text))

    def total(self) -> int:
        return len(self._frame.snapshot.sessions) if self._frame.snapshot is not None else 0

    def title_parts(self) -> list[Line]:
        return [span(f"sort: {self.table.order_words()}", Tone.DIM)]

    def note_line(self, frame: Frame, cells: int) -> Line:
        return sessions.summary(self.selected, frame, cells) if self.selected is not None else EMPTY

    def problems(self) -> list[int]:
        return [place for place, session in enumerate(self.table.items) if states.session_problem(session)]
