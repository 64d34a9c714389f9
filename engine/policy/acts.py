"""What an operator's act changes (spec/console.md, spec sections 2, 4.2 and 9), as a pure decision: the engine applies it, makes it durable
and confirms it. The same code answers key, command line, operator API and `simulate`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from engine.domain.acts import Clear, Compact, Pin, Reset, SelectModel, SetOff, SetOn, SetOrder, Unpin
from engine.domain.ids import ModelRef, ProfileId, parse_ref
from engine.domain.sessions import NOTICE_FIELDS, OWNED_FIELDS, Session
from engine.domain.settings import Settings
from engine.domain.turns import TurnRequest
from engine.domain.usage import NEVER_USED, OperatorOff, UsageStats
from engine.policy.oauth import is_dead
from engine.policy.order import ineligible, resolve_order, windowed_last
from engine.policy.pins import PIN_FIELDS, USER_PIN_FIELDS, auto_pin_fields, pin_for, pin_is_auto, unpin_fields
from engine.policy.selection import is_auto, select
from engine.policy.windows import cleared
from engine.policy.world import World

_DATE = re.compile(r"\d[\d-]*\Z")
"""A model id may end in `@` and a date; what follows any other `@` is a profile."""

LocalAct = Pin | Unpin | SelectModel | Reset | Compact | Clear | SetOff | SetOn | SetOrder
"""The acts that need no call: `Probe`, `BulkReturn`, a verified `Clear`, `Reload` and `Undo` are the engine's."""


@dataclass(frozen=True, slots=True)
class Decided:
    """ok False: refused, nothing changes; message: what happened or why not, and the next step. session: fields of the act's session.
    usage, off, order: new records (off None: back in service). drop_marks: the session's probe marks go. undoable: `Undo` can take it
    back."""

    ok: bool
    message: str
    session: Mapping[str, object] = field(default_factory=dict)
    usage: Mapping[ProfileId, UsageStats] = field(default_factory=dict)
    off: Mapping[str, OperatorOff | None] = field(default_factory=dict)
    order: tuple[str, tuple[ProfileId, ...] | None] | None = None
    drop_marks: bool = False
    undoable: bool = True


def decide(act: LocalAct, settings: Settings, world: World, *, by: str, new_session_id: str) -> Decided:
    """world: as the act's session sees it. by: who acts. new_session_id: what a reset gives the session."""
    match act:
        case SelectModel():
            return _select_model(act.ref, settings, world, by)
        case Pin():
            return _pin(act, world, by)
        case Unpin():
            fields = unpin_fields(world.session)
            return Decided(True, f"{act.session}: unpinned" if fields else f"{act.session}: had no pin", fields, undoable=bool(fields))
        case Reset():
            fields = reset_fields(world.session, new_session_id)
            return Decided(True, f"{act.session}: new session", fields, drop_marks=True, undoable=False)
        case Compact():
            return Decided(True, "compacted", {"compaction_count": world.session.compaction_count + 1}, undoable=False)
        case Clear():
            if act.profile not in world.credentials:
                return _refused(f"no profile {act.profile}: `failover profiles list` shows what there is")
            usage = world.usage.get(act.profile, NEVER_USED)
            return Decided(True, f"{act.profile}: windows and counters cleared", usage={act.profile: cleared(usage)})
        case SetOff():
            problem = _unknown_target(act.target, settings, world)
            if problem is not None:
                return _refused(problem)
            off = OperatorOff(act.target, world.now, by, act.reason)
            return Decided(True, f"{act.target}: out of service for every session", off={act.target: off})
        case SetOn():
            if act.target not in world.off:
                return Decided(True, f"{act.target}: was in service", undoable=False)
            return Decided(True, f"{act.target}: back in service", off={act.target: None})
        case SetOrder():
            return _set_order(act, settings, world)
        case _:
            assert_never(act)


def reset_fields(session: Session, new_session_id: str) -> dict[str, object]:
    """`override.reset`: auto overrides, pins of both sources, origin and notice state go; a user's model selection stays."""
    fields: dict[str, object] = dict.fromkeys((*OWNED_FIELDS[6:], *NOTICE_FIELDS, *PIN_FIELDS, *USER_PIN_FIELDS, "pending_notice"))
    if is_auto(session) or session.override is None:
        fields.update(dict.fromkeys(OWNED_FIELDS[:3]))
    changed = {name: value for name, value in fields.items() if getattr(session, name) is not None}
    return {**changed, "session_id": new_session_id}


def split_profile(text: str) -> tuple[str, ProfileId | None]:
    """`zeta/std@zeta:k1` -> (`zeta/std`, `zeta:k1`); an `@` followed by a date belongs to the model id."""
    head, at, tail = text.rpartition("@")
    if not at or not head or _DATE.match(tail):
        return text, None
    return head, ProfileId(tail)


def resolve_model(text: str, settings: Settings) -> ModelRef | None:
    """An alias (whole and exact) or `provider/model`."""
    return settings.aliases.get(text) or parse_ref(text)


