"""What if: the policy code on a copy of the live state. Assumptions are written into the copy, then the preview and a whole turn run on it;
nothing is called, claimed, stored or told. What an assumption changes is decided by the rules that would decide it in earnest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

from engine.domain.credentials import OAuth
from engine.domain.failure import Failure
from engine.domain.foresight import AssumedAct, Assumption, At, Fails, Move, Moves, PredictedStep, Taken, WhatIf
from engine.domain.ids import MAIN_AGENT, AgentId, ModelRef, ProfileId, SessionKey, TurnId, parse_ref
from engine.domain.settings import HOUR_MS, Settings
from engine.domain.snapshot import Preview
from engine.domain.turns import CandidateOutcome, TurnRequest, TurnResult
from engine.live.memory import Memory
from engine.live.parts import Parts
from engine.live.telling import span_words
from engine.live.usual import owner_of, usual_request
from engine.policy import commands as c
from engine.policy.acts import decide
from engine.policy.assumed import failure_of
from engine.policy.failures import judge, record
from engine.policy.preview import preview
from engine.policy.selection import select
from engine.policy.walk import Walk
from engine.policy.world import World

BATCH = 50
MAX_EXAMINED = 2_000
MAX_MOVED = 200
_TURN = TurnId("what-if")
_OPERATOR = "what-if"


class Foresight:
    """settings: today's."""

    def __init__(self, parts: Parts, settings: Callable[[], Settings]) -> None:
        self._parts = parts
        self._settings = settings

    def what_if(self, key: SessionKey, assumptions: Sequence[Assumption]) -> WhatIf:
        """For one session. Never raises for what is assumed: `taken` says what could not be."""
        stage = self._stage()
        before = stage.preview(key)
        taken = tuple(stage.assume(one, key) for one in assumptions)
        after = stage.preview(key)
        at = stage.now
        result = stage.turn(key)
        active = str(result.active) if result.active is not None else None
        return WhatIf(key, at, taken, before, after, _steps(result), str(result.outcome), active, result.notices)

    async def moves(self, assumptions: Sequence[Assumption]) -> Moves:
        """Whom it moves, of the sessions that were active last. In batches, so that traffic goes on meanwhile."""
        parts = self._parts
        stage, still = self._stage(), self._stage()
        taken = tuple(stage.assume(one, SessionKey("")) for one in assumptions)
        known = parts.activity.sessions
        ranked = sorted(parts.memory.sessions, key=lambda key: -((known[key].last_activity if key in known else None) or 0))
        found: list[Move] = []
        stranded = 0
        for place, key in enumerate(ranked[:MAX_EXAMINED], 1):
            was, then = still.preview(key), stage.preview(key)
            if (was.next_ref, was.next_profile) != (then.next_ref, then.next_profile):
                found.append(Move(key, was.next_ref, was.next_profile, then.next_ref, then.next_profile))
                stranded += then.next_ref is None
            if place % BATCH == 0:
                await asyncio.sleep(0)
        return Moves(taken, min(len(ranked), MAX_EXAMINED), len(ranked), len(found), stranded, tuple(found[:MAX_MOVED]))

    def _stage(self) -> _Stage:
        return _Stage(self._parts, self._settings())


