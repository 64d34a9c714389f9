"""Spec section 7: may this candidate be attempted now, with which profiles, and by which rule. Every answer carries the slug and the
numbers it used. It claims nothing: the walk does that, in the same breath."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.domain.ids import ModelRef, ProfileId
from engine.domain.reasons import FailoverReason, SkipReason
from engine.domain.settings import Settings
from engine.domain.snapshot import ProfileState
from engine.domain.turns import TurnRequest
from engine.domain.usage import NEVER_USED
from engine.policy.order import ineligible, resolve_order, windowed_last
from engine.policy.pins import pin_for
from engine.policy.selection import Selected
from engine.policy.windows import Window, active, trial_due
from engine.policy.world import World

PROBE_THROTTLE_MS = 30_000
BILLING_THROTTLE_MS = 5 * 60_000
BLOCKED_THROTTLE_MS = 60 * 60_000
NEAR_END_MS = 2 * 60_000
"""Section 7: decided numbers."""

_RANK: dict[str, int] = {
    FailoverReason.AUTH_PERMANENT: 0,
    FailoverReason.AUTH: 1,
    FailoverReason.BILLING: 2,
    FailoverReason.OVERLOADED: 3,
    FailoverReason.TIMEOUT: 4,
    FailoverReason.RATE_LIMIT: 5,
}
_UNKNOWN_RANK = 6
_SIBLING_REASONS = frozenset({FailoverReason.RATE_LIMIT, FailoverReason.OVERLOADED, FailoverReason.TIMEOUT, FailoverReason.UNKNOWN})
_NOT_TRANSIENT = frozenset({FailoverReason.AUTH, FailoverReason.AUTH_PERMANENT, FailoverReason.BILLING})


class Verdict(StrEnum):
    OPEN = "open"
    PROBE = "probe"
    SKIP = "skip"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Admission:
    """verdict OPEN: `profiles` are free, in order (empty for a keyless provider). PROBE: one profile, through its window. SKIP: `reason`
    says why. WAIT: `trials` are in flight and the session has nothing after this candidate. trial: the first profile is due a trial.
    until: when the window that decided ends. sibling: a sibling probe (its own throttle)."""

    verdict: Verdict
    rule: str
    profiles: tuple[ProfileId, ...] = ()
    reason: str | None = None
    until: int | None = None
    trials: tuple[tuple[ProfileId, str], ...] = ()
    sibling: bool = False
    warning: str | None = None


def admit(
    index: int,
    chain: Sequence[ModelRef],
    request: TurnRequest,
    selected: Selected,
    settings: Settings,
    world: World,
    *,
    tried: Collection[ProfileId] = (),
    probed: Collection[str] = (),
) -> Admission:
    """Decides on `chain[index]`. tried: its profiles this turn has used (`rotate.once`). probed: providers that had their transient
    cooldown probe in this turn (`gate.one-probe-per-provider`)."""
    ref = chain[index]
    provider = settings.providers.get(ref.provider)
    if provider is None:
        return _skip("gate.unknown-provider", SkipReason.UNKNOWN_PROVIDER)
    pin = pin_for(ref.provider, world)
    if pin.missing:
        return _skip("pin.missing", SkipReason.PINNED_PROFILE_MISSING)
    if ref.provider in world.off or str(ref) in world.off:
        return _skip("gate.operator-off", SkipReason.OPERATOR_OFF)
    pool: tuple[ProfileId, ...] = ()
    off_pool: tuple[ProfileId, ...]
    warning: str | None = None
    if not provider.keyless:
        if pin.user is not None:
            pool = (pin.user,) if ineligible(pin.user, ref.provider, settings, world) is None else ()
            off_pool = (pin.user,)
        else:
            order = resolve_order(ref.provider, settings, world)
            pool = off_pool = order.profiles
            if order.repaired:
                warning = "the explicit order names only profiles that are not stored"
        if world.off and off_pool:
            if all(p in world.off for p in off_pool):
                return _skip("gate.operator-off", SkipReason.OPERATOR_OFF)
            pool = tuple(p for p in pool if p not in world.off)
        if not pool:
            return _skip("gate.no-credentials", SkipReason.NO_CREDENTIALS)
    held_elsewhere = (request.held_by is not None and not _holds(request, ref, pool)) or (request.held_somewhere and index > 0)
    if ref in request.inexpressible or held_elsewhere:
        return _skip("gate.dialect-unsupported", SkipReason.DIALECT_UNSUPPORTED)
    if index > 0 and world.skips and world.now < world.skips.get((world.session.session_id or request.session, ref), 0):
        return _skip("gate.skip-cache", SkipReason.SKIP_CACHE)
    if provider.keyless:
        return Admission(Verdict.OPEN, "gate.open")
    if request.held_by is not None and request.held_by[1] is not None:
        pool = (request.held_by[1],)
    elif request.held_somewhere:
        # Whose it is was never seen: one account is asked, and no other learns of it.
        pool = tuple(tried)[:1] or pool[:1]
    preferred = pin.preferred
    if preferred is not None and preferred in pool and pool[0] != preferred:
        # `pin.auto` is a preference: tried first; in a window it ends by itself, because windowed profiles go last.
        pool = (preferred, *(p for p in pool if p != preferred))
    free, cooling = windowed_last(pool, ref.model, settings, ref.provider, world)
    if free:
        return _open(index, chain, ref, request, settings, world, [p for p in free if p not in tried], warning)
    return _through_window(index, chain, request, selected, world, cooling, probed)


def _holds(request: TurnRequest, ref: ModelRef, pool: tuple[ProfileId, ...]) -> bool:
    """Is this candidate the account that holds the stored state which the request continues (spec/gateway.md)?"""
    assert request.held_by is not None
    holder, profile = request.held_by
    return ref.provider == holder.provider and (profile is None or profile in pool)


def _skip(rule: str, reason: str, until: int | None = None) -> Admission:
    return Admission(Verdict.SKIP, rule, (), str(reason), until)


def _open(
    index: int,
    chain: Sequence[ModelRef],
    ref: ModelRef,
    request: TurnRequest,
    settings: Settings,
    world: World,
    free: list[ProfileId],
    warning: str | None,
) -> Admission:
    """`gate.open`, unless every free profile is held by another turn's trial (`gate.single-flight`)."""
    exempt = not settings.providers[ref.provider].cooldowns
    held: list[tuple[ProfileId, Window]] = []
    usable: list[ProfileId] = []
    for profile in free:
        if exempt or (profile, ref.model) not in world.trials or world.trials[(profile, ref.model)] == request.turn:
            usable.append(profile)
            continue
        due = trial_due(world.usage.get(profile, NEVER_USED), ref.model, world.now, world.wall)
        if due is None:
            usable.append(profile)
        else:
            held.append((profile, due))
    if usable or not held:
        return Admission(Verdict.OPEN, "gate.open", tuple(usable), warning=warning)
    return _held(index, chain, ref, held)


