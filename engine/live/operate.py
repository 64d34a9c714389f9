"""An operator's acts carried out (spec/console.md, "Keys"): decided by the rules, applied in memory at once, durable before they are
confirmed, written to the audit log with who, when, before and after. What an act means is in `engine.policy.acts`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, cast
from uuid import uuid4

from engine.domain.acts import Act, ActResult, BulkReturn, Clear, Pin, Probe, Reload, SetOrder, Undo
from engine.domain.errors import StoreError
from engine.domain.ids import MAIN_AGENT, AgentId, ProfileId, SessionKey
from engine.domain.settings import Settings
from engine.domain.store import AppendAudit, Change
from engine.live.effects import patch_session, tell_usage
from engine.live.parts import Parts
from engine.live.probing import Probing
from engine.live.records import DERIVED, records_of, unfit_key
from engine.live.undo import DoneAct, DoneActs, OffWrite, OrderWrite, SessionWrite, UsageWrite, Write, session_values
from engine.live.usual import owner_of
from engine.policy.acts import Decided, LocalAct, decide

_NEEDS_A_RECORD = ("reset", "unpin", "compact")


class Operator:
    """read_only: every act is refused, here and not only in the view. settings: today's. reload: reads the configuration again."""

    def __init__(
        self,
        parts: Parts,
        settings: Callable[[], Settings],
        reload: Callable[[], Awaitable[tuple[bool, str]]],
        *,
        read_only: bool,
    ) -> None:
        self._parts = parts
        self._settings = settings
        self._reload = reload
        self._read_only = read_only
        self.done = DoneActs(parts.revision.touch)
        self._probing = Probing(parts, settings, self.commit)

    async def act(self, act: Act, by: str) -> ActResult:
        """Never raises for what an operator asks; a refused act changed nothing and says why."""
        if self._read_only:
            return ActResult(False, "this engine is read-only (--read-only): nothing was changed")
        problem = self._nowhere(act)
        if problem is not None:
            return self._told(act, by, ActResult(False, problem))
        match act:
            case Probe(session):
                return self._told(act, by, await self._probing.session(self._parts.derived.newest(session)))
            case BulkReturn():
                return self._told(act, by, await self._probing.all_back())
            case Clear(profile, verify=True):
                return await self._clear_verified(act, profile, by)
            case Reload():
                ok, message = await self._reload()
                return self._told(act, by, ActResult(ok, message))
            case Undo(act_id):
                return await self._undo(act, act_id, by)
            case _:
                return await self._local(act, by)

    async def commit(self, changes: list[Change], writes: Iterable[Write] = ()) -> str | None:
        """Durable, or what `writes` changed in memory is taken back and the reason comes back."""
        if not changes:
            return None
        try:
            await self._parts.writer.commit(changes)
        except StoreError as error:
            for write in reversed(list(writes)):
                if write.stands(self._parts.memory):
                    self._restore(write)
            return f"it could not be stored, nothing was changed: {error.happened or error.title}"
        return None

    def _nowhere(self, act: Act) -> str | None:
        """Why the act's session or agent cannot be: a typing error must not become a record."""
        session, agent = getattr(act, "session", None), getattr(act, "agent", None)
        if session is not None:
            if session.startswith(DERIVED) and session not in self._parts.derived:
                return f"{session} is derived from its caller and no longer known: it is gone after an hour without a request"
            return unfit_key(session)
        if agent is not None and agent != MAIN_AGENT and agent not in self._settings().agents:
            return f"no agent {agent}: there is {', '.join((MAIN_AGENT, *self._settings().agents))}"
        return None

    # --- acts without a call -------------------------------------------------------------------------------------------

    async def _local(self, act: LocalAct, by: str) -> ActResult:
        keys = self._keys(act)
        if isinstance(act, Pin) and any(key in self._parts.derived for key in keys):
            why = f"{act.session} is derived from its caller and takes no pin: let the application name its session"
            return self._told(act, by, ActResult(False, why))
        writes: list[Write] = []
        changes: list[Change] = []
        first: Decided | None = None
        for key in keys:
            agent = self._agent_for(act, key)
            parts = self._parts
            world = parts.memory.world(key, agent, parts.clock.now_ms(), parts.wall())
            decided = decide(act, self._settings(), world, by=by, new_session_id=uuid4().hex)
            first = first or decided
            if not decided.ok:
                return self._told(act, by, ActResult(False, decided.message))
            changes += self._apply(act, decided, key, agent, writes, by)
        assert first is not None
        return await self._confirm(act, by, first.message, changes, writes, undoable=first.undoable)

    async def _confirm(self, act: Act, by: str, message: str, changes: list[Change], writes: list[Write], *, undoable: bool) -> ActResult:
        problem = await self.commit(changes, writes)
        if problem is not None:
            return self._told(act, by, ActResult(False, problem))
        undoable = undoable and bool(writes)
        done = DoneAct(act.act, by, message, tuple(writes) if undoable else ())
        self.done.add(done)
        result = ActResult(True, message, act_id=done.id if undoable else None, undoable=undoable)
        return self._told(act, by, result, writes)

    def _keys(self, act: LocalAct) -> list[SessionKey]:
        """The session records that the act is for; one nameless for acts on profiles."""
        session = getattr(act, "session", None)
        if session is None:
            return [SessionKey("")]
        memory = self._parts.memory
        callers = self._parts.derived.of_caller(session)
        if callers:
            return callers
        keys = records_of(memory, session)
        # A base that never had a turn of its own gets no record from an act that would leave nothing in it.
        if len(keys) > 1 and session not in memory.sessions and act.act in _NEEDS_A_RECORD:
            return keys[1:]
        return keys

    def _agent_for(self, act: LocalAct, key: SessionKey) -> AgentId:
        if key:
            return owner_of(self._parts, key)
        if isinstance(act, SetOrder) and act.agent is not None:
            return act.agent
        name = act.profile if isinstance(act, Clear) else getattr(act, "target", None)
        return next((a for a, kept in self._parts.memory.agents.items() if name in kept.credentials), MAIN_AGENT)

    def _apply(self, act: Act, decided: Decided, key: SessionKey, agent: AgentId, writes: list[Write], by: str) -> list[Change]:
        memory = self._parts.memory
        changes: list[Change] = []
        if decided.session:
            writes.append(SessionWrite(key, session_values(memory, key, decided.session), dict(decided.session)))
            changes += patch_session(self._parts, key, decided.session, note=act.act)
            self._parts.provenance.signed(key, decided.session, f"{by} ({act.act})", self._parts.clock.now_ms())
        for profile, usage in decided.usage.items():
            writes.append(UsageWrite(agent, profile, memory.usage(agent, profile), usage))
            changes += self._put_usage(agent, profile, usage)
        for target, off in decided.off.items():
            writes.append(OffWrite(target, memory.off.get(target), off))
            changes += memory.put_off(target, off)
        if decided.order is not None:
            provider, order = decided.order
            kept = memory.agents.get(agent)
            writes.append(OrderWrite(agent, provider, kept.order.get(provider) if kept is not None else None, order))
            changes += memory.put_order(agent, provider, order)
        if decided.drop_marks:
            memory.drop_marks(key)
        self._parts.revision.touch()
        return changes

    def _put_usage(self, agent: AgentId, profile: ProfileId, usage: Any) -> list[Change]:
        before = self._parts.memory.usage(agent, profile)
        changes = self._parts.memory.put_usage(agent, profile, usage)
        tell_usage(self._parts, agent, profile, before)
        return changes

    # --- clear and verify ----------------------------------------------------------------------------------------------

    async def _clear_verified(self, act: Clear, profile: ProfileId, by: str) -> ActResult:
        """The call comes first and the clearing after its success: to who watches, the windows come back if it fails."""
        agent = self._agent_for(act, SessionKey(""))
        outcome = await self._probing.profile(profile, agent)
        if outcome.outcome != "ok":
            return self._told(act, by, outcome)
        cleared = await self._local(Clear(profile), by)
        message = f"{cleared.message}; verified with one call" if cleared.ok else cleared.message
        return ActResult(cleared.ok, message, outcome.outcome, cleared.act_id, cleared.undoable)

    # --- undo ----------------------------------------------------------------------------------------------------------

    async def _undo(self, act: Undo, act_id: str | None, by: str) -> ActResult:
        done = self.done.find(act_id, by)
        if done is None:
            why = "there is no act to take back" if act_id is None else "that act is no longer known"
            return self._told(act, by, ActResult(False, why))
        if not done.writes:
            return self._told(act, by, ActResult(False, f"{done.name} has no undo: {done.message}"))
        if not all(write.stands(self._parts.memory) for write in done.writes):
            return self._told(act, by, ActResult(False, f"not taken back, something has changed since: {done.message}"))
        inverse = [_inverse(write) for write in reversed(done.writes)]
        changes: list[Change] = []
        for write in done.writes[::-1]:
            changes += self._restore(write, switch=done.name == "model")
        problem = await self.commit(changes, inverse)
        if problem is not None:
            return self._told(act, by, ActResult(False, problem))
        self.done.remove(done)
        return self._told(act, by, ActResult(True, f"taken back: {done.message}"), inverse)

    def _restore(self, write: Write, *, switch: bool = False) -> list[Change]:
        memory = self._parts.memory
        self._parts.revision.touch()
        match write:
            case SessionWrite(session, before):
                fields = {**before, **({"live_model_switch_pending": True} if switch else {})}
                return patch_session(self._parts, session, fields, note="undo")
            case UsageWrite(agent, profile, before_usage):
                return self._put_usage(agent, profile, before_usage)
            case OffWrite(target, off):
                return memory.put_off(target, off)
            case OrderWrite(agent, provider, order):
                return memory.put_order(agent, provider, order)

    # --- telling -------------------------------------------------------------------------------------------------------

    def _told(self, act: Act, by: str, result: ActResult, writes: Iterable[Write] = ()) -> ActResult:
        """Event, feed line and audit record of an act, carried out or refused."""
        parts = self._parts
        writes = list(writes)
        what = {name: value for name, value in asdict(act).items() if name != "act" and value is not None}
        before, after = _side(writes, "before"), _side(writes, "after")
        known = {"act": act.act, "by": by, **what, "before": before, "after": after, "ok": result.ok, "message": result.message}
        if result.outcome is not None:
            known["outcome"] = result.outcome
        parts.bus.publish("operator_act", **known)
        record = {"at": parts.clock.now_ms(), **known}
        parts.writer.put([AppendAudit(cast(dict[str, object], parts.redactor.mask_json(record)))])
        session, profile = what.get("session"), what.get("profile")
        severity = "notice" if result.ok else "warning"
        parts.feed.say(severity, "operator_act", f"{by}: {act.act}: {result.message}", session=session, profile=profile)
        return result


def _inverse(write: Write) -> Write:
    return type(write)(**{**{n: getattr(write, n) for n in write.__dataclass_fields__}, "before": write.after, "after": write.before})


def _side(writes: list[Write], side: str) -> dict[str, object] | None:
    """`before` or `after` of all that an act wrote, by session, profile, target or provider."""
    found: dict[str, object] = {}
    for write in writes:
        value = getattr(write, side)
        match write:
            case SessionWrite(session):
                found[session] = dict(value)
            case UsageWrite(_, profile):
                found[profile] = _plain(value)
            case OffWrite(target):
                found[target] = _plain(value)
            case OrderWrite(_, provider):
                found[provider] = list(value) if value is not None else None
    return found or None


def _plain(value: Any) -> object:
    """A record without its empty fields, as JSON."""
    if not is_dataclass(value):
        return value
    names = value.__dataclass_fields__
    shown: Mapping[str, Any] = {name: getattr(value, name) for name in names if getattr(value, name)}
    return {n: {k: _plain(x) for k, x in v.items()} if isinstance(v, Mapping) else v for n, v in shown.items()}
