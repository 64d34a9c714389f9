"""A run that checks the invariants of issue 3 at every command of every turn, each in a function of its own: what may be called, claimed,
written and announced. It knows the rules by the specification's words, not by the code that it watches."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.config.load import load_settings
from engine.domain.acts import Reset, SelectModel
from engine.domain.ids import ModelRef, ProfileId, SessionKey, TurnId
from engine.domain.sessions import OWNED_FIELDS, Session
from engine.domain.snapshot import ProfileState
from engine.domain.turns import TurnOutcome, TurnResult
from engine.domain.usage import UsageStats
from engine.live.memory import Memory
from engine.policy.acts import LocalAct
from engine.policy.commands import (
    Announce,
    CallProvider,
    ClaimTrial,
    Command,
    Deliver,
    MarkPrimary,
    MarkThrottle,
    Outcome,
    RememberSkip,
    SaveOverride,
    StampUsed,
    WriteSession,
    WriteUsage,
)
from engine.policy.pins import PIN_FIELDS, pin_is_user
from engine.policy.selection import is_explicit
from engine.policy.windows import Window, active, all_windows, normalised
from engine.simulation.machine import Machine, Process
from engine.simulation.run import Run
from engine.simulation.scenario import Step, parse_scenario
from engine.simulation.script import Script
from tests.spec.table import slugs
from tests.worlds import generator

T0 = 1_767_603_600_000
PROBE_THROTTLE_MS, PRIMARY_PROBE_MS = 30_000, 300_000
PROBES = {"gate.primary-probe", "gate.sibling-probe", "gate.other-provider-probe"}
THROUGH_WINDOWS = PROBES | {"gate.user-explicit", "gate.billing-throttle"}
RULES = {s.slug for s in slugs()}
FORGETS_NOTICES = {"selection.stale-origin", "selection.heartbeat-clears-stale", "selection.half-entry"}


@dataclass
class Seen:
    """What one turn has done so far. saved: what `SaveOverride` wrote, and what stood there before."""

    probes: Counter[str] = field(default_factory=Counter)
    calls: Counter[tuple[ModelRef, ProfileId | None]] = field(default_factory=Counter)
    called: ProfileId | None = None
    committed: bool = False
    marked: bool = False
    saved: Mapping[str, object] | None = None
    former: Mapping[str, object] | None = None
    commands: int = 0


class Watched(Machine):
    """Every command of every walk passes `_one`, before it is applied; every result passes `_finish`."""

    seen: dict[TurnId, Seen]
    announced: dict[SessionKey, tuple[str, str] | None]
    meddled: set[SessionKey]
    """Sessions on which somebody acted during this step."""
    together: Counter[SessionKey]
    """How many turns each session has had in this step."""

    def _one(self, process: Process, command: Command) -> Outcome | None:
        self._check(process, command)
        return super()._one(process, command)

    def _check(self, process: Process, command: Command) -> None:
        if process.request.turn not in self.seen:
            self.together[process.request.session] += 1
        seen = self.seen.setdefault(process.request.turn, Seen())
        memory, request, selected = self.memory, process.request, process.walk.selected
        session = memory.session(request.session)
        seen.commands += 1
        ends_within_its_bound(seen, process)
        match command:
            case CallProvider(ref, profile, _, rule):
                nothing_runs_after_commit(seen)
                each_pair_once(seen, ref, profile)
                override_is_stored_first(self, process, session, ref)
                if profile is not None:
                    what_is_off_is_not_used(memory, ref, profile)
                    no_window_is_passed_unrecorded(self, process, seen, ref, profile, rule)
            case ClaimTrial(profile, model):
                assert memory.trials.get((profile, model), request.turn) == request.turn, "one trial in flight per profile and model"
            case MarkThrottle(provider, sibling):
                probes_keep_their_distance(memory, provider, sibling, self.now)
            case MarkPrimary(ref):
                the_primary_is_probed_every_five_minutes(memory, seen, process, ref, self.now)
            case SaveOverride(fields):
                users_choices_are_not_rewritten(session, selected.per_run, fields, self.now)
                seen.saved, seen.former = fields, {name: getattr(session, name) for name in fields}
            case WriteSession(fields, _, note):
                if note == "override.rollback":
                    a_rollback_touches_nothing_newer(seen, session, fields)
                elif note not in FORGETS_NOTICES and "live_model_switch_pending" not in fields:
                    users_choices_are_not_rewritten(session, selected.per_run, fields, self.now)
                if note in FORGETS_NOTICES:
                    self.announced[request.session] = None
                elif fields.get("pending_notice", "") is None:
                    # A cleared notice that waited for an answer is handed out now.
                    self._announce(request.session, None)
            case WriteUsage(profile, after, _, ref, reason):
                assert profile == seen.called, "a record is written for who was called (attempt.attribution)"
                before = normalised(memory.usage(request.owner, profile))
                if reason is None:
                    a_success_clears_what_it_says(before, after, ref.model if ref is not None else "")
                else:
                    active_windows_stay(before, after, self.now)
            case RememberSkip(ref, _):
                assert process.walk.ledger.chain.index(ref) > 0, "the first candidate is never skipped by the cache"
            case Deliver():
                seen.committed = True
            case Announce(_, kind, chosen, ref):
                self._announce(request.session, (str(chosen), str(ref)) if kind == "fallback" else None)
            case StampUsed(profile):
                seen.called = profile
            case _:
                pass

    def _announce(self, session: SessionKey, pair: tuple[str, str] | None) -> None:
        """A cleared notice follows a fallback notice; the same pair is not announced twice in a row."""
        before = self.announced.get(session)
        if pair is not None:
            assert before != pair, f"announced twice in a row: {pair}"
        else:
            assert before is not None, f"cleared without a fallback notice: {session}"
        self.announced[session] = pair

    def _finish(self, process: Process, result: TurnResult) -> None:
        deadline, seen = process.walk.deadline, self.seen.setdefault(process.request.turn, Seen())
        if deadline is not None and not seen.committed:
            assert self.now <= max(deadline, process.walk.ledger.started), "a turn ends with its budget"
        every_candidate_has_one_outcome(result)
        super()._finish(process, result)


def ends_within_its_bound(seen: Seen, process: Process) -> None:
    """Attempts are bounded by distinct candidates times profiles, and each costs a bounded number of commands."""
    most = len(set(process.walk.ledger.chain)) * (len(generator.PROFILES) + 1)
    assert len(process.walk.ledger.attempts) <= most
    assert seen.commands <= 30 * (most + 1), "the turn goes on and on"


def nothing_runs_after_commit(seen: Seen) -> None:
    assert not seen.committed, "nothing runs after commit"


def each_pair_once(seen: Seen, ref: ModelRef, profile: ProfileId | None) -> None:
    """A second call of a pair in a turn is the retry after a refresh (`oauth.expired-retry`), straight after the first."""
    seen.calls[(ref, profile)] += 1
    assert seen.calls[(ref, profile)] <= (2 if profile == "acme:o1" else 1), "each profile at most once per candidate per turn"


def what_is_off_is_not_used(memory: Memory, ref: ModelRef, profile: ProfileId) -> None:
    assert not {profile, ref.provider, str(ref)} & set(memory.off), "what is off is not used"


def no_window_is_passed_unrecorded(machine: Watched, process: Process, seen: Seen, ref: ModelRef, profile: ProfileId, rule: str) -> None:
    """Inside a window that applies only by a cooldown probe, a user's choice, or at an exempt provider; one probe a provider a turn."""
    if not machine.settings.providers[ref.provider].cooldowns or seen.calls[(ref, profile)] > 1:
        return
    windows = active(machine.memory.usage(process.request.owner, profile), ref.model, machine.now, machine.now)
    assert not windows or rule in THROUGH_WINDOWS, f"{profile} used inside {windows} by {rule}"
    if rule in THROUGH_WINDOWS:
        assert machine.memory.trials.get((profile, ref.model)) == process.request.turn, "a probe holds its trial"
    if windows and rule in PROBES:
        seen.probes[ref.provider] += 1
        assert seen.probes[ref.provider] <= 1, "one cooldown probe per provider per turn"


