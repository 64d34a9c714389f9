"""The state that decisions use, in memory: what the store holds plus what is process-local (throttles, trials, marks, skip cache).
Synchronous, so that check-and-claim is atomic in one loop; shared by the live engine and the simulation. Each change comes back as
store changes: the caller decides when they must be durable. No rule lives here; the rules say what to write."""

from __future__ import annotations

from collections import ChainMap, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from engine.domain.credentials import ApiKey, Credential, Token
from engine.domain.ids import MAIN_AGENT, AgentId, ModelRef, ProfileId, SessionKey, TurnId
from engine.domain.sessions import NEW_SESSION, Session
from engine.domain.settings import Settings
from engine.domain.store import Change, PatchSession, PatchUsage, PutAnswer, PutOff, PutOrder, Stored
from engine.domain.stored_answers import StoredAnswer, StoredAnswers
from engine.domain.usage import NEVER_USED, OperatorOff, UsageStats
from engine.policy.commands import (
    ClaimTrial,
    CountSkip,
    Effect,
    MarkPrimary,
    MarkThrottle,
    ReleaseTrial,
    RememberSkip,
    StampUsed,
    WriteSession,
    WriteUsage,
)
from engine.policy.world import World

MAX_MARKS = 4_096
"""`override.probe`: at most so many marks; the skip cache is bounded alike."""

_MAPS = ("model_cooldowns", "failure_counts", "disabled_counts")
_PLAIN = tuple(f.name for f in fields(UsageStats) if f.name not in _MAPS)


@dataclass(slots=True)
class AgentMemory:
    """One agent's profiles. `usage` is kept in the order of its stamps, which settles ties of `lastUsed` (spec 4.1)."""

    credentials: dict[ProfileId, Credential] = field(default_factory=dict)
    usage: dict[ProfileId, UsageStats] = field(default_factory=dict)
    order: dict[str, tuple[ProfileId, ...]] = field(default_factory=dict)


