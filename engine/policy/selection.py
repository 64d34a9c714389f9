"""Spec section 2: which model a turn starts from, and whether it may fall back. Pure; what a row repairs comes back as session fields
to write. Whether a candidate may be attempted now is the gate's business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from engine.domain.ids import ModelRef, SessionKey
from engine.domain.sessions import NOTICE_FIELDS, OWNED_FIELDS, Session
from engine.domain.settings import ModelPolicy, Settings
from engine.domain.turns import RunKind, TurnRequest
from engine.policy.chain import build_chain
from engine.policy.pins import auto_pin_fields, pin_is_auto
from engine.policy.world import World

PRIMARY_PROBE_MS = 5 * 60_000
"""`override.probe`: fixed."""


@dataclass(frozen=True, slots=True)
class Selected:
    """rule: the row's slug. start: what the turn starts from. primary: what it would start from without an auto override.
    selected: what a reader calls the selected model (the origin of an auto override, else `start`). per_run: writes nothing to the session.
    own_list: the turn brought its own fallbacks. explicit: a user or legacy selection. auto: the session holds a valid auto override.
    probing: this turn is the primary probe. repairs: session fields to write first; repaired_by: the slug of the row that says so."""

    rule: str
    start: ModelRef
    primary: ModelRef
    selected: ModelRef
    chain: tuple[ModelRef, ...]
    per_run: bool = False
    own_list: bool = False
    explicit: bool = False
    auto: bool = False
    probing: bool = False
    repairs: Mapping[str, object] = field(default_factory=dict)
    repaired_by: str | None = None

    @property
    def writes_selection(self) -> bool:
        """May the turn write override and pin?"""
        return not (self.per_run or self.own_list)


def is_explicit(session: Session) -> bool:
    """A user's or a legacy override (`selection.user`, `selection.legacy`); one with origin fields and no source is auto."""
    if session.override is None:
        return False
    if session.model_override_source is None:
        return session.model_override_fallback_origin_provider is None and session.model_override_fallback_origin_model is None
    return session.model_override_source == "user"


def chosen_by_user(session: Session) -> ModelRef | None:
    """The model that a user (or a legacy entry) selected for the session, None if nobody did."""
    return session.override if is_explicit(session) else None


def is_auto(session: Session) -> bool:
    return session.override is not None and not is_explicit(session)


def clear_override(session: Session, *, notice: bool = True, override: bool = True) -> dict[str, Any]:
    """The fields that forget an override with its origin, its auto pin and (with `notice`) its notice state: also a cleared notice that
    still waits for an answer, which would tell of a model that nobody is on any more."""
    names = list(OWNED_FIELDS[6:])
    if override:
        names += OWNED_FIELDS[:3]
    if notice:
        names += (*NOTICE_FIELDS, "pending_notice")
    cleared: dict[str, object] = {name: None for name in names if getattr(session, name) is not None}
    if pin_is_auto(session):
        cleared.update(dict.fromkeys(auto_pin_fields(session)))
    return cleared


def select(request: TurnRequest, settings: Settings, world: World) -> Selected:
    """The row that applies: the turn's own model first, else the session's choice, else what was requested or configured."""
    selected = _select(request, settings, world)
    if request.per_run and not selected.per_run:
        # Counting tokens, say: from where the session stands, and without a trace in it.
        return replace(selected, rule="selection.per-run", per_run=True, probing=False, repairs={}, repaired_by=None)
    return selected


def _select(request: TurnRequest, settings: Settings, world: World) -> Selected:
    per_run = _per_run(request, settings)
    if per_run is not None:
        return per_run
    session = world.session
    repairs: dict[str, Any] = {}
    repaired_by: str | None = None
    if (session.provider_override is None) != (session.model_override is None) or (
        session.override is None and (session.provider_override is not None or session.model_override is not None)
    ):
        repairs, repaired_by = clear_override(session, notice=not is_user_source(session)), "selection.half-entry"
        session = replace(session, **repairs)
    if is_explicit(session) and session.override is not None:
        rule = "selection.user" if session.model_override_source == "user" else "selection.legacy"
        start = session.override
        chain = build_chain(start, request.fallbacks or (), None)
        return Selected(rule, start, start, start, chain, own_list=request.fallbacks is not None, explicit=True)
    base = _base(request, settings)
    if is_auto(session):
        if session.origin == base.primary:
            return _auto(request, settings, world, session, base)
        stale = clear_override(session)
        repairs = {**repairs, **stale}
        heartbeat = request.kind is RunKind.HEARTBEAT
        repaired_by = "selection.heartbeat-clears-stale" if heartbeat else "selection.stale-origin"
    if repairs and base.writes_selection and not base.per_run:
        return replace(base, repairs=repairs, repaired_by=repaired_by)
    return base