def override_is_stored_first(machine: Watched, process: Process, session: Session, ref: ModelRef) -> None:
    """`override.persist-first`: who asks in the middle of a fallback's call sees it. Other turns of the session may overwrite it."""
    selected, mine = process.walk.selected, process.request.session
    if not selected.writes_selection or is_explicit(session) or ref in (selected.start, selected.primary):
        return
    alone = machine.together[mine] == 1 and mine not in machine.meddled
    assert session.override == ref or not alone, "a fallback is called before it is stored"


def probes_keep_their_distance(memory: Memory, provider: str, sibling: str | None, now: int) -> None:
    last = memory.throttles.get(provider) if sibling is None else memory.sibling_throttles.get((provider, sibling))
    assert last is None or now - last >= PROBE_THROTTLE_MS, "one cooldown probe in 30 s"


def the_primary_is_probed_every_five_minutes(memory: Memory, seen: Seen, process: Process, ref: ModelRef, now: int) -> None:
    """While the session is on a fallback; elsewhere its primary is simply what it starts from. Each profile of a turn marks anew."""
    last = memory.primary_marks.get((process.request.session, ref))
    if process.walk.selected.probing and not seen.marked:
        assert last is None or now - last >= PRIMARY_PROBE_MS, "the primary is probed once in five minutes"
    seen.marked = True


