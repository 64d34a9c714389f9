"""Pane 4: what the selected session's next turn would do. The preview shown always belongs to the session in the title."""

from __future__ import annotations

from typing import ClassVar

from console.panes.pane import Pane
from console.view import chain
from console.view.chain import ChainRow
from console.view.frame import Frame
from console.view.lines import Line, Tone, span, wrap_into
from console.widgets.lines import LineList
from engine.domain.snapshot import Preview


class _ChainList(LineList[ChainRow]):
    _names: tuple[object, int, chain.Names] = (None, 0, chain.Names(0, 0))

    def draw_item(self, item: ChainRow, cells: int) -> Line:
        of, room, names = self._names
        if of is not self.items or room != cells:
            names = chain.names_width(tuple(self.items), self.frame, cells)
            self._names = (self.items, cells, names)
        return chain.draw(item, self.frame, cells, names)


class ChainPane(Pane):
    number: ClassVar[int] = 4
    name_word: ClassVar[str] = "Chain"

    def __init__(self) -> None:
        super().__init__(_ChainList(chain.key_of, id="chain-list"), id="chain")
        self.session: str | None = None
        self.preview: Preview | None = None
        self.problem: str | None = None

    def bind_to(self, session: str | None) -> None:
        """Another session: the old preview is not shown under its name for an instant."""
        if session != self.session:
            self.session, self.preview, self.problem = session, None, None
            self.update(self._frame)

    def show_preview(self, preview: Preview, frame: Frame) -> None:
        if preview.session == self.session:
            self.preview, self.problem = preview, None
            self.update(frame)

    def show_problem(self, session: str, problem: str, frame: Frame) -> None:
        if session == self.session:
            self.problem = problem
            self.update(frame)

    @property
    def profile(self) -> str | None:
        """The profile under the cursor, if the cursor is on one."""
        row = self.lines.current
        return row.verdict.profile if isinstance(row, ChainRow) and row.verdict is not None else None

    def make_rows(self, frame: Frame) -> tuple[ChainRow, ...]:
        return chain.rows(self.preview, frame)

    def empty_lines(self, frame: Frame) -> tuple[Line, ...]:
        if self.session is None:
            return (
                span("Select a session to see what its next turn would do:", Tone.DIM),
                span("each candidate with its verdict, each profile with its window.", Tone.DIM),
            )
        if self.problem is not None:
            return (span(f"no preview: {frame.look.safe(self.problem)}", Tone.WARN),)
        return (span("asking the engine", Tone.DIM),)

    def count_text(self) -> str:
        return ""

    def title_parts(self) -> list[Line]:
        return [span(self._frame.look.safe(self.session, 40), Tone.INFO)] if self.session is not None else []

    def note_lines(self, frame: Frame, cells: int) -> list[Line]:
        """What the next turn would do, and under it what the row under the cursor means."""
        row = self.lines.current if isinstance(self.lines.current, ChainRow) else None
        told = wrap_into(chain.explained(row, frame), cells, max(1, self.note.size.height - 1), frame.look.glyphs.ellipsis)
        return [chain.headline(self.preview, self.session, frame, cells), *told]
