"""A machine that checks the invariants of issue 3 at every command: what may be called, written and claimed. It fails with the seed."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from engine.config.load import load_settings
from engine.domain.ids import SessionKey, TurnId
from engine.domain.sessions import OWNED_FIELDS
from engine.domain.snapshot import ProfileState
from engine.domain.turns import TurnOutcome
from engine.domain.usage import UsageStats
from engine.policy.commands import (
    Announce,
    CallProvider,
    ClaimTrial,
    Command,
    Deliver,
    SaveOverride,
    WriteSession,
    WriteUsage,
)
from engine.policy.pins import PIN_FIELDS, pin_is_user
from engine.policy.selection import is_explicit
from engine.policy.windows import Window, active, all_windows, normalised
from engine.simulation.machine import Machine, Process
from engine.simulation.run import Run
from engine.simulation.scenario import Step, parse_scenario
from tests.worlds import generator

PROBES = {"gate.primary-probe", "gate.sibling-probe", "gate.other-provider-probe"}
THROUGH_WINDOWS = PROBES | {"gate.user-explicit", "gate.billing-throttle"}
T0 = 1_767_603_600_000


class Watched(Machine):
    """Every command of every walk passes `_perform`; every result passes `_finish`."""

    def _perform(self, process: Process, command: Command) -> None:
        self.check(process, command)
        super()._perform(process, command)

    def check(self, process: Process, command: Command) -> None:
        notes: dict[str, Any] = self.notes.setdefault(process.request.turn, {"probes": Counter(), "committed": False, "calls": Counter()})
        memory, request = self.memory, process.request
        session = memory.session(request.session)
        match command:
            case CallProvider(ref, profile, _, rule):
                assert not notes["committed"], "nothing runs after commit"
                notes["calls"][(ref, profile)] += 1
                # A second call of a pair in a turn is the retry after a refresh (`oauth.expired-retry`).
                assert notes["calls"][(ref, profile)] <= 2, "each profile at most once per candidate per turn"
                if profile is not None:
                    assert profile not in memory.off, "what is off is not used"
                    exempt = not self.settings.providers[ref.provider].cooldowns
                    windows = active(memory.usage(request.owner, profile), ref.model, self.now, self.now)
                    first = notes["calls"][(ref, profile)] == 1
                    assert exempt or not windows or rule in THROUGH_WINDOWS or not first, f"{profile} used inside {windows} by {rule}"
                    if windows and rule in PROBES and first:
                        notes["probes"][ref.provider] += 1
                        assert notes["probes"][ref.provider] <= 1, "one cooldown probe per provider per turn"
            case ClaimTrial(profile, model):
                assert memory.trials.get((profile, model), request.turn) == request.turn, "one trial in flight per profile and model"
            case WriteSession(fields) | SaveOverride(fields):
                if is_explicit(session) and process.walk.selected.repaired_by is None:
                    assert not set(fields) & set(OWNED_FIELDS[:3]), "a user selection is never rewritten by the engine"
                if pin_is_user(session, self.now):
                    assert not set(fields) & set(PIN_FIELDS), "a user pin is never rewritten by the engine"
                assert not process.walk.selected.per_run, "a per-run turn writes nothing to the session"
            case WriteUsage(profile, after, _, _, reason):
                check_usage(normalised(memory.usage(request.owner, profile)), after, reason, self.now)
            case Deliver():
                notes["committed"] = True
            case Announce(text, kind, selected, active_ref):
                self.check_notice(request.session, text, kind, str(selected), str(active_ref))
            case _:
                pass

    notes: dict[TurnId, dict[str, Any]]
    announced: dict[SessionKey, tuple[str, str] | None]

    def check_notice(self, session: SessionKey, text: str, kind: str, selected: str, active_ref: str) -> None:
        before = self.announced.get(session)
        if kind == "fallback":
            assert before != (selected, active_ref), f"announced twice in a row: {text}"
            self.announced[session] = (selected, active_ref)
        else:
            assert before is not None, f"cleared without a fallback notice: {text}"
            self.announced[session] = None


def check_usage(before: UsageStats, after: UsageStats, reason: str | None, now: int) -> None:
    """An active window never moves later, and earlier only by `window.blocked`; a success clears what it says and no more."""
    old = {key(w): w for w in all_windows(before) if w.until > now}
    new = {key(w): w for w in all_windows(after)}
    if reason is None:
        assert after.last_failure_at == before.last_failure_at
        assert dict(after.model_cooldowns).items() <= dict(before.model_cooldowns).items()
        assert len(before.model_cooldowns) - len(after.model_cooldowns) <= 1
        return
    for name, window in old.items():
        assert name in new, f"{window} vanished by a failure"
        if window.kind is ProfileState.BLOCKED:
            assert new[name].until <= window.until
        else:
            assert new[name].until == window.until, f"{window} moved to {new[name].until}"


def key(window: Window) -> tuple[str, str | None]:
    return str(window.kind), window.model


class RandomRun(Run):
    """One random world: `turns` counts what it ran."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        scenario = parse_scenario(
            {"config": generator.config(self.rng), "profiles": generator.profiles(self.rng, T0), "start": T0, "steps": []}
        )
        super().__init__(scenario, load_settings(scenario.config, env={}).settings)
        self.script = generator.RandomScript(self.rng)
        old = self.machine
        self.machine = Watched(old.memory, self.script, old.settings, old.now, {})
        self.machine.notes, self.machine.announced = {}, {}
        self.turns = 0
        self.calls = 0

    machine: Watched

    def play(self, steps: int) -> None:
        for _ in range(steps):
            data = generator.step(self.rng)
            shown = self._step(Step.model_validate(data))
            self._forget_notices()
            for result in results(shown):
                self.turns += 1
                self.calls += result["upstream_calls"]
                check_result(result)
            if "probe" in shown and shown["probe"]["outcome"] != "not_probeable":  # type: ignore[index]
                self.calls += 1
            assert not self.machine.memory.trials, "no trial outlives its turns"
        assert self.calls == sum(self.script.calls.values()), "the calls that a provider saw equal the sum of upstreamCalls"

    def _forget_notices(self) -> None:
        """A reset, `/model` or a stale origin clears the notice state without a cleared notice."""
        machine = self.machine
        for session in list(machine.announced):
            record = machine.memory.session(session)
            if record.fallback_notice_active_model is None and record.pending_notice is None:
                machine.announced[session] = None


def results(shown: dict[str, Any]) -> list[dict[str, Any]]:
    found = [shown["turn"]] if "turn" in shown else []
    return found + [member["turn"] for member in shown.get("parallel", [])]


def check_result(result: dict[str, Any]) -> None:
    chain = result["chain"]
    assert [c["ref"] for c in result["candidates"]] == chain
    assert len(set(chain)) == len(chain), "no candidate twice"
    succeeded = [c for c in result["candidates"] if c["outcome"] == "succeeded"]
    assert len(succeeded) == (1 if result["outcome"] == "ok" else 0), result
    assert (result["error"] is None) == (result["outcome"] in ("ok", "killed"))
    assert result["outcome"] in {str(o) for o in TurnOutcome}
    if result["outcome"] == "failed":
        assert all(c["outcome"] in ("failed", "skipped", "redirected", "not_reached") for c in result["candidates"])