def users_choices_are_not_rewritten(session: Session, per_run: bool, fields: Mapping[str, object], now: int) -> None:
    assert not per_run, "a per-run turn writes nothing to the session"
    if is_explicit(session):
        assert not set(fields) & set(OWNED_FIELDS[:3]), "a user selection is never rewritten by the engine"
    if pin_is_user(session, now):
        assert not set(fields) & set(PIN_FIELDS), "a user pin is never rewritten by the engine"


def a_rollback_touches_nothing_newer(seen: Seen, session: Session, fields: Mapping[str, object]) -> None:
    """Each field still holds what this turn wrote, and goes back to what stood there before."""
    assert seen.saved is not None, "nothing was saved that could be taken back"
    assert seen.former is not None
    assert all(getattr(session, name) == value for name, value in seen.saved.items()), "a newer value was rolled back"
    assert fields == {name: value for name, value in seen.former.items() if value != seen.saved[name]}
    seen.saved = seen.former = None


def a_success_clears_what_it_says(before: UsageStats, after: UsageStats, model: str) -> None:
    """Whole-profile windows and counters and the window of the model that answered; stamps and other models stay."""
    assert after == UsageStats(
        last_used=before.last_used,
        last_failure_at=before.last_failure_at,
        model_cooldowns={name: window for name, window in before.model_cooldowns.items() if name != model},
    )


def active_windows_stay(before: UsageStats, after: UsageStats, now: int) -> None:
    """By a failure an active window never moves later, and earlier only by `window.blocked`."""
    new = {_place(w): w for w in all_windows(after)}
    for window in all_windows(before):
        if window.until <= now:
            continue
        assert _place(window) in new, f"{window} vanished by a failure"
        until = new[_place(window)].until
        assert until == window.until or (window.kind is ProfileState.BLOCKED and now < until < window.until), f"{window} moved to {until}"


def _place(window: Window) -> tuple[str, str | None]:
    return str(window.kind), window.model


