"""One row of the sessions table, and the models that a picker offers: read from the session's record, its last turn and the very selection
that its next turn will use (G03), so that the screen cannot disagree with the engine. Nothing is kept here."""

from __future__ import annotations

from engine.domain.ids import SessionKey
from engine.domain.sessions import Session
from engine.domain.settings import Settings
from engine.domain.snapshot import SessionView
from engine.domain.turns import RunKind
from engine.live.activity import SessionActivity
from engine.live.parts import Parts
from engine.live.usual import owner_of, usual_request
from engine.policy.pins import pin_is_user
from engine.policy.selection import select

_NO_ACTIVITY = SessionActivity()


def known_models(settings: Settings) -> dict[str, None]:
    """Every ref that the configuration names: chain first, then agents, the allow-list, what providers list."""
    refs: list[object] = [settings.primary, *(settings.model.fallbacks or ())]
    for agent in settings.agents.values():
        if agent.model is not None:
            refs += [agent.model.primary, *(agent.model.fallbacks or ())]
    refs += [settings.heartbeat_model, *settings.models]
    refs += [f"{provider.id}/{model}" for provider in settings.providers.values() for model in provider.models]
    return dict.fromkeys(str(ref) for ref in refs if ref is not None)


def session_row(parts: Parts, key: SessionKey, settings: Settings) -> SessionView:
    """What stands in the sessions table: selected and active by the very selection that the next turn will use (G03)."""
    session = parts.memory.session(key)
    seen = parts.activity.sessions.get(key) or _NO_ACTIVITY
    now = parts.clock.now_ms()
    world = parts.memory.world(key, owner_of(parts, key), now, parts.wall())
    picked = select(usual_request(parts, key), settings, world)
    selected, active = picked.selected, session.override if picked.auto and session.override is not None else picked.start
    source = _source(session, picked.rule, seen.kind)
    noted = session.fallback_notice_active_model
    if source in (RunKind.CRON, RunKind.HEARTBEAT) and seen.selected is not None:
        selected, active = seen.selected, seen.served or seen.selected
    shown = noted if noted is not None and not picked.auto and not picked.explicit else str(active)
    pinned = session.auth_profile_override
    return SessionView(
        key=key,
        agent=seen.agent or session.agent,
        selected=str(selected),
        active=shown,
        source=source,
        profile=pinned or seen.profile,
        pin_source=None if pinned is None else "user" if pin_is_user(session, now) else "auto",
        pinned_by=session.pinned_by,
        pin_reason=session.pin_reason,
        pin_until=session.pin_until,
        on_fallback=picked.auto or noted is not None,
        reason=session.fallback_notice_reason,
        since=session.fallback_notice_since,
        last_outcome=seen.last_outcome,
        last_activity=seen.last_activity if seen.last_activity is not None else session.updated_at,
        in_flight=tuple(seen.in_flight.values()),
        strict=len(picked.chain) == 1,
    )


def _source(session: Session, rule: str, kind: str) -> str:
    words = {"selection.user": "user", "selection.legacy": "legacy", "selection.auto": "auto"}
    if rule in words:
        return words[rule]
    # A session that only ever runs on a schedule shows that; one with an override of its own shows the override.
    return kind if kind in (RunKind.CRON, RunKind.HEARTBEAT) and session.override is None else "default"
