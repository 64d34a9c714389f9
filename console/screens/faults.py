"""The demo's fault panel: break or heal any provider, profile or model by hand; pause, step and restart the script. It directs the demo's
world, never the engine: what the engine makes of it is the show."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from console.screens.modal import Modal
from console.screens.picker import Choice, PickerScreen
from console.view import faults
from console.view.frame import Frame
from console.view.lines import Line, Tone
from console.widgets.bar import Bar
from console.widgets.lines import LineList
from engine.simulation.demo.director import Director, TargetState
from engine.simulation.demo.script import Behaviour

_KEYS = (
    ("enter b", "break"),
    ("h", "heal"),
    ("a", "as the script says"),
    ("A", "all so"),
    ("p", "pause"),
    ("n", "step"),
    ("R", "restart"),
    ("esc", "back"),
)


class FaultScreen(Modal[None]):
    """Stays open while things break, so that it may be followed beside the traffic's figures."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,q,exclamation_mark", "leave", show=False),
        Binding("enter,b", "break", show=False),
        Binding("h", "heal", show=False),
        Binding("a", "release", show=False),
        Binding("A", "release_all", show=False),
        Binding("p", "pause", show=False),
        Binding("n", "step", show=False),
        Binding("R", "restart", show=False),
    ]

    def __init__(self, director: Director, frame: Frame) -> None:
        super().__init__()
        self._director = director
        self._frame = frame
        self.subject = None
        self.script = Bar(id="fault-script")
        self.list: LineList[TargetState] = LineList(lambda state: state.target, draw=faults.draw, id="picker-list")

    def compose(self) -> ComposeResult:
        with Vertical(id="faults", classes="box"):
            yield self.script
            yield self.list
            keys = Bar(id="fault-keys")
            words: Line = tuple(part for key, text in _KEYS for part in ((key, Tone.INFO), (f" {text}  ", Tone.TEXT)))
            keys.show([words[: len(words) // 2], words[len(words) // 2 :]])
            yield keys

    def on_mount(self) -> None:
        self.list.focus()
        self.follow(self._frame)

    def follow(self, frame: Frame) -> bool:
        self._frame = frame
        self.script.show(faults.script_line(self._director.place(), frame))
        self.list.show(list(self._director.states()), frame)
        return True

    def _again(self) -> None:
        self.follow(self._frame)

    def action_break(self) -> None:
        state = self.list.current
        if state is None:
            return
        target = state.target
        all_of_them = [Choice(b.value, faults.choice(b), f"{target}: {faults.WORDS[b]}") for b in Behaviour]

        def choices(query: str) -> list[Choice]:
            return [one for one in all_of_them if query.casefold() in f"{one.id} {one.hint}".casefold()]

        def chosen(behaviour: str | None) -> None:
            if behaviour is not None:
                self._director.set(target, Behaviour(behaviour))
                self._again()

        start = Behaviour.RATE_LIMIT.value
        self.app.push_screen(PickerScreen(f"What {target} does from now on", choices, self._frame, start=start), chosen)

    def action_heal(self) -> None:
        if self.list.current is not None:
            self._director.set(self.list.current.target, Behaviour.OK)
            self._again()

    def action_release(self) -> None:
        if self.list.current is not None:
            self._director.release(self.list.current.target)
            self._again()

    def action_release_all(self) -> None:
        self._director.release()
        self._again()

    def action_pause(self) -> None:
        self._director.pause()
        self._again()

    def action_step(self) -> None:
        self._director.step()
        self._again()

    def action_restart(self) -> None:
        self._director.restart()
        self._again()

    def action_leave(self) -> None:
        self.dismiss(None)
