"""Random worlds against the invariants of `tests.worlds.watched` (`walk.one-outcome`, `rotate.once`, `window.immutable`, `window.clamp`,
`gate.one-probe-per-provider`, `gate.single-flight`, `override.rollback`, `override.persist-first`, `override.probe`, `attempt.committed`,
`attempt.budget`, `attempt.success`, `notice.fallback`, `notice.cleared`). Bulk by seed; a failure names the world."""

from __future__ import annotations

import os

import pytest

from tests.worlds.watched import RandomRun

WORLDS = int(os.environ.get("WORLDS", "16"))
STEPS = 100


@pytest.mark.timeout(0 if WORLDS > 40 else 60)
@pytest.mark.parametrize("seed", range(8))
def test_no_invariant_breaks_in_random_worlds_walk_one_outcome_window_immutable_gate_single_flight_override_rollback(seed: int) -> None:
    """WORLDS=125: 100,000 turns, as `.ci/run` plays them."""
    turns = sum(played(seed * 1_000_003 + n) for n in range(WORLDS))
    assert turns > WORLDS * STEPS * 3 // 4


def played(world: int) -> int:
    """How many turns the world had."""
    run = RandomRun(world)
    try:
        run.play(STEPS)
    except AssertionError as broken:
        raise AssertionError(f"world {world}, turn {run.turns}: {broken}") from broken
    return run.turns
