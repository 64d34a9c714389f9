"""Which snapshot is the newest: a number that grows with every change, and the sessions whose rows must be made anew. Nothing is
rendered here."""

from __future__ import annotations

from engine.domain.ids import SessionKey


class Revision:
    def __init__(self) -> None:
        self.value = 0
        self.sessions: dict[SessionKey, None] = {}
        self.everything = True

    def touch(self) -> None:
        """Something changed that belongs to no session."""
        self.value += 1

    def touch_session(self, key: SessionKey) -> None:
        self.sessions[key] = None
        self.value += 1

    def touch_everything(self) -> None:
        """The configuration, or the stored state as a whole, is another."""
        self.everything = True
        self.value += 1
