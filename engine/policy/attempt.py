"""Stage A's single step: one attempt, from the claim to its outcome (spec sections 5 and 11, `attempt.*`, `oauth.*`)."""

from __future__ import annotations

from collections.abc import Collection, Generator
from dataclasses import replace

from engine.domain.credentials import OAuth
from engine.domain.failure import Failure
from engine.domain.ids import ModelRef, ProfileId
from engine.domain.reasons import FailoverReason
from engine.domain.sessions import Session
from engine.domain.turns import AttemptOutcome, CandidateOutcome, TurnError, TurnOutcome
from engine.domain.usage import NEVER_USED
from engine.policy.commands import (
    Announce,
    Broken,
    BudgetOver,
    CallProvider,
    Cancelled,
    ClaimTrial,
    Command,
    Completed,
    Content,
    CountSkip,
    Deliver,
    Done,
    Failed,
    Log,
    MarkPrimary,
    MarkThrottle,
    Outcome,
    Refreshed,
    RefreshFailed,
    RefreshToken,
    StampUsed,
    TrialTaken,
    WriteSession,
    WriteUsage,
)
from engine.policy.failures import Judged, judge, judge_empty, judge_refresh, record, token_expired
from engine.policy.gate import Admission, Verdict, admit
from engine.policy.notices import turn_reason
from engine.policy.oauth import must_refresh, still_valid
from engine.policy.overrides import on_answer, same_selection
from engine.policy.turnstate import End, Steps, TurnState
from engine.policy.windows import after_success, trial_due
from engine.policy.world import World

COALESCED = (FailoverReason.AUTH, FailoverReason.AUTH_PERMANENT)