class _Stage:
    """A copy of the state at one instant, which only moves when it is told."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self._parts = parts
        self._settings = settings
        self.memory: Memory = parts.memory.copy()
        self.now = parts.clock.now_ms()
        self.wall = parts.wall()
        self._failing: list[tuple[Fails, Failure]] = []

    def preview(self, key: SessionKey) -> Preview:
        return preview(key, self._settings, self._world(key), usual_request(self._parts, key))

    def _world(self, key: SessionKey, agent: AgentId | None = None) -> World:
        return self.memory.world(key, agent or owner_of(self._parts, key), self.now, self.wall)

    # --- assumptions ---------------------------------------------------------------------------------------------------

    def assume(self, assumption: Assumption, key: SessionKey) -> Taken:
        match assumption:
            case At(moment):
                if moment < self.now:
                    return Taken("that moment has passed: nothing is predicted backwards", held=False)
                ahead = moment - self.now
                self.now, self.wall = moment, self.wall + ahead
                return Taken(f"it is {span_words(ahead)} later, and nothing else has happened")
            case Fails():
                return self._fail(assumption, key)
            case _:
                return self._act(assumption, key)

    def _act(self, act: AssumedAct, key: SessionKey) -> Taken:
        agent = owner_of(self._parts, key) if key else MAIN_AGENT
        target = getattr(act, "profile", None) or getattr(act, "target", None)
        if not key and target is not None:
            agent = next((a for a, kept in self.memory.agents.items() if target in kept.credentials), MAIN_AGENT)
        decided = decide(act, self._settings, self._world(key, agent), by=_OPERATOR, new_session_id=_OPERATOR)
        if not decided.ok:
            return Taken(decided.message, held=False)
        self.memory.patch_session(key, decided.session, self.now)
        for profile, usage in decided.usage.items():
            self.memory.put_usage(agent, profile, usage)
        for name, off in decided.off.items():
            self.memory.put_off(name, off)
        if decided.order is not None:
            self.memory.put_order(getattr(act, "agent", None) or MAIN_AGENT, *decided.order)
        if decided.drop_marks:
            self.memory.drop_marks(key)
        return Taken(decided.message)

    def _fail(self, assumed: Fails, key: SessionKey) -> Taken:
        failure = failure_of(assumed)
        if failure is None:
            return Taken(f"{assumed.reason!r} is no reason that a call fails with", held=False)
        agent = owner_of(self._parts, key)
        pairs = self._meant(assumed.target, key, agent)
        if not pairs:
            return Taken(f"{assumed.target} is no profile, provider or model that this session could use", held=False)
        words: list[str] = []
        for ref, profile in pairs:
            judged = judge(failure, ref, profile, "what-if")
            usage = self.memory.usage(agent, profile)
            after, window = record(usage, judged, ref, self._settings, self.now, self.wall)
            self.memory.put_usage(agent, profile, after)
            scope = f" for {window.model}" if window is not None and window.model is not None else ""
            effect = f"{window.kind} {span_words(window.until - self.now)}{scope}" if window is not None else "no window"
            words.append(f"{profile} fails with {judged.reason}: {effect}")
        self._failing.append((assumed, failure))
        return Taken("; ".join(words))

    def _meant(self, target: str, key: SessionKey, agent: AgentId) -> list[tuple[ModelRef, ProfileId]]:
        """Pairs of model and profile whose failure is assumed: of a profile or provider, its first model in the session's chain."""
        world = self._world(key, agent)
        name, _, named = target.partition("@")
        ref = parse_ref(name)
        if ref is not None:
            profiles = [p for p, cred in world.credentials.items() if cred.provider.lower() == ref.provider and named in ("", p)]
            return [(ref, profile) for profile in profiles]
        chain = select(usual_request(self._parts, key), self._settings, world).chain
        pairs = []
        for profile, credential in world.credentials.items():
            provider = credential.provider.lower()
            if target not in (profile, provider):
                continue
            model = next((one for one in chain if one.provider == provider), self._parts.activity.served_by.get(profile))
            if model is not None:
                pairs.append((model, profile))
        return pairs

    # --- the turn ------------------------------------------------------------------------------------------------------

    def turn(self, key: SessionKey) -> TurnResult:
        """A whole turn on the copy: every call answers that is not assumed to fail."""
        request = replace(usual_request(self._parts, key), turn=_TURN)
        steps = Walk(request, self._settings, self._world(key)).run()
        command = next(steps)
        while True:
            outcome = self._perform(command, request)
            try:
                command = steps.send((outcome, self._world(key)))
            except StopIteration as ended:
                result: TurnResult = ended.value
                return result

    def _perform(self, command: c.Command, request: TurnRequest) -> c.Outcome:
        memory, agent = self.memory, owner_of(self._parts, request.session)
        match command:
            case c.CallProvider(ref, profile):
                failure = next((failure for assumed, failure in self._failing if _hits(assumed.target, ref, profile)), None)
                return c.Failed(failure) if failure is not None else c.Content()
            case c.Deliver():
                return c.Completed()
            case c.SaveOverride(fields):
                memory.patch_session(request.session, fields, self.now)
                return c.Saved()
            case c.Sleep(ms):
                self.now, self.wall = self.now + ms, self.wall + ms
                return c.Slept()
            case c.AwaitTrial(trials):
                # Somebody else's trial: how it ends is not known, only that it ends.
                for held in trials:
                    memory.trials.pop(held, None)
                return c.TrialEnded()
            case c.RefreshToken(profile):
                kept = memory.agents[memory.owner(agent, profile)].credentials
                login = kept.get(profile)
                if isinstance(login, OAuth):
                    kept[profile] = replace(login, expires=self.wall + HOUR_MS)
                return c.Refreshed()
            case (
                c.StampUsed()
                | c.MarkPrimary()
                | c.MarkThrottle()
                | c.ClaimTrial()
                | c.ReleaseTrial()
                | c.WriteUsage()
                | c.WriteSession()
                | c.RememberSkip()
                | c.CountSkip()
                | c.Log()
                | c.Announce()
            ):
                memory.apply(command, _TURN, request.session, agent, self.now)
                return c.Done()
            case _:
                assert_never(command)


def _hits(target: str, ref: ModelRef, profile: ProfileId | None) -> bool:
    name, _, named = target.partition("@")
    if "/" in name:
        return name == str(ref) and named in ("", profile or "")
    return target in (ref.provider, profile)


def _steps(result: TurnResult) -> tuple[PredictedStep, ...]:
    steps: list[PredictedStep] = []
    for candidate in result.candidates:
        made = [a for a in result.attempts if a.ref == candidate.ref]
        steps += [PredictedStep(str(a.ref), a.profile, str(a.outcome), a.reason, a.status, a.rule, a.at_ms) for a in made]
        if not made and candidate.outcome is CandidateOutcome.SKIPPED:
            steps.append(PredictedStep(str(candidate.ref), None, "skipped", candidate.reason, None, candidate.rule))
    return tuple(steps)
