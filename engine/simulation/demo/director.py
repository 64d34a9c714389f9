"""Where the demo's script stands, and what was broken or healed by hand. Pause, step and restart move the script's own clock, never policy
time. Used from two threads (providers ask, the screen directs); it answers requests and knows nothing of HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.simulation.demo.cast import KEYS, PLAYERS
from engine.simulation.demo.script import Behaviour, Scenario, Step, applies, behaviour_at

BY_HAND = "hand"
BY_SCRIPT = "script"
_RETRY_AFTER_S = {Behaviour.RATE_LIMIT: 45, Behaviour.SUBSCRIPTION: 1_800}


@dataclass(frozen=True, slots=True)
class ScriptPlace:
    """place_s, round_s: policy seconds. following: the next step in words, with the seconds until it."""

    name: str
    tells: str
    place_s: float
    round_s: float
    round: int
    paused: bool
    following: str


@dataclass(frozen=True, slots=True)
class TargetState:
    """kind: provider, model or profile. behaviour: what it does now, `ok` or the fault; partly: only some of its models or profiles do.
    source: `hand`, `script`, or empty when all is well."""

    target: str
    kind: str
    behaviour: str
    partly: bool
    source: str


class Director:
    """now: policy time, epoch ms. Before `begin` every provider is well."""

    def __init__(self, scenario: Scenario, now: Callable[[], int]) -> None:
        self.scenario = scenario
        self._now = now
        self._lock = threading.Lock()
        self._begun: int | None = None
        self._paused_at: float | None = None
        self._by_hand: dict[str, Behaviour] = {}

    def begin(self) -> None:
        with self._lock:
            self._begun = self._now()
            self._paused_at = None

    restart = begin

    def pause(self) -> None:
        """The script stands still; what it broke stays broken. Again: it goes on from there."""
        with self._lock:
            if self._begun is None:
                return
            if self._paused_at is None:
                self._paused_at = self._elapsed()
            else:
                self._move_to(self._paused_at)
                self._paused_at = None

    def step(self) -> None:
        """On to the script's next step at once, paused or not."""
        with self._lock:
            if self._begun is None:
                return
            elapsed = self._elapsed()
            to = elapsed + self._until_next(elapsed) + 0.001
            if self._paused_at is None:
                self._move_to(to)
            else:
                self._paused_at = to

    def set(self, target: str, behaviour: Behaviour) -> None:
        """Broken (or healed: OK) by hand, whatever the script says of it, until `release`. The latest word about a request counts."""
        with self._lock:
            self._by_hand.pop(target, None)
            self._by_hand[target] = behaviour

    def release(self, target: str | None = None) -> None:
        """Back to the script: one target, or all."""
        with self._lock:
            if target is None:
                self._by_hand.clear()
            else:
                self._by_hand.pop(target, None)

    def judge(self, provider: str, model: str, profile: str | None) -> Step | None:
        """The step that decides about a request now; None: all is well."""
        return self._judged(provider, model, profile)[0]

    def place(self) -> ScriptPlace:
        with self._lock:
            elapsed, scenario = self._elapsed(), self.scenario
            place = elapsed % scenario.round_s
            left = self._until_next(elapsed)
            step = next((s for s in scenario.steps if s.at_s > place), None)
            following = f"{step.target} {step.behaviour} in {left:.0f}s" if step is not None else f"begins again in {left:.0f}s"
            return ScriptPlace(
                scenario.name,
                scenario.tells,
                place,
                scenario.round_s,
                int(elapsed // scenario.round_s) + 1,
                self._paused_at is not None,
                following,
            )

    def states(self) -> Sequence[TargetState]:
        """Every provider with its models and its profiles."""
        found: list[TargetState] = []
        for player in PLAYERS:
            profiles = [profile for profile in KEYS if profile.partition(":")[0] == player.id]
            everyone = [(player.id, model, profile) for model in player.models for profile in profiles]
            found.append(self._state(player.id, "provider", everyone))
            found += [self._state(p, "profile", [one for one in everyone if one[2] == p]) for p in profiles]
            found += [self._state(f"{player.id}/{model}", "model", [one for one in everyone if one[1] == model]) for model in player.models]
        return found

    def _state(self, target: str, kind: str, combinations: Sequence[tuple[str, str, str]]) -> TargetState:
        judged = [self._judged(*one) for one in combinations]
        broken = [(step.behaviour, source) for step, source in judged if step is not None]
        if not broken:
            held = self._by_hand.get(target) is Behaviour.OK
            return TargetState(target, kind, Behaviour.OK, False, BY_HAND if held else "")
        behaviour, source = broken[0]
        return TargetState(target, kind, behaviour, len(broken) < len(judged), source)

    def _judged(self, provider: str, model: str, profile: str | None) -> tuple[Step | None, str]:
        with self._lock:
            by_hand = [(t, b) for t, b in self._by_hand.items() if applies(t, provider, model, profile)]
            if by_hand:
                target, behaviour = by_hand[-1]
                return (None if behaviour is Behaviour.OK else Step(0, target, behaviour, _RETRY_AFTER_S.get(behaviour))), BY_HAND
            if self._begun is None:
                return None, ""
            step = behaviour_at(self.scenario, self._elapsed(), provider, model, profile)
            return step, BY_SCRIPT if step is not None else ""

    def _elapsed(self) -> float:
        if self._begun is None:
            return 0.0
        return self._paused_at if self._paused_at is not None else (self._now() - self._begun) / 1000

    def _move_to(self, elapsed: float) -> None:
        self._begun = self._now() - round(elapsed * 1000)

    def _until_next(self, elapsed: float) -> float:
        place = elapsed % self.scenario.round_s
        following = next((s.at_s for s in self.scenario.steps if s.at_s > place), self.scenario.round_s)
        return following - place