class Attempting(TurnState):
    """Makes attempts; which profile and which candidate is decided by the walk."""

    def _attempt(
        self, ref: ModelRef, profile: ProfileId | None, admission: Admission
    ) -> Generator[Command, tuple[Outcome, World], End | Judged | None]:
        """One attempt: claimed, stamped, refreshed where needed, called. A Judged failure, the end of the turn, or None: the profile was
        lost while its token was refreshed (a window, an operator) or its trial claimed (another process), and nothing was called."""
        began = self.world.now
        if self.deadline is not None and began >= self.deadline:
            return (yield from self._stop(BudgetOver(), ref, None, admission.rule))
        claimed = yield from self._claim(ref, profile, admission)
        if isinstance(claimed, (Cancelled, BudgetOver)):
            return (yield from self._stop(claimed, ref, profile, admission.rule))
        if isinstance(claimed, TrialTaken) or (isinstance(claimed, Done) and profile and not self._still_admitted(profile, admission)):
            yield from self._release(ref, profile)
            return None
        before = self.world.session
        refreshed = False
        failed: Judged | None = None
        if profile is not None and must_refresh(self.world.credentials.get(profile), self.world.wall):
            refreshed = True
            outcome = yield from self._do(RefreshToken(profile))
            if isinstance(outcome, (Cancelled, BudgetOver)):
                return (yield from self._stop(outcome, ref, profile, admission.rule, began=began))
            if isinstance(outcome, RefreshFailed) and not still_valid(self.world.credentials.get(profile), self.world.wall):
                failed = judge_refresh(outcome.failure, ref, profile, admission.rule)
            elif not self._still_admitted(profile, admission):
                yield from self._release(ref, profile)
                return None
        while failed is None:
            outcome = yield from self._do(self._call(ref, profile, admission))
            match outcome:
                case Content(empty=empty, calls=calls, notes=notes):
                    self.ledger.calls += calls
                    if empty and not self.request.side_effect_only:
                        failed = judge_empty(ref, profile, admission.rule)
                    else:
                        return (yield from self._answered(ref, profile, admission, began, before, notes))
                case Failed(failure, calls):
                    self.ledger.calls += calls
                    failed = judge(failure, ref, profile, admission.rule)
                    login = profile is not None and isinstance(self.world.credentials.get(profile), OAuth)
                    if profile is not None and login and not refreshed and token_expired(failure, failed):
                        refreshed = True
                        again = yield from self._do(RefreshToken(profile, force=True))
                        if isinstance(again, (Cancelled, BudgetOver)):
                            return (yield from self._stop(again, ref, profile, admission.rule, began=began))
                        if isinstance(again, Refreshed):
                            # Put off meanwhile: nobody calls it any more, and nothing is held against its new token.
                            failed = replace(failed, rotates=True, healthy=True) if self._put_off(profile) else None
                        elif isinstance(again, RefreshFailed):
                            failed = judge_refresh(again.failure, ref, profile, admission.rule)
                case Cancelled() | BudgetOver():
                    self.ledger.calls += outcome.calls
                    return (yield from self._stop(outcome, ref, profile, admission.rule, began=began))
                case _:
                    raise AssertionError(f"no outcome of a call: {outcome}")
        yield from self._record_failure(ref, profile, failed)
        self.ledger.last_failure = (ref, failed.failure)
        self.ledger.attempted(ref, profile, AttemptOutcome.FAILED, began, self.world.now, admission.rule, failed.entry)
        return failed

    def _still_admitted(self, profile: ProfileId, admission: Admission) -> bool:
        """After a wait: others may have put the profile off or into a window meanwhile."""
        if admission.verdict is Verdict.PROBE:
            return not self._put_off(profile)
        now = self._admit(())
        return now.verdict is Verdict.OPEN and profile in now.profiles

    def _put_off(self, profile: ProfileId) -> bool:
        ref, off = self.ledger.chain[self.index], self.world.off
        return profile in off or ref.provider in off or str(ref) in off

    def _admit(self, tried: Collection[ProfileId]) -> Admission:
        return admit(self.index, self.ledger.chain, self.request, self.selected, self.settings, self.world, tried=tried, probed=self.probed)

    def _claim(
        self, ref: ModelRef, profile: ProfileId | None, admission: Admission
    ) -> Generator[Command, tuple[Outcome, World], Outcome | None]:
        """Everything that other turns must see before this one waits: throttle, `lastUsed`, the primary's mark and, last because it may
        be a wait, the trial. What became of that; None: there is none."""
        trial = False
        if profile is not None:
            probing = admission.verdict is Verdict.PROBE
            if probing:
                yield from self._apply(MarkThrottle(ref.provider, ref.model if admission.sibling else None))
                if admission.rule not in ("gate.user-explicit", "gate.billing-throttle"):
                    self.probed.add(ref.provider)
                made = self.ledger.decision(
                    "probe_cooldown_candidate", self.index, self.world.now, admission.rule, profile=profile, until=admission.until
                )
                yield from self._apply(Log(made))
            exempt = not self.settings.providers[ref.provider].cooldowns
            usage = self.world.usage.get(profile, NEVER_USED)
            trial = probing or (not exempt and trial_due(usage, ref.model, self.world.now, self.world.wall) is not None)
            yield from self._apply(StampUsed(profile))
        if self.index == 0 and ref == self.selected.primary and not self.selected.per_run and not self.selected.explicit:
            yield from self._apply(MarkPrimary(ref))
        return (yield from self._do(ClaimTrial(profile, ref.model))) if profile is not None and trial else None

    def _call(self, ref: ModelRef, profile: ProfileId | None, admission: Admission) -> CallProvider:
        """`attempt.budget`: while another candidate remains, at most half of what is left; else all of it, and its end is the turn's."""
        limit: int | None = None
        fatal = False
        if self.deadline is not None:
            left = max(0, self.deadline - self.world.now)
            fatal = self.index == len(self.ledger.chain) - 1
            limit = left if fatal else left // 2
        return CallProvider(ref, profile, len(self.ledger.attempts) + 1, admission.rule, limit, fatal)

    def _record_failure(self, ref: ModelRef, profile: ProfileId | None, failed: Judged) -> Steps:
        if profile is None:
            return
        usage = self.world.usage.get(profile, NEVER_USED)
        after, window = record(usage, failed, ref, self.settings, self.world.now, self.world.wall)
        if after is not usage:
            yield from self._apply(WriteUsage(profile, after, urgent=window is not None, ref=ref, reason=failed.reason))
        yield from self._release(ref, profile)

    def _answered(
        self,
        ref: ModelRef,
        profile: ProfileId | None,
        admission: Admission,
        began: int,
        before: Session,
        notes: tuple[str, ...] = (),
    ) -> Generator[Command, tuple[Outcome, World], End]:
        """First content: override, pin, notice and trial are decided now, health at the end (`attempt.committed`). notes: what the
        request lost on its way to this provider; they go into the record."""
        now = self.world.now
        session = self.world.session
        if same_selection(before, session):
            reason = turn_reason(self.ledger.attempts, self.ledger.first_skip)
            answered = on_answer(session, self.selected, ref, profile, reason, now, switched=self.switched)
            if answered.fields:
                yield from self._apply(WriteSession(answered.fields, durable=True, note="override.probe" if answered.recovered else None))
            if not self.request.silent:
                for text, kind in answered.notices:
                    self.ledger.notices.append(text)
                    if kind != "pending":
                        yield from self._apply(Announce(text, kind, self.selected.selected, ref))
        if profile is not None and self.world.trials.get((profile, ref.model)) == self.request.turn:
            yield from self._recover(ref, profile)
            yield from self._release(ref, profile)
        self.saved = None
        outcome = yield from self._do(Deliver(ref))
        match outcome:
            case Completed():
                yield from self._recover(ref, profile)
                self.ledger.attempted(ref, profile, AttemptOutcome.SUCCEEDED, began, self.world.now, admission.rule)
                self.ledger.settle(ref, CandidateOutcome.SUCCEEDED, admission.rule)
                count = yield from self._not_recorded(ref)
                detail = f"left out for this provider: {'; '.join(notes)}" if notes else None
                made = self.ledger.decision(
                    "candidate_succeeded",
                    self.index,
                    self.world.now,
                    admission.rule,
                    profile=profile,
                    count=count,
                    detail=detail or self.warning,
                )
                yield from self._apply(Log(made))
                return End(TurnOutcome.OK, "attempt.success", ref, profile)
            case Broken(failure):
                failed = judge(Failure(error_type="ReadError", message=failure.message), ref, profile, admission.rule)
                yield from self._record_failure(ref, profile, failed)
                self.ledger.attempted(ref, profile, AttemptOutcome.FAILED, began, self.world.now, admission.rule, failed.entry)
                yield from self._failed_records(ref, failed, admission.rule, stops=True)
                error = TurnError(
                    "Partial",
                    f"{ref}: the answer broke off",
                    failed.reason,
                    None,
                    "The answer broke off; what had arrived was kept.",
                    tuple(self.ledger.entries),
                )
                return End(TurnOutcome.PARTIAL, "attempt.committed", ref, profile, error)
            case Cancelled():
                return (yield from self._stop(outcome, ref, profile, admission.rule, began=began))
            case _:
                raise AssertionError(f"no outcome of a delivery: {outcome}")

    def _recover(self, ref: ModelRef, profile: ProfileId | None) -> Steps:
        """`attempt.success`"""
        if profile is None:
            return
        usage = self.world.usage.get(profile, NEVER_USED)
        after = after_success(usage, ref.model)
        if after != usage:
            yield from self._apply(WriteUsage(profile, after, ref=ref))

    def _failed_records(
        self,
        ref: ModelRef,
        last: Judged,
        rule: str,
        *,
        stops: bool = False,
        detail: str | None = None,
        following: ModelRef | None = None,
    ) -> Steps:
        self.ledger.settle(ref, CandidateOutcome.FAILED, rule)
        count = yield from self._not_recorded(ref)
        made = self.ledger.decision(
            "candidate_failed",
            self.index,
            self.world.now,
            rule,
            entry=last.entry,
            stops=stops,
            detail=detail or self.warning,
            following=following,
            count=count,
        )
        yield from self._apply(Log(made))

    def _not_recorded(self, ref: ModelRef) -> Generator[Command, tuple[Outcome, World], int | None]:
        """`log.coalesce`: how many auth skips of this candidate wait to be told; its next record, whatever it says, tells them."""
        total = 0
        for reason in COALESCED:
            at, count = self.world.coalesced.get((self.request.session, ref, reason), (0, 0))
            if count:
                total += count
                yield from self._apply(CountSkip(ref, reason, at, 0))
        return total or None
