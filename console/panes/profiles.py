"""Pane 2: the credentials and their windows. What a row says is decided in `console.view.profiles`."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult

from console.panes.pane import Pane
from console.view import capacity, profiles, states
from console.view.frame import Frame
from console.view.lines import EMPTY, Line, Tone, span
from console.widgets.bar import Bar
from console.widgets.table import LineTable
from engine.domain.snapshot import ProfileView


class ProfilesPane(Pane):
    number: ClassVar[int] = 2
    name_word: ClassVar[str] = "Profiles"

    def __init__(self) -> None:
        self.table = LineTable(profiles.COLUMNS, profiles.key_of, order=profiles.DEFAULT_ORDER, id="profiles-list")
        super().__init__(self.table, id="profiles")
        self.capacity = Bar(classes="capacity")

    def above_note(self) -> ComposeResult:
        yield self.capacity

    def retitle(self) -> None:
        super().retitle()
        frame, cells = self._frame, max(4, self.size.width - 4)
        if frame.snapshot is not None and frame.snapshot.profiles and cells >= capacity.LEAST_CELLS:
            self.capacity.show([capacity.draw(frame.snapshot.profiles, frame, cells)])
        else:
            self.capacity.show([EMPTY])

    @property
    def selected(self) -> ProfileView | None:
        return self.table.current

    def make_rows(self, frame: Frame) -> list[ProfileView]:
        if frame.snapshot is None or self.table.order is None:
            return []
        return profiles.rows(frame.snapshot.profiles, self.filter_text, self.table.order, frame)

    def empty_lines(self, frame: Frame) -> tuple[Line, ...]:
        if frame.snapshot is None:
            return (span("waiting for the engine", Tone.DIM),)
        return profiles.empty(frame, bool(self.filter_text))

    def total(self) -> int:
        return len(self._frame.snapshot.profiles) if self._frame.snapshot is not None else 0

    def title_parts(self) -> list[Line]:
        return [span(f"sort: {self.table.order_words()}", Tone.DIM)]

    def note_line(self, frame: Frame, cells: int) -> Line:
        return profiles.summary(self.selected, frame, cells) if self.selected is not None else EMPTY

    def problems(self) -> list[int]:
        return [place for place, profile in enumerate(self.table.items) if states.profile_problem(profile)]
