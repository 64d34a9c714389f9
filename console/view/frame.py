"""What one drawing of the screen is made from: a snapshot, an instant, how true it is, and how it should look.

Panes get a frame and nothing else; a frame never reaches back to the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from console.view.look import Look
from engine.domain.snapshot import ProfileView, SessionView, Snapshot


class Truth(StrEnum):
    """How far the values may be believed. The words are drawn as they stand."""

    WAITING = "CONNECTING"
    LIVE = "LIVE"
    FROZEN = "FROZEN"
    STALE = "STALE"
    DOWN = "ENGINE DOWN"


@dataclass(frozen=True, slots=True)
class Frame:
    """now: the engine's clock, estimated, epoch ms. age_ms: of the snapshot, in real time. behind: events since a frozen view.
    trouble: what the engine's absence was told as. since_key: feed entries since the operator last looked."""

    snapshot: Snapshot | None
    now: int
    look: Look = field(default_factory=Look)
    truth: Truth = Truth.LIVE
    age_ms: int = 0
    behind: int = 0
    trouble: str = ""
    since_key: int = 0
    read_only: bool = False

    @property
    def stale(self) -> bool:
        """The values are older than they look."""
        return self.truth in (Truth.STALE, Truth.DOWN)

    def session(self, key: str | None) -> SessionView | None:
        if self.snapshot is None or key is None:
            return None
        return next((s for s in self.snapshot.sessions if s.key == key), None)

    def profile(self, profile: str | None) -> ProfileView | None:
        if self.snapshot is None or profile is None:
            return None
        return next((p for p in self.snapshot.profiles if p.profile == profile), None)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a dialog or a picker is about: the identity under the cursor when its key was pressed. It may vanish meanwhile."""

    session: str

    def there(self, frame: Frame) -> bool:
        return frame.session(self.session) is not None

    @property
    def gone(self) -> str:
        return f"{self.session} is gone: nothing was done"