def _held(index: int, chain: Sequence[ModelRef], ref: ModelRef, held: list[tuple[ProfileId, Window]]) -> Admission:
    """All that could be used is in somebody's trial: the last of the chain waits, others go on without waiting."""
    reason = held[0][1].gate_reason
    if index == len(chain) - 1:
        trials = tuple((profile, ref.model) for profile, _ in held)
        return Admission(Verdict.WAIT, "gate.single-flight", (), reason, trials=trials)
    return _skip("gate.single-flight", reason)


def soonest_free(cooling: Sequence[tuple[ProfileId, int]], model: str, world: World) -> tuple[ProfileId, Window]:
    """The profile that is free soonest and the window that decides for it: of its applicable ones that which ends last; ties by reason.
    cooling: soonest first, as `windowed_last` gives them."""
    soonest = cooling[0][1]
    tied = (profile for profile, until in cooling if until == soonest)
    found = [(p, _last_window(active(world.usage[p], model, world.now, world.wall))) for p in tied]
    return found[0] if len(found) == 1 else min(found, key=lambda item: _rank(item[1]))


def _last_window(windows: list[Window]) -> Window:
    return min(windows, key=lambda w: (-w.until, _rank(w)))


def _rank(window: Window) -> int:
    return _RANK.get(window.gate_reason, _UNKNOWN_RANK)


