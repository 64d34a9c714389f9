"""The snapshot that screens draw (design.md, "One snapshot, one direction"): made when somebody asks and something has changed since.
Rows of sessions are kept and only those that changed are made anew, so that 10,000 sessions cost no more than what happens in them.
State words come from the rules; nothing is decided or formatted here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice

from engine.domain.ids import MAIN_AGENT, AgentId, ProfileId, SessionKey
from engine.domain.settings import Settings
from engine.domain.snapshot import OffView, OrderView, ProfileView, SessionView, Snapshot, WindowView
from engine.domain.usage import NEVER_USED
from engine.live.endings import Endings
from engine.live.parts import Parts
from engine.live.rows import known_models, session_row
from engine.policy.order import resolve_order
from engine.policy.states import condition
from engine.policy.windows import Window
from engine.policy.world import World

BATCH = 250
MAX_USED_BY = 50
"""Of one profile: a list for a person, not a count."""


OFFLINE = "OFFLINE"
"""The mode of an engine without a gateway, in the process of one command."""


@dataclass(slots=True)
class Frame:
    """What is the same for a whole life of the engine, or set from outside: mode LIVE, DEMO or OFFLINE, where the gateway listens."""

    mode: str = "LIVE"
    speed: float = 1.0
    address: str = ""
    version: str = ""
    read_only: bool = False
    draining: bool = False


class SnapshotMaker:
    """settings, warnings, undo: as they are now."""

    def __init__(
        self,
        parts: Parts,
        frame: Frame,
        endings: Endings,
        settings: Callable[[], Settings],
        warnings: Callable[[], tuple[str, ...]],
        undo: Callable[[], tuple[str, str] | None],
    ) -> None:
        self._parts = parts
        self._frame = frame
        self._endings = endings
        self._settings = settings
        self._warnings = warnings
        self._undo = undo
        self._rows: dict[SessionKey, SessionView] = {}
        self._using: dict[ProfileId, set[SessionKey]] = {}
        self._callers: dict[str, SessionView] = {}
        self._models: tuple[int, tuple[str, ...]] = (0, ())
        self._last: Snapshot | None = None
        self._traffic_second = -1
        self._making = asyncio.Lock()

    async def snapshot(self) -> Snapshot:
        """The newest one; the same object until something changes or time passes. Many rows are made in batches, so that traffic goes on
        meanwhile."""
        async with self._making:
            while self._parts.revision.everything or len(self._parts.revision.sessions) > BATCH:
                self._refresh_rows(BATCH)
                await asyncio.sleep(0)
            return self._newest()

    def _newest(self) -> Snapshot:
        parts = self._parts
        second = parts.clock.now_ms() // 1000
        if parts.activity.recent and second != self._traffic_second:
            # What falls out of the last minute changes the figures without an event.
            self._traffic_second = second
            parts.revision.touch()
        revision = parts.revision.value
        if self._last is None or self._last.revision != revision:
            self._last = self._made(revision)
        elif self._last.now != (now := parts.clock.now_ms()):
            # Clocks, ages and countdowns are counted from it, also where nothing happens.
            self._last = replace(self._last, now=now)
        return self._last

    def _made(self, revision: int) -> Snapshot:
        parts, settings, frame = self._parts, self._settings(), self._frame
        self._refresh_rows()
        return Snapshot(
            revision=revision,
            now=parts.clock.now_ms(),
            mode=frame.mode,
            address=frame.address,
            version=frame.version,
            read_only=frame.read_only,
            config_generation=settings.generation,
            sessions=(*self._rows.values(), *self._callers.values()),
            profiles=tuple(self._profiles(settings)),
            feed=parts.feed.lines,
            traffic=parts.activity.traffic(),
            alarms=parts.alarms.texts,
            warnings=self._warnings(),
            draining=frame.draining,
            speed=frame.speed,
            models=self._all_models(settings),
            undo=self._undo(),
            off=tuple(OffView(off.target, off.since, off.by, off.reason) for off in parts.memory.off.values()),
            orders=tuple(self._orders(settings)),
        )

    def _orders(self, settings: Settings) -> Iterable[OrderView]:
        parts = self._parts
        world = parts.memory.world(SessionKey(""), MAIN_AGENT, parts.clock.now_ms(), parts.wall())
        for provider, configured in settings.providers.items():
            if not configured.keyless:
                found = resolve_order(provider, settings, world)
                yield OrderView(provider, found.rule, found.profiles)

    # --- sessions ------------------------------------------------------------------------------------------------------

    def _refresh_rows(self, count: int | None = None) -> None:
        parts, revision, settings = self._parts, self._parts.revision, self._settings()
        if revision.everything:
            for kept in (self._rows, self._using, self._callers):
                kept.clear()
            revision.sessions.update(dict.fromkeys((*parts.memory.sessions, *parts.activity.sessions)))
            revision.everything = False
        for key in list(revision.sessions if count is None else islice(revision.sessions, count)):
            del revision.sessions[key]
            self._refresh_row(key, settings)

    def _refresh_row(self, key: SessionKey, settings: Settings) -> None:
        before = self._rows.get(key)
        session = self._parts.memory.sessions.get(key)
        seen = self._parts.activity.sessions.get(key)
        if before is not None and before.profile is not None:
            self._using.get(before.profile, set()).discard(key)
        caller = self._parts.derived.caller(key)
        if session is None and seen is None:
            self._rows.pop(key, None)
            self._callers = {name: shown for name, shown in self._callers.items() if self._parts.derived.of_caller(name)}
            return
        row = session_row(self._parts, key, settings)
        if caller is not None:
            self._callers[caller] = self._joined(caller, self._callers.get(caller), row)
            return
        self._rows[key] = row
        if row.profile is not None:
            self._using.setdefault(row.profile, set()).add(key)

    def _joined(self, caller: str, before: SessionView | None, row: SessionView) -> SessionView:
        """One row a caller, under its name: its newest session, with what is in flight in any of them."""
        known = self._parts.activity.sessions
        seen = (known.get(key) for key in self._parts.derived.of_caller(caller))
        flying = tuple(turn for activity in seen if activity is not None for turn in activity.in_flight.values())
        newest = row if before is None or (row.last_activity or 0) >= (before.last_activity or 0) else before
        return replace(newest, key=SessionKey(caller), derived=True, in_flight=flying)

    # --- profiles ------------------------------------------------------------------------------------------------------

    def _profiles(self, settings: Settings) -> Iterable[ProfileView]:
        parts = self._parts
        now, wall = parts.clock.now_ms(), parts.wall()
        for agent, kept in parts.memory.agents.items():
            world = parts.memory.world(SessionKey(""), agent, now, wall)
            for profile in kept.credentials:
                yield self._profile(profile, agent, settings, world)
            if agent == MAIN_AGENT:
                stored = {p for other in parts.memory.agents.values() for p in other.credentials}
                for missing in (p for p in settings.profiles if p not in stored):
                    yield self._profile(missing, agent, settings, world)

    def _profile(self, profile: ProfileId, agent: AgentId, settings: Settings, world: World) -> ProfileView:
        seen = condition(profile, settings, world)
        usage = world.usage.get(profile, NEVER_USED)
        credential = world.credentials.get(profile)
        configured = settings.profiles.get(profile)
        provider = credential.provider if credential is not None else configured.provider if configured is not None else ""
        kind = credential.type if credential is not None else configured.mode if configured is not None else ""
        windows = tuple(self._window(agent, profile, w, usage.last_failure_at) for w in seen.windows)
        using = self._using.get(profile)
        return ProfileView(
            profile=profile,
            provider=provider,
            type=kind,
            state=seen.state,
            window=windows[0] if windows else None,
            windows=windows,
            detail=seen.detail,
            error_count=usage.error_count,
            last_used=usage.last_used,
            last_failure_at=usage.last_failure_at,
            used_by=tuple(sorted(using)[:MAX_USED_BY]) if using else (),
            agent=agent if agent != MAIN_AGENT else None,
        )

    def _window(self, agent: AgentId, profile: ProfileId, window: Window, failed_at: int | None) -> WindowView:
        since = self._endings.since(agent, profile, window)
        if since is None and failed_at is not None and failed_at < window.until:
            since = failed_at
        return WindowView(window.kind, window.until, window.reason, window.model, since, window.step)

    def _all_models(self, settings: Settings) -> tuple[str, ...]:
        if self._models[0] != settings.generation:
            self._models = (settings.generation, tuple(known_models(settings)))
        return self._models[1]
