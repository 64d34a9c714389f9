"""The turn that a session usually has: what previews, probes and rows are about when no request is at hand. It is put together from the
session's key, its record and its last turn; what such a turn would do is the rules' business."""

from __future__ import annotations

from engine.domain.ids import MAIN_AGENT, AgentId, SessionKey, TurnId
from engine.domain.turns import RunKind, TurnRequest
from engine.live.parts import Parts
from engine.live.records import split_record


def agent_of(parts: Parts, key: SessionKey) -> AgentId | None:
    """The agent whose configuration counts for the session; None: the defaults."""
    agent = parts.memory.session(key).agent
    seen = parts.activity.sessions.get(key)
    name = agent or (seen.agent if seen is not None else None)
    return AgentId(name) if name else None


def owner_of(parts: Parts, key: SessionKey) -> AgentId:
    """The agent whose profiles the session sees."""
    return agent_of(parts, key) or MAIN_AGENT


def usual_request(parts: Parts, key: SessionKey) -> TurnRequest:
    """A turn of the kind that the session had last, naming the model that its key names, or that of its job."""
    seen = parts.activity.sessions.get(key)
    kind = RunKind(seen.kind) if seen is not None else RunKind.CHAT
    job = seen.job_model if seen is not None else None
    return TurnRequest(TurnId(""), key, kind, agent_of(parts, key), requested=split_record(key)[1], cron_model=job)
