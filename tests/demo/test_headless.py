"""The demo as a process: everything real but the providers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from engine.simulation.demo.cast import KEYS

ROOT = Path(__file__).resolve().parent.parent.parent


def demo(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "console.cli.main", "demo", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environ}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=55, check=False
    )


def test_an_outage_shows_a_fallback_a_window_that_opens_and_closes_and_a_recovery():
    done = demo("--headless", "--seconds", "10", "--speed", "60", "--json", OPENAI_API_KEY="sk-a-real-key-1234567890")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    seen = Counter(event["event"] for event in events)
    for name in ("turn_started", "attempt_started", "attempt_finished", "turn_finished", "window_opened", "window_closed", "override_set"):
        assert seen[name], name
    notices = [event["text"] for event in events if event["event"] == "notice"]
    assert any(text.startswith("↪️ Model Fallback: openai/gpt-5.5 (selected anthropic/claude-opus-4-8;") for text in notices)
    assert any(text.startswith("↪️ Model Fallback cleared: anthropic/claude-opus-4-8") for text in notices)
    assert seen["override_cleared"]
    summary = events[-1]
    assert summary["event"] == "summary"
    assert summary["turns"] == seen["turn_finished"] > 10
    assert all(summary[name] for name in ("fallbacks", "recoveries", "windows_opened", "windows_closed"))
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
    everything = done.stdout + done.stderr
    assert not any(key in everything for key in (*KEYS.values(), "sk-a-real-key"))
    assert "curl -i http://127.0.0.1:" in done.stderr


# All are down from 140 to 260 s of policy time: long enough in real time for a request to fall into it on a busy machine.
@pytest.mark.parametrize(("scenario", "speed", "seconds"), [("billing", "120", "4"), ("everything-down", "30", "9")])
def test_the_other_scenarios_run_too(scenario, speed, seconds):
    done = demo("--scenario", scenario, "--headless", "--seconds", seconds, "--speed", speed, "--json")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = {(event.get("kind"), event.get("reason")) for event in events if event["event"] == "window_opened"}
    if scenario == "billing":
        assert ("disabled", "billing") in kinds
    else:
        assert events[-1]["failed"] > 0


def test_without_a_terminal_it_says_how_to_go_without_one():
    done = demo()
    assert (done.returncode, done.stdout) == (2, "")
    assert "failover demo --headless --seconds 25 --speed 60 --json" in done.stderr
    assert demo("--json").returncode == 2
    assert demo("--scenario", "sunshine").returncode == 2


def test_stopped_early_it_still_ends_with_its_summary_and_leaves_nothing_behind(tmp_path):
    command = [sys.executable, "-m", "console.cli.main", "demo", "--headless", "--json"]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=20)
        assert process.returncode == 0
    assert json.loads(told.splitlines()[-1])["event"] == "summary"
    assert list(tmp_path.iterdir()) == []
