"""The turn itself (spec sections 5, 7, 8 and 9), sans-I/O: a generator that yields commands and is resumed with their outcome and a fresh
`World`. It never awaits, reads a clock or touches a store; `engine.live` and `engine.simulation` drive the same code.

Stage B walks the candidates (`Walk.run`), stage A rotates profiles inside one (`Walk._candidate`), `Walk._attempt` is one call.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from engine.domain.ids import ModelRef, ProfileId
from engine.domain.reasons import FailoverReason
from engine.domain.settings import Settings
from engine.domain.turns import CandidateOutcome, FailureEntry, TurnOutcome, TurnRequest, TurnResult
from engine.policy.attempt import COALESCED, Attempting
from engine.policy.commands import (
    AwaitTrial,
    BudgetOver,
    Cancelled,
    Command,
    CountSkip,
    Log,
    Outcome,
    RememberSkip,
    SaveOverride,
    Sleep,
    WriteSession,
)
from engine.policy.failures import STOPPING, Judged
from engine.policy.gate import Admission, Verdict
from engine.policy.oauth import is_dead
from engine.policy.overrides import override_to_save
from engine.policy.pins import pin_is_user, unpin_fields
from engine.policy.selection import Selected, chosen_by_user
from engine.policy.summary import turn_error
from engine.policy.turnstate import End, Steps
from engine.policy.world import World

COALESCE_MS = 30_000
"""`log.coalesce`"""

Turn = Generator[Command, tuple[Outcome, World], TurnResult]


def walk(request: TurnRequest, settings: Settings, world: World) -> Turn:
    """One turn from selection to result; see `commands` for what it yields and is resumed with."""
    return Walk(request, settings, world).run()


class Walk(Attempting):
    """The state of one turn. `ledger` is what it has written down so far, also for a driver that kills it."""

    # --- stage B -------------------------------------------------------------------------------------------------------

    def run(self) -> Turn:
        yield from self._repair()
        end: End | None = None
        chain = self.ledger.chain
        while end is None and self.index < len(chain):
            end = yield from self._candidate()
            self.index += 1
        if end is None:
            end = End(TurnOutcome.FAILED, "walk.stop")
        error = end.error
        if error is None and end.outcome is TurnOutcome.FAILED:
            error = turn_error(self.ledger.entries, chain, self.settings, self.world)
        yield from self._apply(Log(self.ledger.finished(end.outcome, self.world.now, end.rule, end.ref)))
        return self.ledger.result(end.outcome, end.ref, end.profile, error)

    def _repair(self) -> Steps:
        """What selection found broken or over is put right first: half entries, stale origins, expired pins, an old live switch."""
        if self.selected.per_run:
            return
        session = self.world.session
        fields = dict(self.selected.repairs)
        if session.live_model_switch_pending:
            fields["live_model_switch_pending"] = False
        if session.auth_profile_override_source == "user" and not self.selected.own_list and not pin_is_user(session, self.world.now):
            fields.update(unpin_fields(session))
        if fields:
            yield from self._apply(WriteSession(fields, note=self.selected.repaired_by))

    def _live_switch(self) -> ModelRef | None:
        """`walk.live-switch`: the model that a user chose while an attempt was in flight, None if nobody did. The choice itself is
        compared, not the pending mark: another turn of the session may have honoured and cleared that already."""
        chosen = chosen_by_user(self.world.session)
        return None if self.selected.per_run or chosen == self.chosen else chosen

    def _can_switch(self, target: ModelRef) -> bool:
        """Not to a model that was tried in this turn already: no candidate twice (`rotate.once`), so it can never loop."""
        chain = self.ledger.chain
        return target in chain[self.index + 1 :] or not (self.restarted or target in chain)

    def _noted(self, target: ModelRef) -> Steps:
        """The switch is honoured: once."""
        self.chosen, self.switched = target, True
        if self.world.session.live_model_switch_pending:
            yield from self._apply(WriteSession({"live_model_switch_pending": False}))

    def _restart(self, target: ModelRef) -> None:
        """What is left of the turn is a user's selection: strict."""
        self.restarted = True
        self.selected = self.ledger.selected = Selected("selection.user", target, target, target, (target,), explicit=True)
        del self.ledger.chain[self.index + 1 :]

    def _switch(self, target: ModelRef) -> Generator[Command, tuple[Outcome, World], End | None]:
        """Jump to a later candidate, or restart once on another model as a user selection."""
        yield from self._noted(target)
        chain = self.ledger.chain
        if target in chain[self.index + 1 :]:
            to = chain.index(target, self.index + 1)
            for passed in range(self.index + 1, to):
                self.ledger.settle(chain[passed], CandidateOutcome.REDIRECTED, "walk.live-switch")
                yield from self._apply(Log(self.ledger.decision("candidate_redirected", passed, self.world.now, "walk.live-switch")))
            self.index = to - 1
            return None
        if not self._can_switch(target):
            return End(TurnOutcome.FAILED, "walk.live-switch")
        self._restart(target)
        chain.append(target)
        return None

    # --- stage A -------------------------------------------------------------------------------------------------------

    def _candidate(self) -> Generator[Command, tuple[Outcome, World], End | None]:
        """One candidate: None when the chain goes on, else how the turn ends."""
        ref = self.ledger.chain[self.index]
        while True:
            admission = self._admit(())
            if admission.verdict is Verdict.WAIT:
                outcome = yield from self._wait_for_trial(admission)
                if isinstance(outcome, (Cancelled, BudgetOver)):
                    return (yield from self._stop(outcome, ref, None, admission.rule))
                continue
            profile = self._next_profile(admission)
            if admission.verdict is Verdict.SKIP or not self._has_secret(ref, profile) or self.saved is not None:
                break
            save = override_to_save(self.world.session, self.selected, ref, profile)
            if save is None:
                break
            self.saved = save
            outcome = yield from self._do(SaveOverride(save.written, ref))
            if isinstance(outcome, (Cancelled, BudgetOver)):
                return (yield from self._stop(outcome, ref, profile, admission.rule))
            # That was a wait: somebody may have taken the trial or the profile meanwhile, so admission is looked at again.
        self.warning = admission.warning
        if admission.verdict is Verdict.SKIP:
            yield from self._roll_back()
            yield from self._skipped(ref, admission)
            return None
        if not self._has_secret(ref, profile):
            yield from self._all_dead(ref, admission.rule)
            return None
        return (yield from self._rotate(ref, profile, admission))

    def _rotate(
        self, ref: ModelRef, profile: ProfileId | None, admission: Admission
    ) -> Generator[Command, tuple[Outcome, World], End | None]:
        """Stage A: attempts with one profile after the other, each at most once (`rotate.once`), until one answers or none may be tried."""
        rule = admission.rule
        tried: set[ProfileId] = set()
        failures: dict[FailoverReason, int] = {}
        last: Judged | None = None
        while True:
            if profile is not None:
                tried.add(profile)
            result = yield from self._attempt(ref, profile, admission)
            if isinstance(result, End):
                return result
            if result is None and not self._untried(tried):
                if last is None and self._admit(()).verdict is Verdict.WAIT:
                    # Another process has the trial: its outcome decides, as if it had begun before this turn came here.
                    return (yield from self._candidate())
                yield from self._lost(ref, last, rule)
                return None
            if result is None:
                admission = self._admit(tried)
                profile = self._next_profile(admission)
                continue
            last = result
            target = self._live_switch()
            if target == ref:
                # The user insists on the model that is being tried: its other profiles are, and no other model.
                yield from self._roll_back()
                yield from self._noted(target)
                self._restart(target)
            elif target is not None:
                yield from self._roll_back()
                yield from self._failed_records(ref, result, rule, stops=not self._can_switch(target), following=target)
                return (yield from self._switch(target))
            if result.reason in STOPPING:
                yield from self._roll_back()
                yield from self._failed_records(ref, result, rule, stops=True)
                return End(TurnOutcome.FAILED, "walk.stop")
            failures[result.reason] = failures.get(result.reason, 0) + 1
            left: tuple[ProfileId, ...] = ()
            if result.rotates and profile is not None and admission.verdict is Verdict.OPEN:
                left = self._untried(tried)
            if not left or self._capped(failures[result.reason], result.reason):
                detail = f"rotation_cap: {', '.join(left)} not tried" if left else None
                yield from self._candidate_failed(ref, result, rule, detail=detail)
                return None
            if result.reason is FailoverReason.OVERLOADED and self.settings.cooldowns.overloaded_backoff_ms:
                outcome = yield from self._do(Sleep(self.settings.cooldowns.overloaded_backoff_ms))
                if isinstance(outcome, (Cancelled, BudgetOver)):
                    return (yield from self._stop(outcome, ref, None, rule))
            admission = self._admit(tried)
            profile = self._next_profile(admission)
            if profile is None or admission.verdict is not Verdict.OPEN:
                yield from self._candidate_failed(ref, result, rule)
                return None

    def _lost(self, ref: ModelRef, last: Judged | None, rule: str) -> Steps:
        """The last profile was taken away before it was called: an earlier failure explains the candidate, else the new verdict does."""
        if last is not None:
            yield from self._candidate_failed(ref, last, rule)
            return
        yield from self._roll_back()
        yield from self._skipped(ref, replace(self._admit(()), verdict=Verdict.SKIP))

    def _has_secret(self, ref: ModelRef, profile: ProfileId | None) -> bool:
        return profile is not None or self.settings.providers[ref.provider].keyless

    def _all_dead(self, ref: ModelRef, rule: str) -> Steps:
        """`rotate.dead-secret`: none is left, so the candidate failed with `auth` (one entry)."""
        said = "no secret could be resolved"
        entry = FailureEntry(ref.provider, ref.model, None, FailoverReason.AUTH, None, None, said, False, "rotate.dead-secret")
        yield from self._roll_back()
        self.ledger.entries.append(entry)
        self.ledger.settle(ref, CandidateOutcome.FAILED, rule)
        yield from self._apply(Log(self.ledger.decision("candidate_failed", self.index, self.world.now, "rotate.dead-secret", entry=entry)))
        yield from self._remember_skip(ref, FailoverReason.AUTH)

    def _live(self, admission: Admission) -> tuple[ProfileId, ...]:
        """`rotate.dead-secret`: a profile whose secret cannot be resolved is passed over without a call or a window."""
        world = self.world
        return tuple(p for p in admission.profiles if p not in world.dead and not is_dead(world.credentials[p], world.wall))

    def _next_profile(self, admission: Admission) -> ProfileId | None:
        return next(iter(self._live(admission)), None)

    def _untried(self, tried: set[ProfileId]) -> tuple[ProfileId, ...]:
        admission = self._admit(tried)
        return self._live(admission) if admission.verdict is Verdict.OPEN else ()

    def _capped(self, failed: int, reason: FailoverReason) -> bool:
        """`rotate.cap`: one counter per reason, only while the chain has a further candidate."""
        if self.index == len(self.ledger.chain) - 1:
            return False
        rules = self.settings.cooldowns
        match reason:
            case FailoverReason.RATE_LIMIT:
                return failed > rules.rate_limited_profile_rotations
            case FailoverReason.OVERLOADED:
                return failed > rules.overloaded_profile_rotations
            case _:
                return False

    def _wait_for_trial(self, admission: Admission) -> Generator[Command, tuple[Outcome, World], Outcome]:
        """`gate.single-flight`: the last of the chain waits for the trial's outcome, within its own budget."""
        limit = max(0, self.deadline - self.world.now) if self.deadline is not None else None
        return (yield from self._do(AwaitTrial(admission.trials, limit)))

    def _skipped(self, ref: ModelRef, admission: Admission) -> Steps:
        reason = admission.reason or "unknown"
        entry = FailureEntry(ref.provider, ref.model, None, reason, None, None, None, True, admission.rule)
        self.ledger.entries.append(entry)
        self.ledger.settle(ref, CandidateOutcome.SKIPPED, admission.rule, reason)
        if self.ledger.first_skip is None:
            self.ledger.first_skip = reason
        if reason in COALESCED:
            # `log.coalesce`: identical auth skips within 30 s are counted, with the count on the next record.
            at, count = self.world.coalesced.get((self.request.session, ref, reason), (None, 0))
            if at is not None and self.world.now - at < COALESCE_MS:
                self.ledger.from_step = entry
                yield from self._apply(CountSkip(ref, reason, at, count + 1))
                return
        told = yield from self._not_recorded(ref)
        if reason in COALESCED:
            yield from self._apply(CountSkip(ref, reason, self.world.now, 0))
        yield from self._apply(
            Log(
                self.ledger.decision(
                    "skip_candidate", self.index, self.world.now, admission.rule, entry=entry, until=admission.until, count=told
                )
            )
        )

    def _candidate_failed(self, ref: ModelRef, last: Judged, rule: str, *, detail: str | None = None) -> Steps:
        """`walk.advance`: the candidate is settled, what it wrote is taken back, the chain goes on."""
        yield from self._roll_back()
        yield from self._failed_records(ref, last, rule, detail=detail)
        yield from self._remember_skip(ref, last.reason)

    def _remember_skip(self, ref: ModelRef, reason: FailoverReason) -> Steps:
        """Section 10: only a candidate that is not the first, only for auth."""
        ttl = self.settings.skip_ttl_ms
        if ttl is not None and self.index > 0 and reason in (FailoverReason.AUTH, FailoverReason.AUTH_PERMANENT):
            yield from self._apply(RememberSkip(ref, self.world.now + ttl))
