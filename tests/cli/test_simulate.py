"""`failover simulate` with scenarios that nobody should write: refused with the path, or answered, never a crash and never a control
character on the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SCENARIO = {
    "config": {
        "agents": {"defaults": {"model": {"primary": "acme/big"}}},
        "models": {"providers": {"acme": {"baseUrl": "http://acme.test/v1", "api": "openai-completions"}}},
    },
    "profiles": {"acme:k1": {"type": "api_key", "provider": "acme", "key": "x"}},
    "steps": [{"turn": {"session": "main"}}],
}
RED = "\x1b[31m[/red]"
HALF = "\ud800"


def written(tmp_path: Path, **more: object) -> str:
    path = tmp_path / "scenario.json5"
    path.write_text(json.dumps({**SCENARIO, **more}))  # Infinity and NaN are JSON5
    return str(path)


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"start": float("nan")}, "start"),
        ({"start": 1e300}, "start"),
        ({"steps": [{"advance_to": float("inf")}]}, "advance_to"),
        ({"steps": [{"advance_s": 1e300}]}, "steps[0].advance_s"),
        ({"steps": [{"wall_clock_s": -1e300}]}, "steps[0].wall_clock_s"),
        ({"steps": [{"pin": {"session": "m", "profile": "acme:k1", "until": float("nan")}}]}, "steps[0].pin.until"),
        ({"steps": [{"pin": {"session": "m", "profile": "acme:k1", "until": float("inf")}}]}, "steps[0].pin.until"),
        ({"usageStats": {"acme:k1": {"lastUsed": float("inf")}}}, "usageStats"),
        ({"usageStats": {"acme:k1": {"cooldownUntil": float("nan")}}}, "usageStats"),
        ({"steps": [{"turn": {"session": "m", "model": "big"}}]}, "steps[0].turn"),
        ({"steps": [{"during": {"turn": {"session": "m"}, "do": [{"advance_s": 1}]}}]}, "steps[0].during.do[0].advance_s"),
    ],
)
def test_a_number_that_is_none_is_refused_with_its_path_and_the_next_step(failover, tmp_path, more, path):
    done = failover("simulate", written(tmp_path, **more), "--json")
    assert done.returncode == 2, done.stderr
    assert f"  {path}" in done.stderr
    assert "next: " in done.stderr


@pytest.mark.parametrize("as_json", [True, False])
def test_half_a_surrogate_pair_is_written_as_an_escape(failover_process, tmp_path, as_json):
    path = written(tmp_path, steps=[{"turn": {"session": HALF}}], sessions={HALF: {}})
    done = failover_process("simulate", path, *(["--json"] if as_json else []))
    assert done.returncode == 0, done.stderr
    if as_json:
        assert json.loads(done.stdout)["steps"][0]["turn"]["session"] == HALF


def test_one_line_of_a_batch_with_half_a_surrogate_pair_does_not_end_the_others(failover_process):
    lines = [json.dumps({**SCENARIO, "id": name}) for name in (HALF, "b")]
    done = failover_process("simulate", "--batch", "-", input="\n".join(lines))
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [HALF, "b"]


def test_the_timeline_holds_no_control_character_of_the_scenario(failover, tmp_path):
    said = {"status": 429, "body": json.dumps({"error": {"message": f"\x1b]0;owned\x07{RED}\u202e"}})}
    profiles = {f"acme:{RED}": {"type": "api_key", "provider": "acme", "key": "x"}}
    path = written(tmp_path, steps=[{"turn": {"session": RED}}], providers={"*": said}, profiles=profiles, sessions={RED: {}})
    done = failover("simulate", path)
    assert done.returncode == 0, done.stderr
    assert "[/red]" in done.stdout
    assert not [char for char in done.stdout if char != "\n" and not char.isprintable()]


def test_a_time_beyond_the_calendar_is_shown_as_a_number(failover, tmp_path):
    done = failover("simulate", written(tmp_path, steps=[{"advance_s": 9e9}] * 40))
    assert done.returncode == 0, done.stderr
    assert " ms" in done.stdout
