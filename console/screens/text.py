"""A screen to read: details, decisions, help, what happened. Lines are made again with every frame, so it is as live as the panes.

Reading only; esc or q goes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from console.screens.modal import Modal
from console.view.filters import matcher
from console.view.frame import Frame
from console.view.header import truth_word
from console.view.lines import Line, Tone, fit_parts, join, plain, span, wrap
from console.widgets.bar import Bar
from console.widgets.lines import LineList, Numbered

_COPIED_CELLS = 160
_FRAME = 7
"""Cells of a line that padding, margin and scrollbar take."""


class FindInput(Input):
    """Where a search is typed; enter and the first esc keep it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "submit", show=False)]

    async def action_submit(self) -> None:
        # At once, not by a message: an `n` typed right after enter is a key already.
        self.query_ancestor(TextScreen).list.focus()


class TextScreen(Modal[None]):
    """make: lines for a frame and a width. copy: what `y` copies, if anything. hang: how much further right a broken line goes on.
    ask, to be set: told of every frame, to ask for what the frame does not hold."""

    class Copied(Message):
        """Somebody wants this text on the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", show=False),
        Binding("q,ctrl+c", "leave", show=False),
        Binding("/", "find", id="filter", show=False),
        Binding("n", "found(1)", id="next_match", show=False),
        Binding("N", "found(-1)", id="previous_match", show=False),
        Binding("space", "page_on", show=False),
        Binding("tab,shift+tab,left,right,h,l", "nowhere", show=False),
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
        self._places: list[int] = []
        self._found = 0
        self.list: LineList[Numbered] = LineList(Numbered.key, draw=Numbered.draw, cursor=False, id="text-list")
        self.bar = Bar(id="text-title")
        self.keys = Bar(id="text-keys")

    def compose(self) -> ComposeResult:
        yield self.bar
        yield self.list
        with Horizontal(classes="filter"):
            slash = Bar(classes="slash")
            slash.show([span("/", Tone.INFO)])
            yield slash
            yield FindInput(placeholder="words of one line; n and N go to the next and the previous", compact=True, select_on_focus=False)
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
        self._look_for(self.query_one(FindInput).value)
        keys: list[Line] = [
            (("esc", Tone.INFO), (" back", Tone.TEXT)),
            (("j k space", Tone.INFO), (" scroll", Tone.TEXT)),
            (("/", Tone.INFO), (" find", Tone.TEXT)),
            (("n N", Tone.INFO), (" next, previous", Tone.TEXT)),
        ]
        if self._copy is not None:
            keys.append((("y", Tone.INFO), (" copy id", Tone.TEXT)))
        keys.append((("Y", Tone.INFO), (" copy all", Tone.TEXT)))
        self.keys.show([((" ", Tone.TEXT), *join(keys))])
        return True

    # Looking for words.

    def _look_for(self, query: str) -> None:
        test = matcher(query)
        self._places = [] if test is None else [line.place for line in self.list.items if test(plain(line.line).casefold())]
        self._found = min(self._found, max(0, len(self._places) - 1))
        truth = span(truth_word(self._frame), Tone.BAD if self._frame.stale else Tone.DIM)
        count = f"{self._found + 1} of {len(self._places)}" if self._places else "not found"
        parts = [(0, span(self._title, Tone.STRONG)), (2, truth)]
        if test is not None:
            parts.append((1, span(f"/{self._frame.look.safe(query.strip())}  {count}", Tone.INFO if self._places else Tone.WARN)))
        self.bar.show([((" ", Tone.TEXT), *fit_parts(parts, self.size.width - 2))])

    def _go_to_found(self) -> None:
        self._look_for(self.query_one(FindInput).value)
        self.list.mark(self._places[self._found] if self._places else None)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._found = 0
        self._look_for(event.value)
        # From where the reader is, not from the top.
        self._found = next((n for n, place in enumerate(self._places) if place >= self.list.top), 0)
        self._go_to_found()

    def action_find(self) -> None:
        self.add_class("-filtering")
        self.query_one(FindInput).focus()

    def action_found(self, step: int) -> None:
        if not self.query_one(FindInput).value.strip():
            self.action_find()
        elif self._places:
            self._found = (self._found + step) % len(self._places)
            self._go_to_found()

    def action_back(self) -> None:
        entry = self.query_one(FindInput)
        if entry.value or self.has_class("-filtering"):
            entry.value = ""
            self.remove_class("-filtering")
            self.list.focus()
        else:
            self.action_leave()

    def action_page_on(self) -> None:
        self.list.action_go("page_down")

    def action_nowhere(self) -> None:
        """A text has no other pane and no columns to go to."""

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_copy_all(self) -> None:
        # As wide as it takes: what is pasted elsewhere is wrapped there.
        text = "\n".join(plain(line).rstrip() for line in self._make(self._frame, _COPIED_CELLS))
        self.post_message(self.Copied(f"{self._title}\n\n{text}"))

    def action_copy(self) -> None:
        if self._copy is not None:
            self.post_message(self.Copied(self._copy))
