"""What a session's next turn would do: the walk's own selection, order and gate, with nothing claimed and nothing called. The chain pane,
`explain` and what-if show exactly this."""

from __future__ import annotations

from engine.domain.ids import ModelRef, ProfileId, SessionKey, TurnId
from engine.domain.sessions import Session
from engine.domain.settings import Settings
from engine.domain.snapshot import CandidatePreview, Preview, ProfileState, ProfileVerdict
from engine.domain.turns import TurnRequest
from engine.policy.gate import Admission, Verdict, admit
from engine.policy.oauth import is_dead
from engine.policy.order import resolve_order, windowed_last
from engine.policy.pins import pin_for, pin_is_auto, pin_is_user
from engine.policy.selection import PRIMARY_PROBE_MS, Selected, is_auto, select
from engine.policy.states import condition
from engine.policy.world import World


def preview(session: SessionKey, settings: Settings, world: World, request: TurnRequest | None = None) -> Preview:
    """The next chat turn of the session as it stands at `world.now`; request: another kind of turn to preview."""
    request = request or TurnRequest(TurnId(""), session)
    selected = select(request, settings, world)
    chain: list[CandidatePreview] = []
    probed: set[str] = set()
    next_ref: ModelRef | None = None
    next_profile: ProfileId | None = None
    for index, ref in enumerate(selected.chain):
        admission = admit(index, selected.chain, request, selected, settings, world, probed=probed)
        usable = _usable(ref, admission, settings, world)
        first = usable and next_ref is None
        if first:
            next_ref = ref
            next_profile = _live(admission, world)[0] if not settings.providers[ref.provider].keyless else None
        chain.append(
            CandidatePreview(
                ref=str(ref),
                verdict=_verdict(admission, usable, first),
                rule=admission.rule,
                reason=admission.reason,
                until=admission.until,
                role=_role(index, ref, selected),
                profiles=_profiles(ref, admission, settings, world),
            )
        )
    session_record = world.session
    mark = world.primary_marks.get((session, selected.primary))
    on_fallback = is_auto(session_record) and not selected.explicit
    return Preview(
        session=session,
        selection=selected.rule,
        selected=str(selected.selected),
        chain=tuple(chain),
        next_ref=str(next_ref) if next_ref is not None else None,
        next_profile=next_profile,
        primary_probe_at=(mark + PRIMARY_PROBE_MS if mark is not None else world.now) if on_fallback else None,
        sticky_since=session_record.fallback_notice_since,
        strict=len(selected.chain) == 1,
        notes=tuple(n for n in (selected.repaired_by, "live switch pending" if session_record.live_model_switch_pending else None) if n),
    )


def _live(admission: Admission, world: World) -> list[ProfileId]:
    """The admitted profiles whose secret can be resolved (`rotate.dead-secret`)."""
    return [p for p in admission.profiles if p not in world.dead and not is_dead(world.credentials[p], world.wall)]


def _usable(ref: ModelRef, admission: Admission, settings: Settings, world: World) -> bool:
    if admission.verdict in (Verdict.SKIP, Verdict.WAIT):
        return False
    return settings.providers[ref.provider].keyless or bool(_live(admission, world))


def _verdict(admission: Admission, usable: bool, first: bool) -> str:
    if not usable:
        return "wait" if admission.verdict is Verdict.WAIT else "skip"
    if first:
        return "next"
    return "probe" if admission.verdict is Verdict.PROBE else "ready"


def _role(index: int, ref: ModelRef, selected: Selected) -> str | None:
    if selected.probing and index == 0:
        return "primary probe"
    if selected.auto and not selected.probing and ref == selected.selected and index == len(selected.chain) - 1 and index > 0:
        return "origin, last resort"
    return None


def _profiles(ref: ModelRef, admission: Admission, settings: Settings, world: World) -> tuple[ProfileVerdict, ...]:
    """Every profile of the candidate's provider with its own verdict, in the order in which they would be tried."""
    configured = settings.providers.get(ref.provider)
    if configured is None or configured.keyless:
        return ()
    pin = pin_for(ref.provider, world)
    order = resolve_order(ref.provider, settings, world)
    if pin.user is not None:
        listed: list[ProfileId] = [pin.user]
        rule = "pin.user"
    else:
        first = [pin.preferred] if pin.preferred in order.profiles and pin.preferred is not None else []
        free, cooling = windowed_last(order.profiles, ref.model, settings, ref.provider, world)
        listed = [p for p in first if p in free] + [p for p in free if p not in first] + [p for p, _ in cooling]
        rule = order.rule
    live = frozenset(_live(admission, world))
    shown = [_profile(p, ref, rule, p in live, admission, settings, world) for p in listed]
    return tuple(shown) + tuple(
        ProfileVerdict(p, _dropped_state(p, settings, world), False, rule, detail=code) for p, code in order.dropped
    )


def _profile(
    profile: ProfileId, ref: ModelRef, rule: str, usable: bool, admission: Admission, settings: Settings, world: World
) -> ProfileVerdict:
    seen = condition(profile, settings, world, ref.model)
    window = seen.windows[0] if seen.windows else None
    session = world.session
    pinned = session.auth_profile_override == profile
    return ProfileVerdict(
        profile=profile,
        state=seen.state,
        usable=usable,
        rule=rule if window is None else admission.rule,
        until=window.until if window is not None else None,
        reason=window.reason if window is not None else None,
        step=window.step if window is not None else 0,
        model=window.model if window is not None else None,
        pin=_pin(session, world.now) if pinned else None,
        detail=seen.detail,
    )


def _pin(session: Session, now: int) -> str | None:
    """Whose pin it is; a user's that has ended is none, and no automatic one either."""
    return "user" if pin_is_user(session, now) else "auto" if pin_is_auto(session) else None


def _dropped_state(profile: ProfileId, settings: Settings, world: World) -> ProfileState:
    return condition(profile, settings, world).state
