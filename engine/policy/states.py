"""The state words of a profile (G05), from the same functions that selection uses, so that status and runtime cannot disagree."""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.credentials import OAuth
from engine.domain.ids import ProfileId
from engine.domain.settings import Settings
from engine.domain.snapshot import ProfileState
from engine.domain.usage import NEVER_USED
from engine.policy.oauth import is_dead, still_valid
from engine.policy.order import ineligible
from engine.policy.windows import Window, active
from engine.policy.world import World

_SEVERITY = {ProfileState.DISABLED: 0, ProfileState.BLOCKED: 1, ProfileState.COOLDOWN: 2}


@dataclass(frozen=True, slots=True)
class Condition:
    """state: the word. windows: all active ones that apply, most severe first (then whole-profile before scoped, then latest end).
    detail: what the word leaves out (`refreshable`, a reason code, who took it out of service)."""

    state: ProfileState
    windows: tuple[Window, ...] = ()
    detail: str | None = None


def condition(profile: ProfileId, settings: Settings, world: World, model: str | None = None) -> Condition:
    """The profile's condition now; with a model only the windows that apply to it count."""
    credential = world.credentials.get(profile)
    if credential is None:
        return Condition(ProfileState.MISSING, detail="profile_missing")
    provider = credential.provider.lower()
    configured = settings.providers.get(provider)
    exempt = configured is not None and not configured.cooldowns
    found = [] if exempt else active(world.usage.get(profile, NEVER_USED), model, world.now, world.wall)
    windows = tuple(sorted(found, key=lambda w: (_SEVERITY[w.kind], w.model is not None, -w.until))) if found else ()
    off = None
    if world.off:
        off = world.off.get(profile) or world.off.get(provider) or (world.off.get(f"{provider}/{model}") if model is not None else None)
    if off is not None:
        return Condition(ProfileState.OFF, windows, f"by {off.by}" + (f": {off.reason}" if off.reason else ""))
    problem = ineligible(profile, provider, settings, world)
    if problem in ("expired", "invalid_expires"):
        return Condition(ProfileState.EXPIRED, windows, problem if problem == "invalid_expires" else None)
    if problem is not None:
        return Condition(ProfileState.MISSING, windows, problem)
    if profile in world.dead:
        return Condition(ProfileState.MISSING, windows, "the secret cannot be resolved")
    if is_dead(credential, world.wall):
        return Condition(ProfileState.EXPIRED, windows, "cannot be refreshed: sign in again")
    if windows:
        return Condition(windows[0].kind, windows)
    if isinstance(credential, OAuth) and credential.expires is not None and not still_valid(credential, world.wall):
        return Condition(ProfileState.EXPIRED, windows, "refreshable")
    return Condition(ProfileState.READY, windows)