def _select_model(text: str, settings: Settings, world: World, by: str) -> Decided:
    """`/model`: a user selection, also of the model that is the default (`selection.default-pick`); with `default` it clears one. Both set
    the pending live switch."""
    session = world.session
    # A cleared notice that still waits for an answer is notice state, too (spec 1.3).
    forgotten = (*OWNED_FIELDS[6:], *NOTICE_FIELDS, "pending_notice")
    fields: dict[str, object] = {name: None for name in forgotten if getattr(session, name) is not None}
    if pin_is_auto(session):
        fields.update(dict.fromkeys(auto_pin_fields(session)))
    fields["live_model_switch_pending"] = True
    if text == "default":
        fields.update({name: None for name in OWNED_FIELDS[:3] if getattr(session, name) is not None})
        return Decided(True, f"back to the configured model {settings.primary}", fields)
    alias = settings.aliases.get(text)
    name, profile = (text, None) if alias is not None else split_profile(text)
    ref = alias or resolve_model(name, settings)
    if ref is None:
        return _refused(f"{text!r} is no alias and has no provider: write provider/model")
    problem = _unknown_model(ref, settings)
    if problem is not None:
        return _refused(problem)
    fields.update(provider_override=ref.provider, model_override=ref.model, model_override_source="user")
    if profile is not None:
        credential = world.credentials.get(profile)
        if credential is None:
            return _refused(f"no profile {profile}: `failover profiles list` shows what there is")
        if credential.provider.lower() != ref.provider:
            return _refused(f"{profile} is a profile of {credential.provider}, not of {ref.provider}")
        fields.update(_user_pin(profile, by, None, None))
    return Decided(True, f"{ref} selected" + (f" with {profile} only" if profile is not None else "") + "; strict, no fallback", fields)


def _pin(act: Pin, world: World, by: str) -> Decided:
    if act.profile not in world.credentials:
        return _refused(f"no profile {act.profile}: `failover profiles list` shows what there is")
    if act.until is not None and act.until <= world.now:
        return _refused("the pin's end is in the past")
    fields = _user_pin(act.profile, by, act.reason, act.until)
    return Decided(True, f"{act.session}: pinned to {act.profile}, strict until unpinned or reset", fields)


def _user_pin(profile: ProfileId, by: str, reason: str | None, until: int | None) -> dict[str, object]:
    return {
        "auth_profile_override": profile,
        "auth_profile_override_source": "user",
        "auth_profile_override_compaction_count": None,
        "pinned_by": by,
        "pin_reason": reason,
        "pin_until": until,
    }


def _set_order(act: SetOrder, settings: Settings, world: World) -> Decided:
    provider = act.provider.lower()
    if provider not in settings.providers:
        return _refused(f"no provider {provider}: " + _listed(settings.providers))
    if act.profiles is None:
        return Decided(True, f"{provider}: the configured order counts again", order=(provider, None))
    unknown = [p for p in act.profiles if p not in world.credentials]
    if unknown:
        return _refused(f"no profile {unknown[0]}: `failover profiles list` shows what there is")
    twice = next((p for place, p in enumerate(act.profiles) if p in act.profiles[:place]), None)
    if twice is not None:
        return _refused(f"{twice} is there twice: an order names each profile once")
    return Decided(True, f"{provider}: {' > '.join(act.profiles) or 'no profile at all'}", order=(provider, act.profiles))


def _unknown_model(ref: ModelRef, settings: Settings) -> str | None:
    """Spec 4.2: refused when the provider lists its models, or the allow-list is not empty, and it is not there."""
    provider = settings.providers.get(ref.provider)
    if provider is None:
        return f"no provider {ref.provider}: " + _listed(settings.providers)
    if ref in settings.models or ref == settings.primary or ref in (settings.model.fallbacks or ()):
        return None
    if provider.models and ref.model not in provider.models:
        return f"{ref.provider} has no model {ref.model}: " + _listed(provider.models)
    if settings.models:
        return f"{ref} is not in agents.defaults.models: " + _listed(str(m) for m in settings.models)
    return None


def _unknown_target(target: str, settings: Settings, world: World) -> str | None:
    ref = parse_ref(target)
    if target in world.credentials or target in settings.providers or (ref is not None and ref.provider in settings.providers):
        return None
    return f"{target!r} is no profile, provider or provider/model"


def _listed(names: Iterable[object]) -> str:
    known = sorted(str(n) for n in names)
    return "there is " + ", ".join(known[:12]) + (" ..." if len(known) > 12 else "") if known else "there is none"


def _refused(message: str) -> Decided:
    return Decided(False, message, undoable=False)


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """`override.forced-probe`: the one real call to make. problem: why there is none (`not_probeable`)."""

    ref: ModelRef
    profile: ProfileId | None = None
    problem: str | None = None


def plan_probe(request: TurnRequest, settings: Settings, world: World) -> ProbePlan:
    """For the turn that the session usually has: its primary (the origin of an auto override, else the selection) with the user pin, else
    the first profile of the order, whatever windows and throttles say; what is off is not probeable."""
    ref = select(request, settings, world).selected
    provider = settings.providers.get(ref.provider)
    if provider is None:
        return ProbePlan(ref, problem=f"{ref.provider} is not configured")
    if ref.provider in world.off or str(ref) in world.off:
        return ProbePlan(ref, problem=f"{ref} is out of service: `failover on` brings it back")
    if provider.keyless:
        return ProbePlan(ref)
    pin = pin_for(ref.provider, world)
    if pin.user is not None:
        pool: tuple[ProfileId, ...] = () if pin.missing or ineligible(pin.user, ref.provider, settings, world) else (pin.user,)
    else:
        pool = resolve_order(ref.provider, settings, world).profiles
    free, cooling = windowed_last((p for p in pool if p not in world.off), ref.model, settings, ref.provider, world)
    for profile in (*free, *(p for p, _ in cooling)):
        if profile not in world.dead and not is_dead(world.credentials[profile], world.wall):
            return ProbePlan(ref, profile)
    return ProbePlan(ref, problem=f"{ref.provider} has no usable profile: `failover profiles add` stores one")