def _through_window(
    index: int,
    chain: Sequence[ModelRef],
    request: TurnRequest,
    selected: Selected,
    world: World,
    cooling: Sequence[tuple[ProfileId, int]],
    probed: Collection[str],
) -> Admission:
    """Rules 3 to 8: every profile is in a window that applies."""
    ref = chain[index]
    profile, window = soonest_free(cooling, ref.model, world)
    reason = window.gate_reason
    rule, allowed, sibling, transient = _decide(index, chain, selected, world, profile, window)
    if not allowed:
        return _skip(rule, reason, window.until)
    if transient and ref.provider in probed:
        return _skip("gate.one-probe-per-provider", reason, window.until)
    if world.trials.get((profile, ref.model), request.turn) != request.turn:
        return _held(index, chain, ref, [(profile, window)])
    return Admission(Verdict.PROBE, rule, (profile,), reason, window.until, sibling=sibling)


def _decide(
    index: int, chain: Sequence[ModelRef], selected: Selected, world: World, profile: ProfileId, window: Window
) -> tuple[str, bool, bool, bool]:
    """(rule, attempt?, sibling probe?, transient cooldown probe?)"""
    ref, reason = chain[index], window.gate_reason
    since = _since(world, ref.provider, profile)
    if selected.explicit and (index == 0 or not selected.own_list):
        return "gate.user-explicit", since >= PROBE_THROTTLE_MS, False, False
    if reason in (FailoverReason.AUTH, FailoverReason.AUTH_PERMANENT):
        return "gate.auth-skip", False, False, False
    if reason == FailoverReason.BILLING:
        return "gate.billing-throttle", index == 0 and since >= BILLING_THROTTLE_MS, False, False
    if index == 0:
        return "gate.primary-probe", _near(world, window, since, alone=len(chain) == 1), False, True
    if ref.provider == chain[0].provider:
        last = world.sibling_throttles.get((ref.provider, ref.model))
        open_ = last is None or world.now - last >= PROBE_THROTTLE_MS
        eligible = window.kind is not ProfileState.BLOCKED and reason in _SIBLING_REASONS
        return "gate.sibling-probe", eligible and open_, True, True
    return "gate.other-provider-probe", reason not in _NOT_TRANSIENT and _near(world, window, since, alone=False), False, True


def _near(world: World, window: Window, since: int, *, alone: bool) -> bool:
    """`gate.primary-probe`: the 30 s throttle is open and the end is near; alone in its chain: the throttle; a block has its own pace."""
    near = window.until - (world.wall if window.kind is ProfileState.BLOCKED else world.now) <= NEAR_END_MS
    if window.kind is ProfileState.BLOCKED:
        return since >= BLOCKED_THROTTLE_MS or (near and since >= PROBE_THROTTLE_MS)
    return since >= PROBE_THROTTLE_MS and (near or alone)


def _since(world: World, provider: str, profile: ProfileId) -> int:
    """Ms since the later of the profile's last failure (one after `now` counts as none) and the provider's last cooldown probe."""
    failed = world.usage.get(profile, NEVER_USED).last_failure_at
    probed = world.throttles.get(provider)
    latest = max(failed if failed is not None and failed <= world.now else -1, probed if probed is not None else -1)
    return BLOCKED_THROTTLE_MS if latest < 0 else world.now - latest
