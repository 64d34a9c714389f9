"""What surrounds a console: what may ring, where bundles go, whether the process may be suspended, and the demo behind it if there is one.
Values only; nothing here acts or draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from engine.domain.settings import ConsoleSettings
from engine.simulation.demo.director import Director


@dataclass(frozen=True, slots=True)
class Around:
    """settings: of alerts. may_suspend: nothing but a screen would stop with ctrl+z. bundles: the folder that `x` exports to; the demo's is
    not its own, which goes with it. director: of the demo. tour: it explains itself, stop by stop."""

    settings: ConsoleSettings = field(default_factory=ConsoleSettings)
    may_suspend: bool = False
    bundles: Path | None = None
    director: Director | None = None
    tour: bool = False
