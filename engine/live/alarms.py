"""What is wrong right now: one line for each cause, raised once, lowered by itself when the cause is gone. An alarm is a condition;
things that merely happened go to the feed."""

from __future__ import annotations

from collections.abc import Callable

from engine.live.bus import EventBus
from engine.live.feed import Feed


class Alarms:
    """`kind` names the cause (`store`, `config`, `clock`, `all_down`, `pin:<session>`) and identifies the alarm."""

    def __init__(self, bus: EventBus, feed: Feed, touch: Callable[[], None]) -> None:
        self._bus = bus
        self._feed = feed
        self._touch = touch
        self._standing: dict[str, str] = {}

    def sound(self, kind: str, text: str, *, quietly: bool = False, **data: object) -> None:
        """The alarm stands with this text; said again only when the text is another one, and not `quietly`."""
        if self._standing.get(kind) == text:
            return
        self._standing[kind] = text
        self._touch()
        if quietly:
            return
        self._bus.publish("alarm", kind=kind, text=text, **data)
        self._feed.say("error", "alarm", text)

    def lower(self, kind: str) -> None:
        """The cause is gone; nothing happens if the alarm did not stand."""
        text = self._standing.pop(kind, None)
        if text is not None:
            self._bus.publish("alarm_cleared", kind=kind, text=text)
            self._feed.say("info", "alarm", f"over: {text}")

    def stands(self, kind: str) -> bool:
        return kind in self._standing

    def standing(self, prefix: str) -> list[str]:
        """The kinds that begin with `prefix` and stand."""
        return [kind for kind in self._standing if kind.startswith(prefix)]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self._standing.values())
