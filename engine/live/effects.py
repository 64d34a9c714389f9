"""Applying what the rules decided, at once and in memory, before anything is awaited: the store gets the changes, watchers are told.
The same for turns and for operators' acts. Nothing is decided here, and nothing waits."""

from __future__ import annotations

from collections.abc import Mapping

from engine.domain.decisions import FOREIGN
from engine.domain.ids import AgentId, ProfileId, SessionKey, TurnId, provider_of
from engine.domain.sessions import Session
from engine.domain.store import AppendDecision, Change, PatchSession
from engine.domain.usage import UsageStats
from engine.live.parts import Parts
from engine.live.telling import Told, session_changes, window_changes
from engine.policy.commands import Announce, Effect, Log, ReleaseTrial, StampUsed, WriteSession, WriteUsage

NO_TURN = TurnId("")
NO_SESSION = SessionKey("")


def apply_effect(parts: Parts, effect: Effect, session: SessionKey, agent: AgentId, turn: TurnId = NO_TURN) -> list[Change]:
    """The effect is applied and told; what must be stored comes back and is the caller's to put or to commit."""
    now = parts.clock.now_ms()
    match effect:
        case WriteUsage(profile):
            before = parts.memory.usage(agent, profile)
            changes = parts.memory.apply(effect, turn, session, agent, now)
            tell_usage(parts, agent, profile, before, session, turn)
            return changes
        case StampUsed():
            parts.revision.touch()
            return parts.memory.apply(effect, turn, session, agent, now)
        case WriteSession(_, _, note):
            was = parts.memory.session(session)
            changes = parts.memory.apply(effect, turn, session, agent, now)
            tell_session(parts, session, was, turn, note)
            return stored_only(parts, changes)
        case ReleaseTrial(profile, model):
            parts.memory.apply(effect, turn, session, agent, now)
            parts.trials.ring((profile, model))
            return []
        case Log(decision):
            record = decision.to_json()
            for name in FOREIGN:
                if name in record:
                    record[name] = parts.redactor.mask(str(record[name]))
            return [AppendDecision(record)]
        case Announce(text, kind, selected, active):
            pair = {"selected": str(selected), "active": str(active)}
            parts.bus.publish("notice", session=session, turn=turn or None, kind=kind, text=text, **pair)
            parts.feed.say("notice", "notice", text, session=session, turn=turn or None)
            return []
        case _:
            return parts.memory.apply(effect, turn, session, agent, now)


def patch_session(
    parts: Parts, key: SessionKey, fields: Mapping[str, object], turn: TurnId = NO_TURN, note: str | None = None
) -> list[Change]:
    """Session fields are set in memory and told; the changes come back."""
    before = parts.memory.session(key)
    changes = parts.memory.patch_session(key, fields, parts.clock.now_ms())
    tell_session(parts, key, before, turn, note)
    return stored_only(parts, changes)


def stored_only(parts: Parts, changes: list[Change]) -> list[Change]:
    """A derived session lives in memory only (spec/gateway.md)."""
    return [c for c in changes if not (isinstance(c, PatchSession) and c.session in parts.derived)]


def tell_session(
    parts: Parts, key: SessionKey, before: Session, turn: TurnId = NO_TURN, note: str | None = None, *, stored: bool = True
) -> None:
    """The session's record is another one now. stored False: whoever did it has written it down."""
    parts.revision.touch_session(key)
    after = parts.memory.session(key)
    parts.provenance.wrote(
        key, before, after, " ".join(filter(None, (note, f"turn {turn}" if turn else ""))) or "engine", parts.clock.now_ms()
    )
    if after.pin_until is not None and after.pin_until != before.pin_until:
        parts.pin_set(key)
    for told in session_changes(before, after, note):
        _tell(parts, told, key, turn, stored=stored)


def tell_usage(
    parts: Parts,
    agent: AgentId,
    profile: ProfileId,
    before: UsageStats,
    session: SessionKey | None = None,
    turn: TurnId = NO_TURN,
    *,
    stored: bool = True,
) -> None:
    """The profile's record is another one now: windows that opened or were cleared are told. stored: as in `tell_session`."""
    parts.revision.touch()
    owner = parts.memory.owner(agent, profile)
    credential = parts.memory.agents[owner].credentials.get(profile)
    provider = credential.provider if credential is not None else provider_of(profile)
    after = parts.memory.usage(agent, profile)
    for told in window_changes(profile, provider, before, after, parts.clock.now_ms(), parts.wall()):
        _tell(parts, told, session, turn, stored=stored)
        if told.window is None:
            continue
        if told.event == "window_opened":
            parts.window_opened(owner, profile, provider, told.window)
        else:
            parts.window_cleared(owner, profile, told.window)


def _tell(parts: Parts, told: Told, session: SessionKey | None, turn: TurnId, *, stored: bool) -> None:
    parts.bus.publish(told.event, session=session or None, turn=turn or None, **told.data)
    if told.text is not None:
        profile = told.data.get("profile")
        provider = told.data.get("provider")
        place = {"provider": provider, "profile": profile}
        parts.feed.say(told.severity, told.kind, told.text, session=session or None, turn=turn or None, stored=stored, **place)
