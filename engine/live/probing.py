"""What a forced probe's outcome does (`override.forced-probe`, `override.bulk-return`, clear-and-verify): a good answer counts as a
success of the profile and brings sessions back from an automatic fallback; anything else changes nothing. The call is in `probe`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from engine.domain.acts import ActResult
from engine.domain.ids import AgentId, ModelRef, ProfileId, SessionKey
from engine.domain.settings import Settings
from engine.domain.store import Change
from engine.live.effects import apply_effect, patch_session
from engine.live.parts import Parts
from engine.live.probe import NOT_PROBEABLE, OK, ProbeOutcome, force_probe
from engine.live.usual import owner_of, usual_request
from engine.policy.acts import ProbePlan, plan_probe
from engine.policy.commands import WriteUsage
from engine.policy.overrides import recovery
from engine.policy.selection import is_auto
from engine.policy.windows import after_success


class Probing:
    """commit: makes changes durable; a reason when that failed."""

    def __init__(self, parts: Parts, settings: Callable[[], Settings], commit: Callable[[list[Change]], Awaitable[str | None]]) -> None:
        self._parts = parts
        self._settings = settings
        self._commit = commit

    async def session(self, key: SessionKey) -> ActResult:
        """One real call to the session's primary."""
        plan = self._plan(key)
        outcome = await self._call(plan, key)
        with_profile = f" with {plan.profile}" if plan.profile is not None else ""
        if outcome.outcome != OK:
            return ActResult(False, f"{plan.ref}{with_profile}: {outcome.detail}", outcome.outcome)
        back = self._recover([key], plan)
        problem = await self._commit(back)
        word = f"{plan.ref}{with_profile} answered" + (f"; {key} is back on it" if back else "")
        return ActResult(problem is None, problem or word, OK)

    async def all_back(self) -> ActResult:
        """One forced probe per distinct primary of the sessions with an auto override; those whose primary answers recover."""
        held: dict[ModelRef, list[SessionKey]] = {}
        for key, session in self._parts.memory.sessions.items():
            if is_auto(session) and session.origin is not None:
                held.setdefault(session.origin, []).append(key)
        if not held:
            return ActResult(True, "no session is on a fallback")
        plans = [self._plan(keys[0]) for keys in held.values()]
        calls = (self._call(plan, keys[0]) for plan, keys in zip(plans, held.values(), strict=True))
        outcomes = await asyncio.gather(*calls)
        words: list[str] = []
        changes: list[Change] = []
        for (origin, keys), plan, outcome in zip(held.items(), plans, outcomes, strict=True):
            back = self._recover(keys, plan) if outcome.outcome == OK and plan.ref == origin else []
            changes += back
            words.append(f"{origin}: {len(keys)} back" if back else f"{origin}: {outcome.outcome}, {len(keys)} stay ({outcome.detail})")
        problem = await self._commit(changes)
        if problem is not None:
            return ActResult(False, problem)
        return ActResult(bool(changes), "; ".join(words), OK if changes else outcomes[0].outcome)

    async def profile(self, profile: ProfileId, agent: AgentId) -> ActResult:
        """One call with the model that the profile last served, else the first one of its provider in the chain."""
        kept = self._parts.memory.agents.get(agent)
        credential = kept.credentials.get(profile) if kept is not None else None
        if credential is None:
            return ActResult(False, f"no profile {profile}: `failover profiles list` shows what there is", NOT_PROBEABLE)
        ref = self._parts.activity.served_by.get(profile) or self._first_of(credential.provider.lower())
        if ref is None:
            why = f"no model of {credential.provider} is in the chain to verify {profile} with: clear it without the call"
            return ActResult(False, why, NOT_PROBEABLE)
        outcome = await force_probe(self._parts, self._settings(), agent, ref, profile)
        if outcome.outcome != OK:
            return ActResult(False, f"{profile} on {ref}: {outcome.detail}; its windows stay", outcome.outcome)
        return ActResult(True, f"{profile} answered on {ref}", OK)

    def _plan(self, key: SessionKey) -> ProbePlan:
        parts, settings = self._parts, self._settings()
        world = parts.memory.world(key, owner_of(parts, key), parts.clock.now_ms(), parts.wall())
        return plan_probe(usual_request(parts, key), settings, world)

    async def _call(self, plan: ProbePlan, key: SessionKey) -> ProbeOutcome:
        if plan.problem is not None:
            return ProbeOutcome(NOT_PROBEABLE, plan.problem)
        agent = owner_of(self._parts, key)
        outcome = await force_probe(self._parts, self._settings(), agent, plan.ref, plan.profile)
        if outcome.outcome == OK and plan.profile is not None:
            # Counts as a success of the pair that answered, whatever the session has become meanwhile (`attempt.attribution`).
            usage = after_success(self._parts.memory.usage(agent, plan.profile), plan.ref.model)
            self._parts.writer.put(apply_effect(self._parts, WriteUsage(plan.profile, usage, ref=plan.ref), key, agent))
        return outcome

    def _recover(self, keys: list[SessionKey], plan: ProbePlan) -> list[Change]:
        """Back to the primary, for those that are still on an automatic fallback from it. The cleared notice is told now and comes,
        stored, with the session's next answer."""
        changes: list[Change] = []
        for key in keys:
            session = self._parts.memory.session(key)
            if not is_auto(session) or session.origin != plan.ref:
                continue
            was = session.override
            fields, text = recovery(session, plan.ref, plan.profile)
            changes += patch_session(self._parts, key, fields, note="override.forced-probe")
            if text is not None:
                self._parts.bus.publish("notice", session=key, kind="cleared", text=text, selected=str(plan.ref), active=str(was))
                self._parts.feed.say("notice", "notice", text, session=key)
        return changes

    def _first_of(self, provider: str) -> ModelRef | None:
        settings = self._settings()
        policies = [settings.model, *(agent.model for agent in settings.agents.values() if agent.model is not None)]
        for policy in policies:
            for ref in ((policy.primary,) if policy.primary is not None else ()) + (policy.fallbacks or ()):
                if ref.provider == provider:
                    return ref
        return None
