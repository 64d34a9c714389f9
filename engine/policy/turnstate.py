"""What one turn carries from step to step, how it talks to its driver, and how it is taken back. No rule of when to do so is in here."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from engine.domain.ids import ModelRef, ProfileId
from engine.domain.reasons import FailoverReason
from engine.domain.settings import Settings
from engine.domain.turns import AttemptOutcome, CandidateOutcome, FailureEntry, TurnError, TurnOutcome, TurnRequest
from engine.policy.commands import (
    Cancelled,
    Command,
    Log,
    Outcome,
    ReleaseTrial,
    WriteSession,
)
from engine.policy.ledger import Ledger
from engine.policy.overrides import SavedOverride, rollback
from engine.policy.selection import chosen_by_user, select
from engine.policy.summary import soonest_expiry
from engine.policy.world import World

Steps = Generator[Command, tuple[Outcome, World], None]


@dataclass(frozen=True, slots=True)
class End:
    """The turn is over. rule: which rule ended it."""

    outcome: TurnOutcome
    rule: str
    ref: ModelRef | None = None
    profile: ProfileId | None = None
    error: TurnError | None = None


class TurnState:
    """The state of one turn. `ledger` is what it has written down so far, also for a driver that kills it; deadline: epoch ms or None."""

    def __init__(self, request: TurnRequest, settings: Settings, world: World) -> None:
        self.request = request
        self.settings = settings
        self.world = world
        self.selected = select(request, settings, world)
        self.ledger = Ledger(request, settings, self.selected, world.now, list(self.selected.chain))
        self.probed: set[str] = set()
        self.saved: SavedOverride | None = None
        self.index = 0
        self.warning: str | None = None
        self.chosen = chosen_by_user(world.session)
        self.switched = False
        self.restarted = False
        budget = request.budget_ms if request.budget_ms is not None else settings.turn_timeout_ms
        self.deadline = world.now + budget if budget is not None else None

    def _do(self, command: Command) -> Generator[Command, tuple[Outcome, World], Outcome]:
        outcome, self.world = yield command
        return outcome

    def _apply(self, effect: Command) -> Steps:
        _, self.world = yield effect

    def _release(self, ref: ModelRef, profile: ProfileId | None) -> Steps:
        if profile is not None and self.world.trials.get((profile, ref.model)) == self.request.turn:
            yield from self._apply(ReleaseTrial(profile, ref.model))

    def _roll_back(self) -> Steps:
        if self.saved is None:
            return
        fields = rollback(self.world.session, self.saved)
        self.saved = None
        yield from self._apply(WriteSession(fields or {}, note="override.rollback" if fields is not None else "not_applied"))

    def _stop(
        self, outcome: Outcome, ref: ModelRef, profile: ProfileId | None, rule: str, *, began: int | None = None
    ) -> Generator[Command, tuple[Outcome, World], End]:
        """The caller went away or the budget ended: no health change, the trial is released, an unproven override is taken back."""
        aborted = isinstance(outcome, Cancelled)
        yield from self._release(ref, profile)
        yield from self._roll_back()
        now = self.world.now
        if began is not None:
            reason = "aborted_by_user" if aborted else str(FailoverReason.TIMEOUT)
            entry = FailureEntry(ref.provider, ref.model, profile, reason, None, None, None, False, rule)
            self.ledger.attempted(ref, profile, AttemptOutcome.ABORTED if aborted else AttemptOutcome.FAILED, began, now, rule, entry)
            self.ledger.settle(ref, CandidateOutcome.FAILED, rule)
            yield from self._apply(Log(self.ledger.decision("candidate_failed", self.index, now, rule, entry=entry, stops=True)))
        entries = tuple(self.ledger.entries)
        if aborted:
            error = TurnError("Aborted", "aborted by the caller", "aborted_by_user", None, "The caller went away.", entries)
            return End(TurnOutcome.ABORTED, "walk.stop", None, None, error)
        text = "The turn's time budget ended before any model answered."
        soonest = soonest_expiry(self.ledger.chain, self.settings, self.world)
        error = TurnError("BudgetExceeded", "run_budget_exceeded", "run_budget_exceeded", soonest, text, entries)
        return End(TurnOutcome.FAILED, "attempt.budget", None, None, error)
