"""The guided tour of the demo: stops that explain what is to be seen, each shown when its moment has come. It reads frames and holds only
where it is; nothing here acts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from console.view.frame import Frame
from console.view.lines import Line, Tone
from engine.domain.snapshot import ProfileState, Snapshot

Ready = Callable[[Snapshot], bool]


@dataclass(frozen=True, slots=True)
class Stop:
    """ready: when there is something to see of it. text: for people who show this to others."""

    text: str
    ready: Ready = lambda snapshot: True


def _cooling(snapshot: Snapshot) -> bool:
    return any(p.state in (ProfileState.COOLDOWN, ProfileState.DISABLED, ProfileState.BLOCKED) for p in snapshot.profiles)


def _fallback(snapshot: Snapshot) -> bool:
    return any(session.on_fallback for session in snapshot.sessions)


def _recovered(snapshot: Snapshot) -> bool:
    return any("cleared" in entry.text for entry in snapshot.feed if entry.kind == "notice")


STOPS: tuple[Stop, ...] = (
    Stop(
        "Five applications send requests through this gateway. Each line of Sessions (1) is one of them: what it selected, what serves it."
    ),
    Stop(
        "Chain (4) shows what the selected session's next turn would do, by the very rules that decide it. j and k choose another session."
    ),
    Stop("A key is resting now: Profiles (2) says until when and why. Its neighbour takes over; no application has noticed.", _cooling),
    Stop(
        "A whole model failed: the session fell back to the next one. The row shows both models, the reason, and since when.",
        _fallback,
    ),
    Stop(
        "e shows why: each decision with its rule, its numbers and the provider's own words. enter shows the turns as waterfalls.",
        _fallback,
    ),
    Stop("w asks what if: type `openai:work gets 429` and see the chain that would follow. Nothing is called.", _fallback),
    Stop("Every five minutes the primary is probed on the way. It answered: the session is back, and Notices (3) say so.", _recovered),
    Stop("Now break something yourself: ! opens the fault panel. p pins a profile, u takes the last act back, ? lists every key."),
)


@dataclass(slots=True)
class Tour:
    """place: the stop that is shown."""

    place: int = 0

    def go_on(self) -> None:
        self.place += 1

    @property
    def over(self) -> bool:
        return self.place >= len(STOPS)

    def line(self, frame: Frame, key: str) -> tuple[Line, ...]:
        """The banner's lines: the stop, or what it waits for."""
        if self.over or frame.snapshot is None:
            return ()
        stop = STOPS[self.place]
        head = (f"TOUR {self.place + 1}/{len(STOPS)} ", Tone.INFO)
        if not stop.ready(frame.snapshot):
            waiting = " waiting for the script: the next stop comes by itself "
            return ((head, (waiting, Tone.DIM), (f"{key} goes on without it", Tone.DIM)),)
        return ((head, (f" {stop.text}", Tone.TEXT), (f"  {key} goes on", Tone.DIM)),)
