"""Several processes on one state directory keep one truth (spec/store.md): what another one wrote is taken over into memory within
250 ms, and watchers are told what it changed. The store hands over its content with our own unwritten changes laid over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from engine.domain.store import StateStore, Stored
from engine.domain.usage import NEVER_USED
from engine.live.effects import tell_session, tell_usage
from engine.live.parts import Parts


class ForeignWrites:
    """adopted: called after the state was taken over, for what is derived from it."""

    def __init__(self, parts: Parts, store: StateStore, adopted: Callable[[], None]) -> None:
        self._parts = parts
        self._store = store
        self._adopted = adopted
        self._looking = asyncio.Lock()

    async def merge(self) -> None:
        """Looks once; memory holds what is stored afterwards."""
        async with self._looking:
            stored = await self._store.foreign()
            if stored is not None:
                # No await between the read and here: nothing of ours may fall in between.
                self._take_over(stored)

    def _take_over(self, stored: Stored) -> None:
        memory = self._parts.memory
        # Another gateway tells its own; a command that only writes tells nobody.
        untold = not self._parts.leases.shared
        usage = {agent: dict(kept.usage) for agent, kept in memory.agents.items()}
        sessions = dict(memory.sessions)
        memory.restore(stored)
        self._parts.leases.adopt(stored.leases)
        self._adopted()
        for agent, kept in memory.agents.items():
            for profile, record in kept.usage.items():
                before = usage.get(agent, {}).get(profile, NEVER_USED)
                if before != record:
                    tell_usage(self._parts, agent, profile, before, stored=untold)
        for key, session in stored.sessions.items():
            known = sessions.get(key)
            if known != session:
                tell_session(self._parts, key, known if known is not None else type(session)(), stored=untold)
        self._parts.revision.touch()
