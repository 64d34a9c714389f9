"""A synchronous driver of walks on a virtual clock: a heap of deadlines instead of a loop, the same `Memory` and policy as the live
engine. No asyncio, no files, no network; ids are counted, so the same scenario gives the same bytes."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from engine.domain.credentials import ApiKey, Credential, OAuth, Token
from engine.domain.failure import Failure
from engine.domain.ids import AgentId, ModelRef, ProfileId, TurnId
from engine.domain.settings import HOUR_MS, Settings
from engine.domain.turns import AttemptOutcome, CandidateOutcome, TurnOutcome, TurnRequest, TurnResult
from engine.live.memory import Memory
from engine.policy.commands import (
    AwaitTrial,
    Broken,
    BudgetOver,
    CallProvider,
    Cancelled,
    Command,
    Completed,
    Content,
    Deliver,
    Done,
    Failed,
    Outcome,
    Refreshed,
    RefreshFailed,
    RefreshToken,
    ReleaseTrial,
    Saved,
    SaveOverride,
    Sleep,
    Slept,
    TrialEnded,
    WriteSession,
)
from engine.policy.hints import stated_wait_ms
from engine.policy.walk import Turn, Walk
from engine.policy.windows import clamped
from engine.policy.world import World
from engine.simulation.script import Reply, Script, may_retry

DONE = Done()


@dataclass
class Process:
    """One turn under way. on_attempt: attempt number -> what happens when it has started; cancel_at: the caller leaves then."""

    walk: Walk
    steps: Turn
    request: TurnRequest
    on_attempt: dict[int, Callable[[], None]] = field(default_factory=dict)
    cancel_at: int | None = None
    result: TurnResult | None = None
    waiting: CallProvider | None = None
    called_at: int = 0
    calls: int = 0
    drops: bool = False
    epoch: int = 0
    on_end: Callable[[TurnResult], None] | None = None


class Machine:
    """The world of one scenario. now: epoch ms of the engine's clock; wall_offset: how far the wall clock was moved since."""

    def __init__(self, memory: Memory, script: Script, settings: Settings, now: int, env: dict[str, str]) -> None:
        self.memory = memory
        self.script = script
        self.settings = settings
        self.now = now
        self.env = env
        self.wall_offset = 0
        self._heap: list[tuple[int, int, Callable[[], None], tuple[Process, int] | None]] = []
        self._counter = 0
        self._turns = 0
        self._running: list[Process] = []
        self._waiters: list[tuple[Process, frozenset[tuple[ProfileId, str]], int]] = []
        self._refreshing: dict[ProfileId, list[Process]] = {}
        self.load()

    # --- the process's life ----------------------------------------------------------------------------------------------

    def load(self) -> None:
        """What a start does: references are resolved, windows clamped (`window.clamp`), configured references count as stored."""
        self.memory.adopt_references(self.settings)
        for agent in self.memory.agents.values():
            for profile, usage in agent.usage.items():
                agent.usage[profile] = clamped(usage, self.now, self.settings.cooldowns)
        self.memory.dead = frozenset(
            profile for agent in self.memory.agents.values() for profile, c in agent.credentials.items() if self._is_dead_reference(c)
        )

    def restart(self) -> None:
        """Process-local memory is lost, turns in flight are killed, the store stays; the engine's clock starts from the wall clock."""
        for process in self._running:
            self._kill(process)
        self._running.clear()
        self._heap.clear()
        self._waiters.clear()
        self._refreshing.clear()
        self.memory.forget_process_local()
        self.now += self.wall_offset
        self.wall_offset = 0
        self.load()

    def _is_dead_reference(self, credential: Credential) -> bool:
        match credential:
            case ApiKey() | Token():
                text = credential.key_ref or (credential.key if isinstance(credential, ApiKey) else credential.token)
                return text.startswith("env:") and not self.env.get(text[4:])
            case OAuth():
                return False

    # --- time ------------------------------------------------------------------------------------------------------------

    def at(self, due: int, act: Callable[[], None], waiting: tuple[Process, int] | None = None) -> None:
        """Things due at the same instant happen in the order in which they were asked for. waiting: of no interest once that turn has
        gone on; no time passes for it then."""
        self._counter += 1
        heapq.heappush(self._heap, (due, self._counter, act, waiting))

    def settle(self) -> None:
        """Lets time pass until nothing is due any more."""
        while self._heap:
            due, _, act, waiting = heapq.heappop(self._heap)
            if waiting is not None and (waiting[0].epoch != waiting[1] or waiting[0].result is not None):
                continue
            self.now = max(self.now, due)
            act()

    def world(self, request: TurnRequest) -> World:
        return self.memory.world(request.session, request.owner, self.now, self.now)

    # --- turns -----------------------------------------------------------------------------------------------------------

    def turn_id(self) -> TurnId:
        self._turns += 1
        return TurnId(f"turn-{self._turns}")

    def begin(self, request: TurnRequest) -> Process:
        """A turn, not yet started: hooks may be put on it before `start`."""
        self.memory.touch(request.session)
        walk = Walk(request, self.settings, self.world(request))
        return Process(walk, walk.run(), request)

    def start(self, process: Process) -> None:
        self._running.append(process)
        self._perform(process, next(process.steps))

    def _resume(self, process: Process, outcome: Outcome) -> None:
        process.epoch += 1
        process.waiting = None
        try:
            command = process.steps.send((outcome, self.world(process.request)))
        except StopIteration as ended:
            self._finish(process, ended.value)
            return
        self._perform(process, command)

    def _perform(self, process: Process, command: Command) -> None:
        """Until the walk waits for something, or ends."""
        while True:
            outcome = self._one(process, command)
            if outcome is None:
                return
            try:
                command = process.steps.send((outcome, self.world(process.request)))
            except StopIteration as ended:
                self._finish(process, ended.value)
                return

    def _one(self, process: Process, command: Command) -> Outcome | None:
        """One command; None: its outcome comes later."""
        request = process.request
        match command:
            case CallProvider():
                self._call(process, command)
                return None
            case Deliver():
                return Broken(Failure(error_type="ReadError")) if process.drops else Completed()
            case SaveOverride(fields):
                self.memory.apply(WriteSession(fields), request.turn, request.session, request.owner, self.now)
                return Saved()
            case Sleep(ms):
                self._end_of_budget(process)
                self._later(process, self.now + ms, Slept())
                return None
            case AwaitTrial(trials, limit):
                self._waiters.append((process, frozenset(trials), process.epoch))
                if limit is not None:
                    self._later(process, self.now + limit, BudgetOver())
                return None
            case RefreshToken(profile):
                self._end_of_budget(process)
                self._refresh(process, profile)
                return None
            case _:
                self.memory.apply(command, request.turn, request.session, request.owner, self.now)
                if isinstance(command, ReleaseTrial):
                    self._wake((command.profile, command.model))
                return DONE

    def _later(self, process: Process, due: int, outcome: Outcome) -> None:
        self.at(due, lambda: self._resume(process, outcome), (process, process.epoch))

    def _end_of_budget(self, process: Process) -> None:
        """A wait ends with the turn's budget, if it has one (`attempt.budget`)."""
        if process.walk.deadline is not None:
            self._later(process, max(self.now, process.walk.deadline), BudgetOver())

    def _finish(self, process: Process, result: TurnResult) -> None:
        process.result = result
        if process in self._running:
            self._running.remove(process)
        held = [key for key, turn in self.memory.trials.items() if turn == process.request.turn]
        self.memory.release_trials(process.request.turn)
        for key in held:
            self._wake(key)

    def _kill(self, process: Process) -> None:
        """The process died during this turn: what was written stays, nothing more happens."""
        ledger, call = process.walk.ledger, process.waiting
        if call is not None:
            ledger.calls += process.calls
            ledger.attempted(call.ref, call.profile, AttemptOutcome.KILLED, process.called_at, self.now, call.rule)
            ledger.settle(call.ref, CandidateOutcome.FAILED, call.rule)
        process.steps.close()
        process.result = ledger.result(TurnOutcome.KILLED, None, None, None)

    def _wake(self, key: tuple[ProfileId, str]) -> None:
        for waiter in [w for w in self._waiters if key in w[1]]:
            self._waiters.remove(waiter)
            if waiter[0].epoch == waiter[2]:
                self._later(waiter[0], self.now, TrialEnded())

    # --- upstream --------------------------------------------------------------------------------------------------------

    def _call(self, process: Process, call: CallProvider) -> None:
        process.waiting, process.called_at, process.calls = call, self.now, 0
        epoch = process.epoch
        self._one_call(process, call, epoch, 0)
        hook = process.on_attempt.pop(call.number, None)
        if hook is not None:
            hook()
        if process.cancel_at == call.number and process.epoch == epoch and process.result is None:
            self._resume(process, Cancelled(process.calls))

    def _one_call(self, process: Process, call: CallProvider, epoch: int, retries: int) -> None:
        """One upstream call of the attempt; a client retry inside it takes the next answer (`attempt.retry-after`)."""
        process.calls += 1
        provider = self.settings.providers[call.ref.provider]
        got = self.script.next(call.ref, call.profile)
        longest = round(provider.timeout_s * 1000)
        if got.after_ms > longest:
            got = Reply(longest, Failure(error_type="TimeoutError"))
        spent = self.now - process.called_at
        if call.limit_ms is not None and spent + got.after_ms > call.limit_ms:
            cut: Outcome = BudgetOver(process.calls) if call.fatal_limit else Failed(Failure(caller_fault=True), process.calls)
            self._later(process, process.called_at + call.limit_ms, cut)
            return
        if got.failure is not None and retries < provider.max_retries and may_retry(got.failure):
            wait = stated_wait_ms(replace(got.failure, body=None), self.now)
            cap = self.settings.retry_max_wait_ms
            if wait is not None and (cap is None or wait <= cap):
                within = call.limit_ms is None or spent + got.after_ms + wait <= call.limit_ms
                if within:
                    again = self.now + got.after_ms + wait
                    self.at(again, lambda: self._one_call(process, call, epoch, retries + 1), (process, epoch))
                    return
        process.drops = got.drops
        outcome = Failed(got.failure, process.calls) if got.failure is not None else Content(got.empty, process.calls)
        self._later(process, self.now + got.after_ms, outcome)

    def _refresh(self, process: Process, profile: ProfileId) -> None:
        """`oauth.refresh-once`: one refresh in flight per profile; the others adopt its result."""
        if profile in self._refreshing:
            self._refreshing[profile].append(process)
            return
        self._refreshing[profile] = [process]
        owner = self.memory.owner(process.request.owner, profile)
        login = self.memory.agents[owner].credentials[profile]
        got = self.script.next_refresh(profile)
        if got is None:
            got = Reply(0) if isinstance(login, OAuth) and login.refresh else Reply(0, Failure(message="no refresh token"))
        self.at(self.now + got.after_ms, lambda: self._refreshed(owner, profile, got))

    def _refreshed(self, owner: AgentId, profile: ProfileId, got: Reply) -> None:
        login = self.memory.agents[owner].credentials.get(profile)
        if got.failure is None and isinstance(login, OAuth):
            fresh = replace(login, access=f"{login.access}+", expires=self.now + HOUR_MS)
            self.memory.agents[owner].credentials[profile] = fresh
        outcome: Outcome = Refreshed() if got.failure is None else RefreshFailed(got.failure)
        for waiter in self._refreshing.pop(profile, []):
            self._later(waiter, self.now, outcome)

    def probe_call(self, ref: ModelRef, profile: ProfileId | None) -> Reply:
        """One forced call outside a turn; its time passes."""
        got = self.script.next(ref, profile)
        self.at(self.now + got.after_ms, lambda: None)
        self.settle()
        return got
