"""Trials across processes (`--shared`): each is claimed in the store before it is made, what others have claimed stands in memory beside
our own, and a holder that died is forgotten when its lease ends. Whether a trial must be made is the gate's business; alone on a
directory, nothing here does anything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from engine.domain.errors import StoreError
from engine.domain.ids import TurnId
from engine.domain.leases import Lease, Trial
from engine.domain.store import ClaimLease, DropLease
from engine.live.memory import Memory
from engine.live.trials import TrialBell
from engine.live.writer import SETTLE_S, Writer

LEASE_MS = 30_000
"""After a kill, so long is its trial taken as one in flight. A trial that takes longer is renewed at half of it."""

SOMEBODY = TurnId("elsewhere")
"""Who holds what we were refused, until the next look at the store says."""


class Leases:
    """shared: other processes may serve the same state. wall_ms: the one clock that they have in common."""

    def __init__(self, memory: Memory, writer: Writer, trials: TrialBell, wall_ms: Callable[[], int], *, shared: bool) -> None:
        self.shared = shared
        self._memory = memory
        self._writer = writer
        self._trials = trials
        self._wall_ms = wall_ms
        self._own: dict[Trial, Lease] = {}
        self._elsewhere: dict[Trial, Lease] = {}
        trials.freed = self._give_back

    async def claim(self, trial: Trial, turn: TurnId) -> bool:
        """The turn has claimed the trial in memory; False: another process was first, and memory says so now. With a store that cannot be
        asked the trial is made: traffic goes on, and what is wrong with the store is told elsewhere."""
        lease = self._own[trial] = self._until_later(trial, turn)
        try:
            async with asyncio.timeout(SETTLE_S):
                (claimed,) = await self._writer.commit([ClaimLease(lease, self._wall_ms())])
        except (StoreError, TimeoutError):
            return True
        if claimed:
            return True
        self._own.pop(trial, None)
        self._mark(self._until_later(trial, SOMEBODY))
        return False

    def adopt(self, stored: Iterable[Lease]) -> None:
        """What lies in the store now: trials of others that began and ended since."""
        if not self.shared:
            return
        now = self._wall_ms()
        own = {lease.holder for lease in self._own.values()}
        theirs = {lease.trial: lease for lease in stored if lease.until > now and lease.holder not in own}
        for trial in [trial for trial in self._elsewhere if trial not in theirs]:
            self._forget(trial)
        for trial, lease in theirs.items():
            # One that we are claiming ourselves is decided by the store.
            if trial in self._elsewhere or trial not in self._memory.trials:
                self._mark(lease)

    def look(self) -> None:
        """Called now and then: ours are renewed in time, those of a process that died end."""
        now = self._wall_ms()
        for trial in [trial for trial, lease in self._elsewhere.items() if lease.until <= now]:
            self._forget(trial)
        for trial, lease in self._own.items():
            if lease.until - now < LEASE_MS // 2:
                self._own[trial] = renewed = self._until_later(trial, lease.holder)
                self._writer.put([ClaimLease(renewed, now)])

    def _until_later(self, trial: Trial, holder: TurnId) -> Lease:
        return Lease(*trial, holder, self._wall_ms() + LEASE_MS)

    def _mark(self, lease: Lease) -> None:
        self._elsewhere[lease.trial] = lease
        self._memory.trials[lease.trial] = lease.holder

    def _forget(self, trial: Trial) -> None:
        lease = self._elsewhere.pop(trial)
        if self._memory.trials.get(trial) == lease.holder:
            del self._memory.trials[trial]
        self._trials.ring(trial)

    def _give_back(self, trial: Trial) -> None:
        lease = self._own.pop(trial, None)
        if lease is not None:
            self._writer.put([DropLease(trial, lease.holder)])
