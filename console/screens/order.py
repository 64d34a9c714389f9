"""The order of a provider's profiles: move them, leave some out, go back to the configured order. It edits a list; it acts on nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from console.screens.modal import Modal
from console.view.frame import Frame
from console.view.lines import Line, Tone, pad, span
from console.widgets.lines import LineList
from console.widgets.paint import paint_of
from engine.domain.ids import ProfileId


@dataclass(frozen=True, slots=True)
class Rank:
    """One profile. used False: left out of the order, so it is not tried."""

    profile: ProfileId
    used: bool = True


@dataclass(frozen=True, slots=True)
class Chosen:
    """profiles None: the configured order counts again."""

    profiles: tuple[ProfileId, ...] | None


class OrderScreen(Modal[Chosen | None]):
    """Dismissed with the new order, or None. draw: a profile's state, for the line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,q", "leave", show=False),
        Binding("enter", "done", show=False),
        Binding("K,shift+up", "move(-1)", show=False),
        Binding("J,shift+down", "move(1)", show=False),
        Binding("space", "use", show=False),
        Binding("delete,backspace", "configured", show=False),
    ]

    def __init__(self, title: str, ranks: Sequence[Rank], rule: str, draw: Callable[[ProfileId], Line], frame: Frame) -> None:
        super().__init__()
        self._title = title
        self._rule = rule
        self._ranks = list(ranks)
        self._draw = draw
        self._frame = frame
        self.subject = None
        self.list: LineList[Rank] = LineList(lambda rank: rank.profile, draw=self._line, id="picker-list")

    def compose(self) -> ComposeResult:
        paint = paint_of(self.app)
        with Vertical(id="order", classes="box"):
            yield Static(paint.content(span(self._title, Tone.STRONG)), classes="dialog-title")
            yield Static(paint.content(span(f"now: rule {self._rule}", Tone.DIM)))
            yield self.list
            words = (("J K", " move"), ("space", " use or leave out"), ("enter", " set"), ("del", " as configured"), ("esc", " cancel"))
            yield Static(
                paint.content(tuple(part for key, text in words for part in ((key, Tone.INFO), (f"{text}  ", Tone.TEXT)))), id="picker-hint"
            )

    def on_mount(self) -> None:
        self.list.show(list(self._ranks), self._frame, (span("this provider has no profile", Tone.DIM),))
        self.list.focus()

    def follow(self, frame: Frame) -> bool:
        return True

    def _line(self, rank: Rank, frame: Frame, cells: int) -> Line:
        place = [r for r in self._ranks if r.used].index(rank) + 1 if rank.used else 0
        number = span(f"{place:>8} " if rank.used else "left out ", Tone.STRONG if rank.used else Tone.WARN)
        return pad((*number, *self._draw(rank.profile)), cells)

    def _refresh(self, key: str) -> None:
        self.list.show(list(self._ranks), self._frame)
        self.list.move_to_key(key)

    def action_move(self, step: int) -> None:
        rank = self.list.current
        if rank is None:
            return
        place = self._ranks.index(rank)
        to = max(0, min(place + step, len(self._ranks) - 1))
        self._ranks.insert(to, self._ranks.pop(place))
        self._refresh(rank.profile)

    def action_use(self) -> None:
        rank = self.list.current
        if rank is not None:
            self._ranks[self._ranks.index(rank)] = Rank(rank.profile, not rank.used)
            self._refresh(rank.profile)

    def action_done(self) -> None:
        self.dismiss(Chosen(tuple(rank.profile for rank in self._ranks if rank.used)))

    def action_configured(self) -> None:
        self.dismiss(Chosen(None))

    def action_leave(self) -> None:
        self.dismiss(None)
