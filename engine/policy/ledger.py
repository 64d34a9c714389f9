"""What a turn has done so far: attempts, entries, candidate outcomes and decision records (`walk.one-outcome`, `log.record`).
It only writes down; it decides nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.domain.decisions import Decision
from engine.domain.failure import Failure
from engine.domain.ids import ModelRef, ProfileId
from engine.domain.settings import Settings
from engine.domain.turns import (
    Attempt,
    AttemptOutcome,
    CandidateOutcome,
    CandidateResult,
    FailureEntry,
    TurnError,
    TurnOutcome,
    TurnRequest,
    TurnResult,
)
from engine.policy.selection import Selected

ERROR_LIMIT = 400


@dataclass(slots=True)
class Ledger:
    """The running record of one turn. chain: as it stands now; a restart by a live switch puts the tried candidates before the new ones."""

    request: TurnRequest
    settings: Settings
    selected: Selected
    started: int
    chain: list[ModelRef] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    entries: list[FailureEntry] = field(default_factory=list)
    outcomes: dict[ModelRef, CandidateResult] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    first_skip: str | None = None
    calls: int = 0
    from_step: FailureEntry | None = None
    last_failure: tuple[ModelRef, Failure] | None = None

    def attempted(
        self,
        ref: ModelRef,
        profile: ProfileId | None,
        outcome: AttemptOutcome,
        at: int,
        now: int,
        rule: str,
        entry: FailureEntry | None = None,
    ) -> None:
        """One attempt is over. at, now: epoch ms. entry: of a failure; it also becomes an element of the error's `attempts[]`."""
        self.attempts.append(
            Attempt(
                ref,
                profile,
                outcome,
                at - self.started,
                entry.reason if entry is not None else None,
                entry.status if entry is not None else None,
                entry.code if entry is not None else None,
                entry.error if entry is not None else None,
                rule,
                now - at,
            )
        )
        if entry is not None:
            self.entries.append(entry)

    def settle(self, ref: ModelRef, outcome: CandidateOutcome, rule: str | None, reason: str | None = None) -> None:
        self.outcomes[ref] = CandidateResult(ref, outcome, rule, reason)

    def candidates(self) -> tuple[CandidateResult, ...]:
        """Every candidate of the chain with its one outcome."""
        return tuple(self.outcomes.get(ref) or CandidateResult(ref, CandidateOutcome.NOT_REACHED) for ref in self.chain)

    def decision(
        self,
        decision: str,
        index: int,
        now: int,
        rule: str | None,
        *,
        profile: ProfileId | None = None,
        entry: FailureEntry | None = None,
        until: int | None = None,
        detail: str | None = None,
        stops: bool = False,
        count: int | None = None,
        following: ModelRef | None = None,
    ) -> Decision:
        """The record of a decision on `chain[index]`; entry: the failure or skip it is about. stops: nothing comes after it.
        following: the candidate that comes next, where it is not the next of the chain."""
        ref = self.chain[index]
        if stops:
            following = None
        elif following is None and index + 1 < len(self.chain):
            following = self.chain[index + 1]
        step: dict[str, Any] = {}
        if entry is not None and decision in ("candidate_failed", "skip_candidate"):
            step = {
                "fallback_step_from_model": str(ref),
                "fallback_step_to_model": str(following) if following is not None else None,
                "fallback_step_from_failure_reason": entry.reason,
                "fallback_step_from_failure_detail": _short(entry.error),
                "fallback_step_final_outcome": "next_fallback" if following is not None else "chain_exhausted",
            }
            self.from_step = entry
        elif decision == "candidate_succeeded" and self.from_step is not None:
            before = self.from_step
            step = {
                "fallback_step_from_model": f"{before.provider}/{before.model}",
                "fallback_step_to_model": str(ref),
                "fallback_step_from_failure_reason": before.reason,
                "fallback_step_from_failure_detail": _short(before.error),
                "fallback_step_final_outcome": "succeeded",
            }
        made = Decision(
            at=now,
            decision=decision,
            rule=rule,
            candidate_provider=ref.provider,
            candidate_model=ref.model,
            profile=profile if profile is not None else entry.profile if entry is not None else None,
            attempt=index + 1,
            total=len(self.chain),
            reason=entry.reason if entry is not None else None,
            status=entry.status if entry is not None else None,
            code=entry.code if entry is not None else None,
            error=_short(entry.error) if entry is not None else None,
            next_candidate_provider=following.provider if following is not None else None,
            next_candidate_model=following.model if following is not None else None,
            is_primary=index == 0,
            fallback_configured=len(self.chain) > 1,
            until=until,
            detail=detail,
            count=count,
            **self._common(),
            **step,
        )
        self.decisions.append(made)
        return made

    def finished(self, outcome: TurnOutcome, now: int, rule: str, active: ModelRef | None, detail: str | None = None) -> Decision:
        """`turn_finished` repeats the first failure, so that a reader can reconstruct it even if everything failed."""
        first = self.entries[0] if self.entries else None
        made = Decision(
            at=now,
            decision="turn_finished",
            rule=rule,
            candidate_provider=active.provider if active is not None else None,
            candidate_model=active.model if active is not None else None,
            total=len(self.chain),
            reason=first.reason if first is not None else None,
            status=first.status if first is not None else None,
            code=first.code if first is not None else None,
            error=_short(first.error) if first is not None else None,
            fallback_configured=len(self.chain) > 1,
            upstream_calls=self.calls,
            outcome=str(outcome),
            detail=detail,
            fallback_step_from_model=f"{first.provider}/{first.model}" if first is not None else None,
            fallback_step_to_model=str(active) if active is not None and first is not None else None,
            fallback_step_from_failure_reason=first.reason if first is not None else None,
            fallback_step_from_failure_detail=_short(first.error) if first is not None else None,
            fallback_step_final_outcome=None if first is None else "succeeded" if active is not None else "chain_exhausted",
            **self._common(),
        )
        self.decisions.append(made)
        return made

    def result(self, outcome: TurnOutcome, active: ModelRef | None, profile: ProfileId | None, error: TurnError | None) -> TurnResult:
        """What the turn came to, as it stands now."""
        ref, failure = self.last_failure or (None, None)
        return TurnResult(
            turn=self.request.turn,
            session=self.request.session,
            outcome=outcome,
            selected=self.selected.selected,
            active=active,
            profile=profile,
            selection=self.selected.rule,
            chain=tuple(self.chain),
            attempts=tuple(self.attempts),
            candidates=self.candidates(),
            notices=tuple(self.notices),
            error=error,
            decisions=tuple(self.decisions),
            upstream_calls=self.calls,
            last_headers=failure.headers if failure is not None else {},
            last_body=failure.body if failure is not None else None,
            last_failure_ref=ref,
        )

    def _common(self) -> dict[str, Any]:  # the fields that every record of the turn shares
        return {
            "turn": self.request.turn,
            "session": self.request.session,
            "agent": self.request.agent,
            "requested_provider": self.selected.start.provider,
            "requested_model": self.selected.start.model,
            "config_generation": self.settings.generation,
        }


def _short(text: str | None) -> str | None:
    return text if text is None or len(text) <= ERROR_LIMIT else text[: ERROR_LIMIT - 1] + "…"
