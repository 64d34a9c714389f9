"""Can the next request be answered at all? Readiness and the alarms of spec/console.md ("Alerts") that are about the whole: everything
down, a strict pin without a usable profile. Asked with the rules' own order and windows, so that it cannot disagree with a turn."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.ids import MAIN_AGENT, AgentId, ModelRef, ProfileId, SessionKey, TurnId
from engine.domain.settings import Settings
from engine.domain.snapshot import ProfileState
from engine.domain.turns import TurnRequest
from engine.live.parts import Parts
from engine.live.usual import owner_of
from engine.policy.order import resolve_order, windowed_last
from engine.policy.pins import pin_for, pin_is_user
from engine.policy.selection import select
from engine.policy.states import condition
from engine.policy.world import World

ALL_DOWN = "all_down"
PIN = "pin:"
MAX_PIN_ALARMS = 20


def any_usable(parts: Parts, settings: Settings) -> bool:
    """Is there a candidate, in any configured chain, with a profile that could be tried now?"""
    now, wall = parts.clock.now_ms(), parts.wall()
    worlds: dict[AgentId, World] = {}
    for agent, ref in _refs(settings):
        world = worlds.get(agent)
        if world is None:
            world = worlds[agent] = parts.memory.world(SessionKey(""), agent, now, wall)
        if _usable(ref, settings, world):
            return True
    return False


def sound_alarms(parts: Parts, settings: Settings, pinned: list[SessionKey]) -> None:
    """Raises and lowers them. pinned: the sessions with a user's pin."""
    if any_usable(parts, settings):
        parts.alarms.lower(ALL_DOWN)
    else:
        parts.alarms.sound(ALL_DOWN, "everything is down: no profile of any model in the chain can be used now")
    stuck: dict[str, str] = {}
    for key in pinned[:]:
        session = parts.memory.session(key)
        profile = session.auth_profile_override
        if profile is None or not pin_is_user(session, parts.clock.now_ms()):
            continue
        world = parts.memory.world(key, owner_of(parts, key), parts.clock.now_ms(), parts.wall())
        state = _stuck(profile, key, settings, world)
        if state is not None and len(stuck) < MAX_PIN_ALARMS:
            stuck[f"{PIN}{key}"] = f"{key} is pinned to {profile}, which is {state}"
    for kind in parts.alarms.standing(PIN):
        if kind not in stuck:
            parts.alarms.lower(kind)
    for kind, text in stuck.items():
        parts.alarms.sound(kind, text, session=kind.removeprefix(PIN))


def _stuck(profile: ProfileId, key: SessionKey, settings: Settings, world: World) -> ProfileState | None:
    """The pinned profile's state if it keeps the session's next turn from a candidate; None when it can be used for one, and when the pin
    has no effect now: no candidate is of its provider, or an operator has put that candidate off whatever is pinned."""
    seen = [
        condition(profile, settings, world, ref.model)
        for ref in select(TurnRequest(TurnId(""), key), settings, world).chain
        if pin_for(ref.provider, world).user == profile and ref.provider not in world.off and str(ref) not in world.off
    ]
    if not seen or any(one.state is ProfileState.READY or one.detail == "refreshable" for one in seen):
        return None
    return seen[0].state


def _refs(settings: Settings) -> Iterator[tuple[AgentId, ModelRef]]:
    yield MAIN_AGENT, settings.primary
    for ref in settings.model.fallbacks or ():
        yield MAIN_AGENT, ref
    for agent in settings.agents.values():
        if agent.model is not None:
            if agent.model.primary is not None:
                yield agent.id, agent.model.primary
            for ref in agent.model.fallbacks or ():
                yield agent.id, ref


def _usable(ref: ModelRef, settings: Settings, world: World) -> bool:
    provider = settings.providers.get(ref.provider)
    if provider is None or ref.provider in world.off or str(ref) in world.off:
        return False
    if provider.keyless:
        return True
    order = resolve_order(ref.provider, settings, world).profiles
    pool = (profile for profile in order if profile not in world.off and profile not in world.dead)
    return bool(windowed_last(pool, ref.model, settings, ref.provider, world)[0])
