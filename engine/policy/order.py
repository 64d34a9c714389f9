"""Spec 4.1: the profiles of a provider, in the order in which they would be tried, with the reason code of each that dropped out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

from engine.domain.credentials import ApiKey, Credential, OAuth, Token
from engine.domain.ids import ProfileId
from engine.domain.settings import Settings
from engine.domain.usage import NEVER_USED
from engine.policy.windows import free_at
from engine.policy.world import World

_TYPE_RANK = {"oauth": 0, "token": 1, "api_key": 2}


@dataclass(frozen=True, slots=True)
class Order:
    """rule: the slug of the source that gave it. profiles: eligible, in order, before windows are looked at. dropped: id -> reason code.
    repaired: an explicit order named only ids that are not stored, so all eligible ones are used (a warning says so)."""

    rule: str
    profiles: tuple[ProfileId, ...]
    dropped: tuple[tuple[ProfileId, str], ...] = ()
    repaired: bool = False


def resolve_order(provider: str, settings: Settings, world: World) -> Order:
    """`order.stored`, `order.config`, `order.configured-profiles`, `order.stored-profiles`: the first that there is."""
    explicit = world.order.get(provider)
    rule = "order.stored"
    if explicit is None:
        explicit, rule = settings.order.get(provider), "order.config"
    if explicit is not None:
        ids = tuple(dict.fromkeys(explicit))
        if not ids or any(i in world.credentials for i in ids):
            kept, dropped = _eligible(ids, provider, settings, world)
            return Order(rule, tuple(kept), dropped)
        # Only unknown ids: a typo must not take the provider out of service.
        kept, dropped = _eligible(_of_provider(provider, world), provider, settings, world)
        return Order("order.stored-profiles", _round_robin(kept, world), dropped, repaired=True)
    configured = [p.id for p in settings.profiles.values() if p.provider == provider]
    ids = tuple(configured) if configured else _of_provider(provider, world)
    kept, dropped = _eligible(ids, provider, settings, world)
    if configured:
        # Equal `lastUsed` falls back to stored order, whatever the order of the file.
        place = {p: i for i, p in enumerate(world.credentials)}
        kept.sort(key=lambda p: place[p])
    return Order("order.configured-profiles" if configured else "order.stored-profiles", _round_robin(kept, world), dropped)


def windowed_last(
    profiles: Iterable[ProfileId], model: str | None, settings: Settings, provider: str, world: World
) -> tuple[list[ProfileId], list[tuple[ProfileId, int]]]:
    """`order.windowed-last`: the profiles in no window that applies, and those in one, soonest free first, each with when it is free
    (epoch ms). An exempt provider has no windows at all."""
    configured = settings.providers.get(provider)
    if configured is not None and not configured.cooldowns:
        return list(profiles), []
    free: list[ProfileId] = []
    cooling: list[tuple[ProfileId, int]] = []
    usage, now, wall = world.usage, world.now, world.wall
    for profile in profiles:
        record = usage.get(profile)
        until = free_at(record, model, now, wall) if record is not None else 0
        if until:
            cooling.append((profile, until))
        else:
            free.append(profile)
    if len(cooling) > 1:
        cooling.sort(key=itemgetter(1))
    return free, cooling


def ineligible(profile: ProfileId, provider: str, settings: Settings, world: World) -> str | None:
    """Why the profile may not be used for the provider at all (a reason code of spec 4.1), None if it may."""
    credential = world.credentials.get(profile)
    if credential is None:
        return "profile_missing"
    if credential.provider.lower() != provider:
        return "provider_mismatch"
    configured = settings.profiles.get(profile)
    if configured is not None and configured.mode != credential.type and not (configured.mode == "oauth" and credential.type == "token"):
        return "mode_mismatch"
    return _secret_problem(credential, world.wall)


def _secret_problem(credential: Credential, wall: int) -> str | None:
    match credential:
        case ApiKey():
            return None if credential.key or credential.key_ref else "missing_credential"
        case OAuth():
            return None if credential.access or credential.refresh else "missing_credential"
        case Token():
            expires = credential.expires
            if not (credential.token or credential.key_ref):
                return "missing_credential"
            if expires is None:
                return None
            if isinstance(expires, bool) or not isinstance(expires, (int, float)) or not math.isfinite(expires) or expires <= 0:
                return "invalid_expires"
            return "expired" if expires <= wall else None


def _of_provider(provider: str, world: World) -> tuple[ProfileId, ...]:
    return tuple(p for p, c in world.credentials.items() if c.provider.lower() == provider)


def _eligible(
    ids: Iterable[ProfileId], provider: str, settings: Settings, world: World
) -> tuple[list[ProfileId], tuple[tuple[ProfileId, str], ...]]:
    kept: list[ProfileId] = []
    dropped: list[tuple[ProfileId, str]] = []
    credentials, configured = world.credentials, settings.profiles
    for profile in ids:
        credential = credentials.get(profile)
        # Most profiles are plain keys that the file does not mention: every decision looks at all of them.
        plain = type(credential) is ApiKey and credential.key and credential.provider == provider and profile not in configured
        problem = None if plain else ineligible(profile, provider, settings, world)
        if problem is None:
            kept.append(profile)
        else:
            dropped.append((profile, problem))
    return kept, tuple(dropped)


def _round_robin(profiles: list[ProfileId], world: World) -> tuple[ProfileId, ...]:
    """oauth, token, api_key; within a type the least recently used, never used first; equal times: stamped earlier first."""
    if len(profiles) < 2:
        return tuple(profiles)
    keys: dict[ProfileId, tuple[int, int]] = {}
    used: list[int] = []
    for profile in profiles:
        last = world.usage.get(profile, NEVER_USED).last_used
        keys[profile] = (_TYPE_RANK[world.credentials[profile].type], -1 if last is None else last)
        if last is not None:
            used.append(last)
    ranked = sorted(profiles, key=keys.__getitem__)
    if len(set(used)) < len(used):
        # Records are kept in the order of their stamps, so a place in the mapping settles a tie.
        stamped = {p: i for i, p in enumerate(world.usage)}
        ranked = sorted(ranked, key=lambda p: (*keys[p], stamped.get(p, -1)))
    return tuple(ranked)
