"""Drives one walk over the network and the store: applies its effects at once, performs its waits, and hands each outcome back with a
fresh world. It decides nothing about models or profiles. A caller that goes away is an outcome (`Cancelled`), never an exception in the
walk; a walk that raises is a bug, and ends this turn alone."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from engine.domain.credentials import Credential, OAuth
from engine.domain.exchange import Answer, AnswerBroken, Answered, AttemptFailed
from engine.domain.export import turn_json
from engine.domain.failure import Failure
from engine.domain.ids import ModelRef, ProfileId
from engine.domain.settings import ProviderSettings
from engine.domain.store import Change, PatchSession
from engine.domain.stored_answers import StoredAnswer
from engine.domain.turns import AttemptOutcome, CandidateOutcome, TurnError, TurnOutcome, TurnResult
from engine.live.effects import apply_effect, patch_session
from engine.live.parts import Parts
from engine.live.records import split_record
from engine.live.turn import LiveTurn
from engine.live.waiting import Stopped, Waits, close_answer
from engine.policy import commands as c
from engine.policy.walk import Walk

log = logging.getLogger("failover.live")

GRACE_S = 0.25
"""The upstream cuts an attempt short by itself and knows why; this long after that, we do."""


class Driver:
    """One turn. `run` never raises but for its own cancellation (the process stops); the turn is finished then, too."""

    def __init__(self, parts: Parts, turn: LiveTurn) -> None:
        self._parts = parts
        self._turn = turn
        self._request = turn.request
        self._agent = turn.request.owner
        self._loop = asyncio.get_running_loop()
        self._waits = Waits(turn)
        self._state: Walk | None = None
        self._answer: Answer | None = None
        self._profile: ProfileId | None = None
        self._called: ModelRef | None = None
        self._unsettled = False
        self._degraded = False
        self._written_override: dict[str, object] = {}
        self._used: dict[ProfileId, str] = {}
        self._told = 0
        self._upstream_s = 0.0
        self._calling: tuple[c.CallProvider, int] | None = None

    async def run(self) -> None:
        parts, turn = self._parts, self._turn
        parts.activity.started(self._request)
        parts.bus.publish("turn_started", **self._who(), agent=self._request.agent, kind=str(self._request.kind))
        result: TurnResult | None = None
        try:
            result = await self._walk()
        except asyncio.CancelledError:
            self._note_killed()
            result = cut_off(turn, TurnOutcome.KILLED, self._state)
            raise
        except Exception as error:
            # Also an engine with a bug serves the next turn; the log says where it is.
            log.exception("internal error in turn %s", self._request.turn)
            parts.feed.say("error", "internal", f"internal error in a turn: {type(error).__name__}: {error}", **self._who())
            result = cut_off(turn, TurnOutcome.FAILED, self._state, type(error).__name__)
        finally:
            turn.on_cancel(None)
            parts.trials.release_all(self._request.turn)
            if self._answer is not None:
                parts.spawn(close_answer(self._answer), "failover-close-answer")
            if result is not None:
                began = parts.activity.began(self._request)
                parts.activity.finished(self._request, result)
                parts.provenance.ended(result, began, parts.clock.now_ms())
                parts.bus.publish("turn_finished", turn_json, result, **self._who())
                turn.finish(result)

    async def _walk(self) -> TurnResult:
        world = self._world()
        state = self._state = Walk(self._request, self._turn.settings, world)
        steps = state.run()
        try:
            command = next(steps)
            while True:
                outcome = await self._perform(command)
                self._tell_attempts()
                if not isinstance(command, c.IN_PLACE):
                    world = self._world()
                command = steps.send((outcome, world))
        except StopIteration as end:
            self._tell_attempts()
            result: TurnResult = end.value
            return result

    def _world(self) -> Any:
        parts = self._parts
        return parts.memory.world(self._request.session, self._agent, parts.clock.now_ms(), parts.wall())

    async def _perform(self, command: c.Command) -> c.Outcome:
        match command:
            case c.CallProvider():
                self._calling = (command, self._parts.clock.now_ms())
                outcome = await self._call(command)
                self._calling = None
                return outcome
            case c.Deliver(ref):
                return await self._deliver(ref)
            case c.SaveOverride(fields):
                self._written_override = dict(fields)
                self._put(patch_session(self._parts, self._request.session, fields, self._request.turn, "override.persist-first"))
                return await self._settle() or c.Saved(degraded=self._degraded)
            case c.Sleep(ms):
                done = await self._waits.run(asyncio.sleep(self._parts.real_s(ms)), self._left_s())
                return self._over(done) if isinstance(done, Stopped) else c.Slept()
            case c.AwaitTrial(trials, limit_ms):
                limit = self._parts.real_s(limit_ms) if limit_ms is not None else None
                ended = await self._waits.run(self._parts.trials.wait(trials), limit)
                return self._over(ended) if isinstance(ended, Stopped) else c.TrialEnded()
            case c.RefreshToken(profile, force):
                used = self._used.get(profile) if force else None
                work = self._parts.tokens.refresh(self._agent, profile, self._turn.settings, used=used)
                refreshed = await self._waits.run(work, self._left_s())
                if isinstance(refreshed, Stopped):
                    return self._over(refreshed)
                return c.Refreshed() if refreshed is None else c.RefreshFailed(refreshed)
            case c.ClaimTrial(profile, model) if self._parts.leases.shared:
                self._effect(command)
                claimed = await self._waits.run(self._parts.leases.claim((profile, model), self._request.turn), self._left_s())
                if isinstance(claimed, Stopped):
                    return self._over(claimed)
                return c.Done() if claimed else c.TrialTaken()
            case _:
                self._effect(command)
                return c.Done()

    # --- effects -------------------------------------------------------------------------------------------------------

    def _effect(self, effect: c.Effect) -> None:
        changes = apply_effect(self._parts, effect, self._request.session, self._agent, self._request.turn)
        if isinstance(effect, c.WriteSession) and effect.note == "override.rollback":
            # Another process may have written meanwhile: there, too, only what we wrote is taken back.
            changes = [PatchSession(x.session, x.fields, self._written_override) if isinstance(x, PatchSession) else x for x in changes]
        self._put(changes)
        if isinstance(effect, (c.WriteSession, c.WriteUsage)) and changes:
            self._unsettled |= effect.durable if isinstance(effect, c.WriteSession) else effect.urgent

    def _put(self, changes: list[Change]) -> None:
        self._parts.writer.put(changes)

    # --- waits ---------------------------------------------------------------------------------------------------------

    async def _call(self, call: c.CallProvider) -> c.Outcome:
        limit_s = self._parts.real_s(call.limit_ms) if call.limit_ms is not None else None
        deadline = self._loop.time() + limit_s if limit_s is not None else None
        await self._drop_answer()
        if self._unsettled and self._called not in (None, call.ref):
            # The windows that this turn opened, before the next candidate; a rotation waits for nothing (spec/store.md).
            stopped = await self._settle()
            if stopped is not None:
                return stopped
        self._called, self._profile = call.ref, call.profile
        provider = self._turn.settings.providers[call.ref.provider]
        secret: str | None = None
        if call.profile is not None:
            found: str | Failure | Stopped | None = self._secret_at_hand(call.profile)
            if found is None:
                found = await self._waits.run(self._secret(call.profile), _left(deadline, self._loop.time()))
            if isinstance(found, Stopped):
                return self._cut_short(call, found)
            if isinstance(found, Failure):
                return c.Failed(found, calls=0)
            secret = found
        self._parts.activity.attempting(self._request, call.ref, call.profile, call.number)
        pair = {"provider": call.ref.provider, "model": call.ref.model, "profile": call.profile}
        self._parts.bus.publish("attempt_started", **self._who(), **pair, number=call.number, rule=call.rule)
        left = _left(deadline, self._loop.time())
        attempt = self._attempt(provider, call.ref, secret, None if left is None else max(1, round(left * 1000)))
        got = await self._waits.run(attempt, None if left is None else left + GRACE_S)
        if isinstance(got, Stopped):
            return self._cut_short(call, got)
        if isinstance(got, AttemptFailed):
            if call.fatal_limit and got.failure.caller_fault:
                return c.BudgetOver(got.calls)
            return c.Failed(got.failure, got.calls)
        self._answer = got
        return c.Content(empty=got.empty, calls=got.calls, notes=got.notes)

    async def _attempt(self, provider: ProviderSettings, ref: ModelRef, secret: str | None, limit_ms: int | None) -> Answer | AttemptFailed:
        wait_ms = self._turn.settings.retry_max_wait_ms
        began = self._loop.time()
        try:
            return await self._parts.upstream.attempt(
                provider, ref, secret, self._turn.payload, limit_ms=limit_ms, retry_max_wait_ms=wait_ms
            )
        except Exception as error:
            # A bug of ours in one dialect must not take the other candidates from the caller.
            log.exception("internal error in an attempt of turn %s", self._request.turn)
            return AttemptFailed(Failure(message=f"internal error: {type(error).__name__}: {error}"))
        finally:
            self._upstream_s += self._loop.time() - began

    def _cut_short(self, call: c.CallProvider, stopped: Stopped) -> c.Outcome:
        if not stopped.late:
            return c.Cancelled(calls=1)
        if call.fatal_limit:
            return c.BudgetOver(calls=1)
        return c.Failed(Failure(message="cut short by the turn's budget", caller_fault=True))

    def _secret_at_hand(self, profile: ProfileId) -> str | None:
        """The secret, where nothing has to be read for it."""
        credential = self._credential(profile)
        secret = self._parts.secrets.at_hand(credential) if credential is not None else None
        if secret is not None and isinstance(credential, OAuth):
            self._used[profile] = secret
        return secret

    def _credential(self, profile: ProfileId) -> Credential | None:
        memory = self._parts.memory
        return memory.agents[memory.owner(self._agent, profile)].credentials.get(profile)

    async def _secret(self, profile: ProfileId) -> str | Failure:
        memory = self._parts.memory
        credential = self._credential(profile)
        if credential is None:
            return Failure(message=f"{profile} was removed", caller_fault=True)
        found = await self._parts.secrets.of(credential)
        if found.secret is None:
            # It could be resolved a moment ago. Nothing is known of the key, so nothing is held against it (`rotate.dead-secret`).
            memory.dead |= {profile}
            return Failure(message=f"the secret of {profile} cannot be resolved: {found.reason}", caller_fault=True)
        if isinstance(credential, OAuth):
            self._used[profile] = found.secret
        return found.secret

    async def _deliver(self, ref: ModelRef) -> c.Outcome:
        if self._unsettled:
            # Override, pin and notice state, before the answer's first byte.
            stopped = await self._settle(within_budget=False)
            if stopped is not None:
                await self._drop_answer()
                return c.Cancelled()
        state, answer = self._state, self._answer
        if self._turn.cancelled or answer is None or state is None:
            await self._drop_answer()
            return c.Cancelled()
        ledger = state.ledger
        failed = next((a.reason for a in ledger.attempts if a.outcome is AttemptOutcome.FAILED), ledger.first_skip)
        number, selected, notices = len(ledger.attempts) + 1, state.selected.selected, tuple(ledger.notices)
        self._put(self._remembered(answer, ref))
        self._turn.give(Answered(answer, selected, ref, self._profile, number, failed, notices, self._upstream_s * 1000))
        self._parts.activity.committed(self._request)
        got = await self._waits.run(self._pump(answer), None)
        await self._drop_answer()
        if isinstance(got, Stopped):
            return c.Cancelled()
        return c.Completed() if got is None else c.Broken(got)

    def _remembered(self, answer: Answer, ref: ModelRef) -> list[Change]:
        """What upstream keeps of this answer, and what it evidently had of earlier ones (spec/gateway.md, `previous_response_id`)."""
        names = (*((answer.response_id,) if answer.response_id is not None else ()), *self._request.continues)
        made = StoredAnswer(ref, self._profile, split_record(self._request.session)[0], self._parts.wall())
        return [change for name in names for change in self._parts.memory.remember_answer(name, made)]

    async def _pump(self, answer: Answer) -> Failure | None:
        pipe = self._turn.pipe
        chunks = answer.chunks()
        try:
            async for chunk in chunks:
                await pipe.put(chunk)
        except AnswerBroken as broken:
            return broken.failure
        except Exception as error:
            # Nothing that comes from a provider can end the engine; a break after content is what the caller sees.
            log.exception("an answer of turn %s could not be read", self._request.turn)
            return Failure(message=f"{type(error).__name__}: {error}")
        finally:
            # Given up while it waited for its reader, it would stay open until somebody collects the garbage.
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()
        return None

    async def _settle(self, *, within_budget: bool = True) -> c.Outcome | None:
        """Until what was written is durable, at most 1 s; a store that this turn has seen stalled is not waited for again."""
        if self._degraded and self._parts.writer.slow:
            self._unsettled = False
            return c.Cancelled() if self._turn.cancelled else None
        durable = await self._waits.run(self._parts.writer.settle(), self._left_s() if within_budget else None)
        if isinstance(durable, Stopped):
            return self._over(durable)
        self._unsettled = False
        self._degraded = not durable
        return None

    async def _drop_answer(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            await close_answer(answer)

    def _left_s(self) -> float | None:
        """What the turn's budget has left, in real seconds."""
        if self._state is None or self._state.deadline is None:
            return None
        return self._parts.real_s(self._state.deadline - self._parts.clock.now_ms())

    def _over(self, stopped: Stopped) -> c.Outcome:
        return c.BudgetOver() if stopped.late else c.Cancelled()

    # --- telling -------------------------------------------------------------------------------------------------------

    def _who(self) -> dict[str, Any]:
        return {"session": self._request.session, "turn": self._request.turn}

    def _tell_attempts(self) -> None:
        """The walk has judged them: only now their reason is known."""
        if self._state is None:
            return
        attempts = self._state.ledger.attempts
        for attempt in attempts[self._told :]:
            pair = {"provider": attempt.ref.provider, "model": attempt.ref.model, "profile": attempt.profile}
            said = {"reason": attempt.reason, "status": attempt.status, "ms": attempt.ms, "rule": attempt.rule}
            self._parts.bus.publish("attempt_finished", **self._who(), **pair, outcome=str(attempt.outcome), **said)
        self._told = len(attempts)

    def _note_killed(self) -> None:
        """What was under way when the process ended stands in the result."""
        if self._state is not None and self._calling is not None:
            call, began = self._calling
            ledger, now = self._state.ledger, self._parts.clock.now_ms()
            ledger.attempted(call.ref, call.profile, AttemptOutcome.KILLED, began, now, call.rule)
            ledger.settle(call.ref, CandidateOutcome.FAILED, call.rule)


def cut_off(turn: LiveTurn, outcome: TurnOutcome, state: Walk | None = None, error: str = "") -> TurnResult:
    """The result of a turn that its walk did not end itself: killed, or failed by a bug of ours."""
    if outcome is TurnOutcome.KILLED:
        said = TurnError("Killed", "the engine stopped", "killed", None, "The engine was stopped during this turn.")
    else:
        text = "An internal error ended this turn; the engine's log has the details."
        said = TurnError("InternalError", f"internal error: {error}", "internal_error", None, text)
    if state is not None:
        return state.ledger.result(outcome, None, None, said)
    request, primary = turn.request, turn.settings.primary
    return TurnResult(request.turn, request.session, outcome, primary, None, None, "", (), (), (), (), said, (), 0)


def _left(deadline: float | None, now: float) -> float | None:
    return None if deadline is None else max(0.0, deadline - now)
