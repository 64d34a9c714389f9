"""A screen to read: details, decisions, help, what happened. Lines are made again with every frame, so it is as live as the panes.

Reading only; esc or q goes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from console.screens.modal import Modal
from console.view.frame import Frame
from console.view.header import truth_word
from console.view.lines import Line, Tone, fit_parts, join, plain, span, wrap
from console.widgets.bar import Bar
from console.widgets.lines import LineList, Numbered

_COPIED_CELLS = 160
_FRAME = 7
"""Cells of a line that padding, margin and scrollbar take."""


class TextScreen(Modal[None]):
    """make: lines for a frame and a width. copy: what `y` copies, if anything. hang: how much further right a broken line goes on.
    ask, to be set: told of every frame, to ask for what the frame does not hold."""

    class Copied(Message):
        """Somebody wants this text on the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c", "leave", show=False),
        Binding("question_mark,f1", "leave", show=False),
        Binding("y", "copy", show=False),
        Binding("Y", "copy_all", show=False),
    ]

    def __init__(
        self,
        title: str,
        make: Callable[[Frame, int], tuple[Line, ...]],
        frame: Frame,
        *,
        copy: str | None = None,
        hang: int = 2,
    ) -> None:
        super().__init__()
        self._title = title
        self._make = make
        self._frame = frame
        self._copy = copy
        self._hang = hang
        self.ask: Callable[[Frame], None] | None = None
        self.list: LineList[Numbered] = LineList(Numbered.key, draw=Numbered.draw, cursor=False, id="text-list")
        self.bar = Bar(id="text-title")
        self.keys = Bar(id="text-keys")

    def compose(self) -> ComposeResult:
        yield self.bar
        yield self.list
        yield self.keys

    def on_mount(self) -> None:
        self.list.focus()
        self.follow(self._frame)

    def on_resize(self) -> None:
        self.call_after_refresh(self.follow, self._frame)

    def follow(self, frame: Frame) -> bool:
        """Made again for another frame; where the reader is stays."""
        self._frame = frame
        if self.ask is not None:
            self.ask(frame)
        cells = max(10, self.size.width - _FRAME)
        lines = [part for line in self._make(frame, cells) for part in wrap(line, cells, self._hang)]
        self.list.show([Numbered(place, line) for place, line in enumerate(lines)], frame)
        truth = span(truth_word(frame), Tone.BAD if frame.stale else Tone.DIM)
        self.bar.show([((" ", Tone.TEXT), *fit_parts([(0, span(self._title, Tone.STRONG)), (1, truth)], self.size.width - 2))])
        keys: list[Line] = [(("esc", Tone.INFO), (" back", Tone.TEXT)), (("j k", Tone.INFO), (" scroll", Tone.TEXT))]
        if self._copy is not None:
            keys.append((("y", Tone.INFO), (" copy id", Tone.TEXT)))
        keys.append((("Y", Tone.INFO), (" copy all", Tone.TEXT)))
        self.keys.show([((" ", Tone.TEXT), *join(keys))])
        return True

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_copy_all(self) -> None:
        # As wide as it takes: what is pasted elsewhere is wrapped there.
        text = "\n".join(plain(line).rstrip() for line in self._make(self._frame, _COPIED_CELLS))
        self.post_message(self.Copied(f"{self._title}\n\n{text}"))

    def action_copy(self) -> None:
        if self._copy is not None:
            self.post_message(self.Copied(self._copy))
