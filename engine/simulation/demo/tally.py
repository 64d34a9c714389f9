"""The last line of a headless demo: what its events came to. Counts events and knows no rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


class Tally:
    """Feed it every event in order; `summary` may be asked at any time."""

    def __init__(self) -> None:
        self._events: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._served: Counter[str] = Counter()
        self._notices: Counter[str] = Counter()

    def add(self, event: Mapping[str, object]) -> None:
        name = str(event.get("event"))
        self._events[name] += 1
        if name == "turn_finished":
            inner = event.get("result")
            result = inner if isinstance(inner, Mapping) else event
            self._outcomes[str(result.get("outcome"))] += 1
            if result.get("active"):
                self._served[str(result["active"])] += 1
        elif name == "notice":
            self._notices["cleared" if "Fallback cleared" in str(event.get("text")) else "fallback"] += 1

    def summary(self, *, at: int, scenario: str, speed: float, seconds: float) -> dict[str, object]:
        """The `summary` event. fallbacks and recoveries: overrides set and cleared; rolled_back are no fallbacks."""
        return {
            "event": "summary",
            "at": at,
            "scenario": scenario,
            "speed": speed,
            "seconds": seconds,
            "turns": sum(self._outcomes.values()),
            "ok": self._outcomes["ok"],
            "failed": self._outcomes["failed"],
            "partial": self._outcomes["partial"],
            "aborted": self._outcomes["aborted"],
            "fallbacks": self._events["override_set"] - self._events["override_rolled_back"],
            "recoveries": self._events["override_cleared"],
            "windows_opened": self._events["window_opened"],
            "windows_closed": self._events["window_closed"],
            "notices": self._notices["fallback"],
            "notices_cleared": self._notices["cleared"],
            "served": dict(sorted(self._served.items())),
        }
