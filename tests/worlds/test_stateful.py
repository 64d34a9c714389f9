"""The same steps and invariants as the random worlds, chosen by Hypothesis, so that what breaks is shown as small as it can be: a failure
prints the steps as a program. `walk.one-outcome`, `override.crash-safe`, `window.immutable`."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.domain.failure import Failure
from engine.domain.ids import ModelRef, ProfileId
from engine.domain.turns import TurnOutcome
from engine.simulation.script import Reply, Script
from tests.worlds import generator
from tests.worlds.watched import T0, WatchedRun

SESSIONS = st.sampled_from(generator.SESSIONS[:2])
REFS = st.sampled_from(generator.MODELS[:6])
PROFILES = st.sampled_from(generator.PROFILES)
TURNS = st.one_of(
    st.builds(lambda session: {"session": session}, SESSIONS),
    st.builds(lambda session, ref: {"session": session, "requested": ref}, SESSIONS, REFS),
    st.builds(lambda session, refs: {"session": session, "fallbacks": refs}, SESSIONS, st.lists(REFS, max_size=2)),
    st.builds(lambda session: {"session": session, "kind": "heartbeat"}, SESSIONS),
    st.builds(lambda session, ref: {"session": session, "kind": "cron", "payload": {"model": ref}}, SESSIONS, REFS),
    st.builds(lambda session, budget: {"session": session, "budget_s": budget}, SESSIONS, st.sampled_from((1, 30))),
)
ACTS = st.one_of(
    st.builds(lambda session, ref: {"model": {"session": session, "ref": ref}}, SESSIONS, REFS | st.just("default")),
    st.builds(lambda session, profile: {"pin": {"session": session, "profile": profile}}, SESSIONS, PROFILES),
    st.builds(lambda session: {"unpin": {"session": session}}, SESSIONS),
    st.builds(lambda session: {"reset": {"session": session, "how": "reset"}}, SESSIONS),
    st.builds(lambda session: {"compact": {"session": session}}, SESSIONS),
    st.builds(lambda profile: {"clear": {"profile": profile}}, PROFILES),
    st.builds(lambda profile: {"off": {"profile": profile}}, PROFILES),
    st.builds(lambda profile: {"on": {"profile": profile}}, PROFILES),
)
SLOW = st.sampled_from((0, 0, 2_000))


class Moods(Script):
    """What each model answers until it is told otherwise."""

    def __init__(self) -> None:
        super().__init__({})
        self.moods: dict[str, Reply] = {}
        self.calls = 0

    def next(self, ref: ModelRef, profile: ProfileId | None) -> Reply:
        self.calls += 1
        return self.moods.get(f"{ref}@{profile}") or self.moods.get(str(ref)) or Reply(0)

    def next_refresh(self, profile: ProfileId) -> Reply | None:
        return self.moods.get(f"refresh:{profile}")


class Worlds(RuleBasedStateMachine):
    @initialize(seed=st.integers(0, 50))
    def begin(self, seed: int) -> None:
        rng = random.Random(seed)
        self.script = Moods()
        self.run = WatchedRun(generator.config(rng), generator.profiles(rng, T0), self.script, generator.env(rng))

    def take(self, step: dict[str, Any]) -> None:
        self.run.take(step)

    @rule(ref=REFS, failure=st.sampled_from(generator.FAILURES), after=SLOW)
    def breaks(self, ref: str, failure: Failure, after: int) -> None:
        self.script.moods[ref] = Reply(after, failure)

    @rule(ref=REFS, how=st.sampled_from(("empty", "drops")))
    def says_little(self, ref: str, how: str) -> None:
        self.script.moods[ref] = Reply(0, empty=how == "empty", drops=how == "drops")

    @rule(ref=REFS, after=SLOW)
    def recovers(self, ref: str, after: int) -> None:
        self.script.moods[ref] = Reply(after)

    @rule(dead=st.booleans())
    def login_breaks(self, dead: bool) -> None:
        self.script.moods["refresh:acme:o1"] = Reply(500, Failure(status=400, body='{"error": "invalid_grant"}') if dead else None)

    @rule(turn=TURNS)
    def turn(self, turn: dict[str, Any]) -> None:
        self.take({"turn": turn})

    @rule(turns=st.lists(TURNS, min_size=2, max_size=4))
    def parallel(self, turns: list[dict[str, Any]]) -> None:
        self.take({"parallel": [{"turn": turn} for turn in turns]})

    @rule(turn=TURNS, attempt=st.integers(1, 3), acts=st.lists(ACTS, min_size=1, max_size=2), killed=st.booleans())
    def during(self, turn: dict[str, Any], attempt: int, acts: list[dict[str, Any]], killed: bool) -> None:
        self.take({"during": {"turn": turn, "attempt": attempt, "do": [*acts, *([{"restart": {}}] if killed else [])]}})

    @rule(turn=TURNS, attempt=st.integers(1, 2))
    def cancel(self, turn: dict[str, Any], attempt: int) -> None:
        self.take({"cancel": {"turn": turn, "attempt": attempt}})

    @rule(seconds=st.sampled_from((1, 11, 20, 31, 61, 301, 3_700, 90_000)))
    def advance(self, seconds: int) -> None:
        self.take({"advance_s": seconds})

    @rule(act=ACTS)
    def act(self, act: dict[str, Any]) -> None:
        self.take(act)

    @rule(session=SESSIONS)
    def probe(self, session: str) -> None:
        self.take({"probe": {"session": session}})

    @rule()
    def restart(self) -> None:
        self.take({"restart": {}})

    @rule(seed=st.integers(0, 50))
    def set_config(self, seed: int) -> None:
        self.take({"set_config": generator.config(random.Random(seed))})

    @precondition(lambda self: self.run.turns)
    @rule(session=SESSIONS)
    def nothing_is_stuck(self, session: str) -> None:
        """`override.crash-safe`: with everything healthy again and nobody's choice in the way, a session is served."""
        self.script.moods.clear()
        self.take({"restart": {}})
        self.take({"advance_s": 40 * 86_400})
        self.take({"reset": {"session": session, "how": "reset"}})
        self.take({"model": {"session": session, "ref": "default"}})
        for target in list(self.run.machine.memory.off):
            self.run.machine.memory.put_off(target, None)
        done = self.run.take({"turn": {"session": session, "fallbacks": ["kilo/std"]}})["turn"]
        assert done["outcome"] == str(TurnOutcome.OK), done

    @invariant()
    def calls_add_up(self) -> None:
        if hasattr(self, "run"):
            assert self.run.calls == self.script.calls, "the calls that a provider saw equal the sum of upstreamCalls"


TestWorlds = Worlds.TestCase
TestWorlds.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