class Memory:
    """All of it. `durable` session keys are written to the store; others (derived sessions) live here only."""

    def __init__(self, stored: Stored | None = None) -> None:
        self.agents: dict[AgentId, AgentMemory] = {MAIN_AGENT: AgentMemory()}
        self.sessions: dict[SessionKey, Session] = {}
        self.off: dict[str, OperatorOff] = {}
        self.dead: frozenset[ProfileId] = frozenset()
        self.answers = StoredAnswers()
        self.throttles: dict[str, int] = {}
        self.sibling_throttles: dict[tuple[str, str], int] = {}
        self.trials: dict[tuple[ProfileId, str], TurnId] = {}
        self.primary_marks: OrderedDict[tuple[SessionKey, ModelRef], int] = OrderedDict()
        self.skips: OrderedDict[tuple[str, ModelRef], int] = OrderedDict()
        self.coalesced: OrderedDict[tuple[SessionKey, ModelRef, str], tuple[int, int]] = OrderedDict()
        if stored is not None:
            self.restore(stored)

    def restore(self, stored: Stored) -> None:
        """Takes over what the store holds; process-local memory stays as it is."""
        for agent, found in stored.agents.items():
            # Equal `lastUsed` keeps stored order until a stamp moves a record to the end (spec 4.1).
            usage = {p: found.usage[p] for p in (*found.credentials, *found.usage) if p in found.usage}
            self.agents[agent] = AgentMemory(dict(found.credentials), usage, dict(found.order))
        self.agents.setdefault(MAIN_AGENT, AgentMemory())
        self.sessions.update(stored.sessions)
        self.off = dict(stored.off)
        self.answers.restore(stored.answers)

    def copy(self) -> Memory:
        """One that may be written to without any consequence: the records are frozen and shared, what holds them is not."""
        other = Memory()
        other.agents = {a: AgentMemory(dict(k.credentials), dict(k.usage), dict(k.order)) for a, k in self.agents.items()}
        other.sessions, other.off, other.dead = dict(self.sessions), dict(self.off), self.dead
        other.throttles, other.sibling_throttles = dict(self.throttles), dict(self.sibling_throttles)
        other.trials = dict(self.trials)
        other.primary_marks, other.skips = OrderedDict(self.primary_marks), OrderedDict(self.skips)
        other.coalesced = OrderedDict(self.coalesced)
        return other

    def adopt_references(self, settings: Settings) -> None:
        """A profile that exists only as a `keyRef` in the config counts as stored (spec 1.4)."""
        main = self.agents[MAIN_AGENT].credentials
        for profile in settings.profiles.values():
            if profile.key_ref is None or profile.id in main:
                continue
            if profile.mode == "token":
                main[profile.id] = Token(profile.provider, key_ref=profile.key_ref)
            else:
                main[profile.id] = ApiKey(profile.provider, key_ref=profile.key_ref)

    def owner(self, agent: AgentId, profile: ProfileId) -> AgentId:
        """The agent that keeps the profile's record: the asking one if it has it, else `main` (spec/store.md)."""
        own = self.agents.get(agent)
        return agent if own is not None and profile in own.credentials else MAIN_AGENT

    def session(self, key: SessionKey) -> Session:
        return self.sessions.get(key, NEW_SESSION)

    def touch(self, key: SessionKey) -> Session:
        """The session's record, made if there was none."""
        return self.sessions.setdefault(key, NEW_SESSION)

    def usage(self, agent: AgentId, profile: ProfileId) -> UsageStats:
        return self.agents[self.owner(agent, profile)].usage.get(profile, NEVER_USED)

    def world(self, session: SessionKey, agent: AgentId, now: int, wall: int) -> World:
        """A fresh view for the walk; cheap, because it only points at what is here."""
        main = self.agents[MAIN_AGENT]
        own = self.agents.get(agent) if agent != MAIN_AGENT else None
        credentials: Mapping[ProfileId, Credential] = main.credentials
        usage: Mapping[ProfileId, UsageStats] = main.usage
        order: Mapping[str, tuple[ProfileId, ...]] = main.order
        if own is not None:
            credentials = {**own.credentials, **{k: v for k, v in main.credentials.items() if k not in own.credentials}}
            usage = ChainMap(own.usage, main.usage)
            order = ChainMap(own.order, main.order)
        return World(
            now,
            wall,
            self.sessions.get(session, NEW_SESSION),
            credentials,
            usage,
            order,
            self.off,
            self.dead,
            self.throttles,
            self.sibling_throttles,
            self.trials,
            self.primary_marks,
            self.skips,
            self.coalesced,
        )

    def apply(self, effect: Effect, turn: TurnId, session: SessionKey, agent: AgentId, now: int) -> list[Change]:
        """Applies one effect of a walk at once; the store changes that make it last come back (empty: process-local)."""
        match effect:
            case StampUsed(profile):
                return self.stamp(agent, profile, now)
            case WriteUsage(profile, usage):
                return self.put_usage(agent, profile, usage)
            case WriteSession(changed):
                return self.patch_session(session, changed, now)
            case MarkPrimary(ref):
                _bounded(self.primary_marks, (session, ref), now)
            case MarkThrottle(provider, sibling):
                if sibling is None:
                    self.throttles[provider] = now
                else:
                    self.sibling_throttles[(provider, sibling)] = now
            case ClaimTrial(profile, model):
                self.trials[(profile, model)] = turn
            case ReleaseTrial(profile, model):
                if self.trials.get((profile, model)) == turn:
                    del self.trials[(profile, model)]
            case RememberSkip(ref, until):
                _bounded(self.skips, (self.session(session).session_id or session, ref), until)
            case CountSkip(ref, reason, at, count):
                _bounded(self.coalesced, (session, ref, reason), (at, count))
            case _:
                pass  # Log and Announce are the driver's: they change nothing that decisions read.
        return []

    def release_trials(self, turn: TurnId) -> None:
        """A turn that ended holds no trial, however it ended."""
        for key in [k for k, holder in self.trials.items() if holder == turn]:
            del self.trials[key]

    def stamp(self, agent: AgentId, profile: ProfileId, now: int) -> list[Change]:
        """`lastUsed` = now. Equal times keep the order of their stamps, so the record moves to the end of the dict."""
        used = replace(self.usage(agent, profile), last_used=now)
        changes = self.put_usage(agent, profile, used)
        records = self.agents[self.owner(agent, profile)].usage
        records[profile] = records.pop(profile)
        return changes

    def put_usage(self, agent: AgentId, profile: ProfileId, usage: UsageStats) -> list[Change]:
        owner = self.owner(agent, profile)
        records = self.agents[owner].usage
        before = records.get(profile, NEVER_USED)
        records[profile] = usage
        changed = usage_difference(before, usage)
        return [PatchUsage(owner, profile, changed)] if changed else []

    def patch_session(self, key: SessionKey, changed: Mapping[str, object], now: int) -> list[Change]:
        if not changed:
            return []
        written: dict[str, Any] = {**changed, "updated_at": now}
        self.sessions[key] = replace(self.session(key), **written)
        return [PatchSession(key, written)]

    def put_order(self, agent: AgentId, provider: str, profiles: tuple[ProfileId, ...] | None) -> list[Change]:
        orders = self.agents.setdefault(agent, AgentMemory()).order
        if profiles is None:
            orders.pop(provider, None)
        else:
            orders[provider] = profiles
        return [PutOrder(agent, provider, profiles)]

    def put_off(self, target: str, off: OperatorOff | None) -> list[Change]:
        if off is None:
            self.off.pop(target, None)
        else:
            self.off[target] = off
        return [PutOff(target, off)]

    def remember_answer(self, name: str, answer: StoredAnswer) -> list[Change]:
        return [PutAnswer(changed, made) for changed, made in self.answers.remember(name, answer).items()]

    def drop_marks(self, session: SessionKey) -> None:
        """A reset drops the session's marks (`override.probe`)."""
        for key in [k for k in self.primary_marks if k[0] == session]:
            del self.primary_marks[key]

    def forget_process_local(self) -> None:
        """What a restart loses (`simulate`'s `restart`)."""
        for lost in (self.throttles, self.sibling_throttles, self.trials, self.primary_marks, self.skips, self.coalesced):
            lost.clear()


def usage_difference(before: UsageStats, after: UsageStats) -> dict[str, object]:
    """The fields that differ, for a field-wise write; of the maps only the keys that changed (None: removed)."""
    changed: dict[str, object] = {}
    for name in _PLAIN:
        value = getattr(after, name)
        if value != getattr(before, name):
            changed[name] = value
    for name in _MAPS:
        old, new = getattr(before, name) or {}, getattr(after, name) or {}
        if old != new:
            changed[name] = {key: new.get(key) for key in {**old, **new} if old.get(key) != new.get(key)}
    return changed


_K = TypeVar("_K")
_V = TypeVar("_V")


def _bounded(entries: OrderedDict[_K, _V], key: _K, value: _V) -> None:
    """Newest last; the oldest go when there are too many."""
    entries[key] = value
    entries.move_to_end(key)
    while len(entries) > MAX_MARKS:
        entries.popitem(last=False)
