"""What is going on: turns in flight, each session's last outcome, the traffic of the last minute. Process-local and for people only:
no decision reads it. Times of traffic are real even when policy time runs faster (spec/console.md, "Demo")."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from engine.domain.ids import ModelRef, ProfileId, SessionKey, TurnId
from engine.domain.snapshot import Traffic, TurnView
from engine.domain.turns import TurnOutcome, TurnRequest, TurnResult

MINUTE_S = 60.0
MAX_SESSIONS = 20_000
MAX_TURNS = 20_000
"""Of the last minute: beyond that the oldest are forgotten and the rate is a lower bound."""


@dataclass(slots=True)
class SessionActivity:
    """in_flight: by turn. served, profile: of the last answer. kind, requested, job_model, selected: of the last turn."""

    agent: str | None = None
    kind: str = "chat"
    requested: ModelRef | None = None
    job_model: ModelRef | None = None
    last_outcome: str | None = None
    last_activity: int | None = None
    selected: ModelRef | None = None
    served: ModelRef | None = None
    profile: ProfileId | None = None
    in_flight: dict[TurnId, TurnView] = field(default_factory=dict)


class Activity:
    """now: the engine's clock, epoch ms; monotonic: real seconds. served_by: what a profile answered with last."""

    def __init__(self, now: Callable[[], int], monotonic: Callable[[], float], touch: Callable[[SessionKey], None]) -> None:
        self._now = now
        self._monotonic = monotonic
        self._touch = touch
        self.sessions: OrderedDict[SessionKey, SessionActivity] = OrderedDict()
        self.served_by: dict[ProfileId, ModelRef] = {}
        self._ended: deque[tuple[float, float, TurnOutcome]] = deque(maxlen=MAX_TURNS)
        self._began: dict[TurnId, float] = {}
        self._total = 0

    def began(self, request: TurnRequest) -> int:
        """When the turn in flight began, epoch ms of the engine's clock."""
        flying = self._session(request.session).in_flight.get(request.turn)
        return flying.started_at if flying is not None else self._now()

    def started(self, request: TurnRequest) -> None:
        seen = self._session(request.session)
        seen.agent, seen.kind = request.agent, str(request.kind)
        seen.requested, seen.job_model = request.requested, request.cron_model
        seen.last_activity = self._now()
        seen.in_flight[request.turn] = TurnView(request.turn, seen.last_activity, None, None, 0, False)
        self._began[request.turn] = self._monotonic()
        self._touch(request.session)

    def attempting(self, request: TurnRequest, ref: ModelRef, profile: ProfileId | None, number: int) -> None:
        seen = self._session(request.session)
        view = seen.in_flight.get(request.turn)
        if view is not None:
            seen.in_flight[request.turn] = TurnView(view.turn, view.started_at, str(ref), profile, number, False)
            self._touch(request.session)

    def committed(self, request: TurnRequest) -> None:
        seen = self._session(request.session)
        view = seen.in_flight.get(request.turn)
        if view is not None:
            seen.in_flight[request.turn] = TurnView(view.turn, view.started_at, view.ref, view.profile, view.attempts, True)
            self._touch(request.session)

    def finished(self, request: TurnRequest, result: TurnResult) -> None:
        seen = self._session(request.session)
        seen.in_flight.pop(request.turn, None)
        seen.last_outcome, seen.last_activity = str(result.outcome), self._now()
        seen.selected = result.selected
        if result.active is not None:
            seen.served, seen.profile = result.active, result.profile
            if result.profile is not None:
                self.served_by[result.profile] = result.active
        now = self._monotonic()
        self._ended.append((now, now - self._began.pop(request.turn, now), result.outcome))
        self._total += 1
        self._touch(request.session)

    def forget(self, key: SessionKey) -> None:
        self.sessions.pop(key, None)

    @property
    def in_flight(self) -> int:
        return len(self._began)

    @property
    def recent(self) -> bool:
        """Is there anything in the last minute that time alone will change?"""
        return bool(self._ended)

    def traffic(self) -> Traffic:
        """Of the last minute. Aborted turns are traffic, but neither successes nor failures."""
        horizon = self._monotonic() - MINUTE_S
        while self._ended and self._ended[0][0] < horizon:
            self._ended.popleft()
        answered = [took for _, took, outcome in self._ended if outcome is TurnOutcome.OK]
        errors = sum(1 for _, _, outcome in self._ended if outcome in (TurnOutcome.FAILED, TurnOutcome.PARTIAL))
        judged = len(answered) + errors
        return Traffic(
            requests_per_s=len(self._ended) / MINUTE_S,
            p50_ms=median(answered) * 1000 if answered else None,
            ok_share=len(answered) / judged if judged else None,
            errors=errors,
            in_flight=self.in_flight,
            turns_total=self._total,
        )

    def _session(self, key: SessionKey) -> SessionActivity:
        seen = self.sessions.get(key)
        if seen is None:
            seen = self.sessions[key] = SessionActivity()
            while len(self.sessions) > MAX_SESSIONS:
                # An old one that is busy goes round once more; more than that many are never in flight.
                oldest, forgotten = self.sessions.popitem(last=False)
                if forgotten.in_flight:
                    self.sessions[oldest] = forgotten
                    break
        else:
            self.sessions.move_to_end(key)
        return seen