def is_user_source(session: Session) -> bool:
    return session.model_override_source == "user"


def _policy(request: TurnRequest, settings: Settings) -> tuple[ModelPolicy | None, ModelRef]:
    """The agent's own model policy, if it has one, and its configured primary (else the default one)."""
    agent = settings.agents.get(request.agent) if request.agent is not None else None
    own = agent.model if agent is not None else None
    primary = own.primary if own is not None and own.primary is not None else settings.primary
    return own, primary


def _configured_list(own: ModelPolicy | None, settings: Settings) -> tuple[ModelRef, ...]:
    """ "Configured fallbacks": the agent's list if it has a model of its own (a strict agent has none), else the default's."""
    policy = own if own is not None else settings.model
    return policy.fallbacks or ()


def _per_run(request: TurnRequest, settings: Settings) -> Selected | None:
    """One-off models, cron runs, heartbeats with their own model and image runs: `selection.per-run`."""
    own, primary = _policy(request, settings)
    given = request.fallbacks
    if request.one_off is not None:
        return _row("selection.one-off", request.one_off, given or (), None)
    if request.image:
        images = settings.image_model
        listed = images.fallbacks or () if images is not None else _configured_list(own, settings)
        first = images.primary if images is not None and images.primary is not None else primary
        start = request.requested or first
        return _row("selection.per-run", start, given if given is not None else listed, first if given is None else None)
    if request.kind is RunKind.CRON:
        last = primary if given is None else None
        if request.cron_model is not None:
            return _row("selection.cron-model", request.cron_model, given if given is not None else settings.model.fallbacks or (), last)
        return _row("selection.cron-default", primary, given if given is not None else _configured_list(own, settings), last)
    if request.kind is RunKind.HEARTBEAT:
        model = request.cron_model or settings.heartbeat_model
        if model is not None:
            listed = given if given is not None else settings.model.fallbacks or ()
            return _row("selection.heartbeat", model, listed, primary if given is None else None)
    return None


def _row(rule: str, start: ModelRef, fallbacks: tuple[ModelRef, ...], last: ModelRef | None) -> Selected:
    return Selected(rule, start, start, start, build_chain(start, fallbacks, last), per_run=True)


def _base(request: TurnRequest, settings: Settings) -> Selected:
    """Requested, agent or default: the rows that no override touches."""
    own, primary = _policy(request, settings)
    given = request.fallbacks
    last: ModelRef | None = None
    if request.requested is not None:
        rule, start = "selection.requested", request.requested
        listed, last = _configured_list(own, settings), primary
    elif own is not None and own.fallbacks is None:
        rule, start, listed = "selection.agent-primary", primary, ()
    elif own is not None:
        rule, start, listed = "selection.agent-fallbacks", primary, own.fallbacks or ()
    else:
        rule, start = "selection.configured-default", primary
        listed, last = settings.model.fallbacks or (), primary
    if given is not None:
        listed, last = given, None
    return Selected(rule, start, start, start, build_chain(start, listed, last), own_list=given is not None)


def _auto(request: TurnRequest, settings: Settings, world: World, session: Session, base: Selected) -> Selected:
    """`selection.auto`: a fallback that answered stays (`override.sticky`); at least five minutes after the last attempt on the primary,
    the turn starts there (`override.probe`)."""
    override = session.override
    assert override is not None
    if request.fallbacks is not None:
        chain = build_chain(override, request.fallbacks, None)
        return replace(base, rule="selection.auto", start=override, chain=chain, selected=base.primary, auto=True)
    if probe_due(request.session, base.primary, world):
        return replace(base, rule="selection.auto", auto=True, probing=True)
    own, _ = _policy(request, settings)
    chain = build_chain(override, _configured_list(own, settings), base.primary)
    return replace(base, rule="selection.auto", start=override, chain=chain, selected=base.primary, auto=True)


def probe_due(session: SessionKey, primary: ModelRef, world: World) -> bool:
    """`override.probe`: no mark (a new process), or the last attempt at least five minutes ago."""
    mark = world.primary_marks.get((session, primary))
    return mark is None or world.now - mark >= PRIMARY_PROBE_MS
