"""What the rules may look at, at one instant. Built anew by the driver at every resumption after which it may differ: a world handed over
once goes stale, and parallel turns would all see the same free trial (design.md). The mappings are live; the walk reads them before it
yields again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.domain.credentials import Credential
from engine.domain.ids import ModelRef, ProfileId, SessionKey, TurnId
from engine.domain.sessions import Session
from engine.domain.usage import OperatorOff, UsageStats


@dataclass(frozen=True, slots=True)
class World:
    """now, wall: epoch ms. credentials, usage, order: what the turn's agent sees, in stored order. dead: profiles whose secret cannot be
    resolved and not refreshed. throttles: provider -> start of its last cooldown probe. sibling_throttles: (provider, model) -> start of
    the last sibling probe. trials: (profile, model) -> the turn whose trial or cooldown probe is in flight. primary_marks: when a session
    last attempted its primary as first candidate. skips: (sessionId or key, ref) -> skipped until, exclusive.
    coalesced: (session, ref, reason) -> when an auth skip was last recorded, and how many were not recorded since."""

    now: int
    wall: int
    session: Session
    credentials: Mapping[ProfileId, Credential]
    usage: Mapping[ProfileId, UsageStats]
    order: Mapping[str, tuple[ProfileId, ...]]
    off: Mapping[str, OperatorOff]
    dead: frozenset[ProfileId]
    throttles: Mapping[str, int]
    sibling_throttles: Mapping[tuple[str, str], int]
    trials: Mapping[tuple[ProfileId, str], TurnId]
    primary_marks: Mapping[tuple[SessionKey, ModelRef], int]
    skips: Mapping[tuple[str, ModelRef], int]
    coalesced: Mapping[tuple[SessionKey, ModelRef, str], tuple[int, int]]