def every_candidate_has_one_outcome(result: TurnResult) -> None:
    """And one record that says so, but for auth skips that were counted instead (`log.coalesce`)."""
    assert [c.ref for c in result.candidates] == list(result.chain)
    assert len(set(result.chain)) == len(result.chain), "no candidate twice"
    ends = ("skip_candidate", "candidate_failed", "candidate_succeeded", "candidate_redirected")
    recorded = Counter(f"{d.candidate_provider}/{d.candidate_model}" for d in result.decisions if d.decision in ends)
    for candidate in result.candidates:
        outcome, times = str(candidate.outcome), recorded.pop(str(candidate.ref), 0)
        counted = outcome == "skipped" and candidate.reason in ("auth", "auth_permanent")
        # A caller that left between two attempts of a candidate leaves it without an outcome of its own.
        left = outcome == "not_reached" and times == 0
        assert times == 1 or left or (counted and times == 0), f"{candidate} has {times} records"
    assert not recorded, f"records of nobody: {recorded}"
    assert all(d.rule in RULES for d in result.decisions), "every decision names its rule"
    assert [d.decision for d in result.decisions].count("turn_finished") == 1


class WatchedRun(Run):
    """One world that is watched. turns, calls: what it ran, and what the turns say they called."""

    def __init__(self, config: Mapping[str, Any], profiles: Mapping[str, Any], script: Script, env: Mapping[str, str]) -> None:
        scenario = parse_scenario({"config": config, "profiles": profiles, "start": T0, "env": env, "steps": []})
        super().__init__(scenario, load_settings(scenario.config, env=scenario.env).settings)
        old = self.machine
        self.script = script
        self.machine = Watched(old.memory, script, old.settings, old.now, dict(env))
        self.machine.seen, self.machine.announced, self.machine.meddled = {}, {}, set()
        self.machine.together = Counter()
        self.turns = self.calls = 0

    machine: Watched

    def take(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """One step, and what must be true between steps."""
        machine = self.machine
        before = {p: u for agent in machine.memory.agents.values() for p, u in agent.usage.items()}
        shown: dict[str, Any] = self._step(Step.model_validate(data))
        machine.seen.clear()
        machine.meddled.clear()
        machine.together.clear()
        for result in results(shown):
            self.turns += 1
            self.calls += result["upstream_calls"]
            the_result_is_consistent(result)
        if "probe" in shown and shown["probe"]["outcome"] != "not_probeable":
            self.calls += 1
        assert not machine.memory.trials, "no trial outlives its turns"
        assert not machine._running, "no turn is forgotten"
        if "restart" in data:
            for agent in machine.memory.agents.values():
                for profile, usage in agent.usage.items():
                    windows_only_shrink(before.get(profile, usage), usage)
        return shown

    def _act(self, act: LocalAct) -> dict[str, object]:
        key = SessionKey(getattr(act, "session", ""))
        done = super()._act(act)
        self.machine.meddled.add(key)
        if done["ok"] and isinstance(act, (Reset, SelectModel)):
            self.machine.announced[key] = None
        return done


def windows_only_shrink(before: UsageStats, after: UsageStats) -> None:
    """`window.clamp`: a start moves no end back."""
    old = {_place(w): w.until for w in all_windows(normalised(before))}
    assert all(old[_place(w)] >= w.until for w in all_windows(after))


def results(shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = [shown["turn"]] if "turn" in shown else []
    return found + [member["turn"] for member in shown.get("parallel", [])]


def the_result_is_consistent(result: Mapping[str, Any]) -> None:
    outcomes = [c["outcome"] for c in result["candidates"]]
    assert outcomes.count("succeeded") == (1 if result["outcome"] == "ok" else 0), result
    assert (result["error"] is None) == (result["outcome"] in ("ok", "killed"))
    assert result["outcome"] in {str(o) for o in TurnOutcome}
    assert (result["active"] is not None) == (result["outcome"] in ("ok", "partial"))
    if result["error"] is not None:
        assert "soonestCooldownExpiry" in result["error"]


class RandomRun(WatchedRun):
    """One random world of a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        script = generator.RandomScript(self.rng)
        super().__init__(generator.config(self.rng), generator.profiles(self.rng, T0), script, generator.env(self.rng))
        self.seen_by_providers = script.calls

    def play(self, steps: int) -> None:
        for _ in range(steps):
            self.take(generator.step(self.rng))
        assert self.calls == sum(self.seen_by_providers.values()), "the calls that a provider saw equal the sum of upstreamCalls"
