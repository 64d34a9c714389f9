"""Random worlds against the invariants (`walk.one-outcome`, `rotate.once`, `window.immutable`, `gate.one-probe-per-provider`,
`gate.single-flight`, `override.rollback`, `attempt.committed`, `notice.fallback`). Bulk by seed; a failure names the seed."""

from __future__ import annotations

import os

import pytest

from tests.worlds.watched import RandomRun

WORLDS = int(os.environ.get("WORLDS", "40"))
STEPS = 100


@pytest.mark.parametrize("seed", range(8))
def test_no_invariant_breaks_in_random_worlds(seed: int) -> None:
    turns = 0
    for n in range(WORLDS):
        world = seed * 1_000_003 + n
        run = RandomRun(world)
        try:
            run.play(STEPS)
        except AssertionError as broken:
            raise AssertionError(f"world {world}: {broken}") from broken
        turns += run.turns
    assert turns > WORLDS * STEPS // 2
