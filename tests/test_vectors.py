"""The recorded cases, through the very functions that `failover simulate --batch` runs. `expect` is partial: an object matches when
each of its keys matches, a list when its length and items do; `$any`, `$absent` and `$in` are the matchers of the recording."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.domain.errors import FailoverError
from engine.simulation.run import simulate

VECTORS = Path(__file__).parent / "vectors"


def cases(name: str) -> list[Any]:
    return [json.loads(line) for line in (VECTORS / name).read_text(encoding="utf-8").splitlines() if line.strip()]


def differences(expect: Any, got: Any, path: str = "$") -> Iterator[str]:
    if isinstance(expect, dict):
        if expect.get("$any"):
            return
        if expect.get("$absent"):
            if got is not None:
                yield f"{path}: expected nothing, got {got!r}"
        elif "$in" in expect:
            if got not in expect["$in"]:
                yield f"{path}: expected one of {expect['$in']}, got {got!r}"
        elif not isinstance(got, dict):
            yield f"{path}: expected an object, got {got!r}"
        else:
            for key, value in expect.items():
                yield from differences(value, got.get(key), f"{path}.{key}")
    elif isinstance(expect, list):
        if not isinstance(got, list) or len(expect) != len(got):
            yield f"{path}: expected {len(expect)} items, got {got!r}"
        else:
            for i, (want, have) in enumerate(zip(expect, got, strict=True)):
                yield from differences(want, have, f"{path}[{i}]")
    elif expect != got or isinstance(expect, bool) is not isinstance(got, bool):
        yield f"{path}: expected {expect!r}, got {got!r}"


@pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in cases("scenarios.jsonl")])
def test_a_recorded_scenario_comes_out_as_recorded(case: Any) -> None:
    try:
        got: dict[str, Any] = simulate({"id": case["id"], **case["scenario"]})
    except FailoverError as error:
        got = {"error": str(error)}
    assert list(differences(case["expect"], got)) == [], case["note"]


def test_the_same_scenario_gives_the_same_bytes() -> None:
    for case in cases("scenarios.jsonl")[::20]:
        try:
            assert json.dumps(simulate(case["scenario"])) == json.dumps(simulate(case["scenario"]))
        except FailoverError:
            continue
