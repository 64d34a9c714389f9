"""Views and acts from a script, against a running gateway whose engine is played by the test. The operator API, the lock and the address
file are the real ones; every command is a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from console.cli.identity import operator
from engine.domain.acts import ActResult, Clear, Pin, Probe, Reload, Reset, SelectModel, SetOff, SetOn, SetOrder, Unpin
from engine.domain.errors import ActRefused
from engine.gateway.thread import LoopThread
from store.instance import GatewayLock, operator_token
from store.paths import StateDirectory
from tests.cli.processes import ROOT
from tests.operator.fake import NOW, SNAPSHOT, WINDOW, FakeOperations, served


@dataclass
class Running:
    operations: FakeOperations
    thread: LoopThread
    url: str


@pytest.fixture
def gateway(state: Path) -> Iterator[Running]:
    """A gateway on the state directory, in a thread of the test."""
    directory = StateDirectory(state)
    lock = GatewayLock.acquire(directory)
    operations = FakeOperations()
    thread = LoopThread("gateway")
    serving = served(operations, instance=lock.instance, token=operator_token(directory))
    url = thread.do(serving.__aenter__(), 10)
    lock.publish(url)
    try:
        yield Running(operations, thread, url)
    finally:
        thread.do(serving.__aexit__(None, None, None), 10)
        thread.stop()
        lock.release()


def test_status_shows_what_is_cooling_and_who_is_away(failover, gateway):
    done = failover("status")
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith(f"LIVE  {gateway.url}  4.2 req/s  p50 812 ms  ok 97.1 %  2 sessions  1 on fallback  1 of 2 profiles not ready")
    cooling = next(line for line in rest if line.startswith("acme:k1"))
    assert cooling.split() == ["acme:k1", "cooldown", "00:41", "rate_limit", "big", "2", "2"]
    away = next(line for line in rest if line.startswith("support-bot"))
    assert "rate limit" in away
    assert not any("\x1b" in line for line in rest)


def test_status_says_how_many_more_windows_a_profile_has_and_pads_no_line(failover, gateway):
    first, *others = SNAPSHOT.profiles
    more = (WINDOW, replace(WINDOW, model="small"), replace(WINDOW, model="tiny"))
    gateway.operations.shown = replace(SNAPSHOT, profiles=(replace(first, windows=more), *others))
    lines = failover("status").stdout.splitlines()
    cooling = next(line for line in lines if line.startswith("acme:k1"))
    assert "big (+2 scopes)" in cooling
    assert [line for line in lines if line != line.rstrip()] == []


def test_status_for_scripts_is_the_snapshot(failover, gateway):
    told = json.loads(failover("status", "--json").stdout)
    assert (told["running"], told["url"], told["sessions"][0]["on_fallback"]) == (True, gateway.url, True)


def test_status_imports_neither_textual_nor_a_server(gateway, state):
    code = (
        "import sys; from console.cli import main; main.run(['status', '--json']); "
        "bad = {m.split('.')[0] for m in sys.modules} & {'textual', 'uvicorn', 'starlette', 'llm_rosetta'}; "
        "sys.exit(repr(bad) if bad else 0)"
    )
    environ = {**os.environ, "FAILOVER_STATE_DIR": str(state)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["running"] is True


def test_sessions_draws_foreign_names_as_harmless_text(failover, gateway):
    done = failover("sessions")
    assert "main [/red]\\x1b[2J" in done.stdout
    assert "support-bot" not in failover("sessions", "--on-fallback", "--json").stderr
    assert [view["key"] for view in json.loads(failover("sessions", "--on-fallback", "--json").stdout)] == ["support-bot"]


def test_explain_tells_the_next_request_with_its_rules(failover, gateway):
    done = failover("explain", "support-bot")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "support-bot: the next request goes to zeta/std with zeta:k1"
    assert "  primary probe in 03:12" in lines
    assert any("gate.primary-probe" in line and "origin, last resort" in line for line in lines)
    assert any("candidate_failed" in line for line in lines)
    assert any(line.startswith("  support-bot runs on ") for line in lines)
    assert any(line.startswith("gate.primary-probe") and "first candidate" in line for line in lines[lines.index("") :])
    told = json.loads(failover("explain", "support-bot", "--json").stdout)
    assert told["preview"]["next_ref"] == "zeta/std"
    assert told["session"]["key"] == "support-bot"


def test_the_log_is_records_for_scripts_and_a_table_for_people(failover, gateway):
    assert "candidate_failed" in failover("log", "--session", "support-bot").stdout
    assert json.loads(failover("log", "--turn", "t0", "--limit", "7", "--json").stdout)["turn"] == "t0"
    assert gateway.operations.asked[-1] == {"session": None, "turn": "t0", "limit": 7}


@pytest.mark.parametrize(
    ("arguments", "act"),
    [
        (("pin", "main", "acme:k1", "--reason", "quota"), Pin("main", "acme:k1", "quota")),  # type: ignore[arg-type]
        (("pin", "main", "acme:k1", "--until", "30m"), Pin("main", "acme:k1", None, NOW + 1_800_000)),  # type: ignore[arg-type]
        (("unpin", "support-bot"), Unpin("support-bot")),  # type: ignore[arg-type]
        (("model", "main", "zeta/std@zeta:k1"), SelectModel("main", "zeta/std@zeta:k1")),  # type: ignore[arg-type]
        (("probe", "support-bot"), Probe("support-bot")),  # type: ignore[arg-type]
        (("reset", "support-bot"), Reset("support-bot")),  # type: ignore[arg-type]
        (("clear", "acme:k1"), Clear("acme:k1", False)),  # type: ignore[arg-type]
        (("clear", "acme:k1", "--verify"), Clear("acme:k1", True)),  # type: ignore[arg-type]
        (("off", "acme/big", "--reason", "bad answers"), SetOff("acme/big", "bad answers")),
        (("on", "acme/big"), SetOn("acme/big")),
        (("order", "acme", "acme:k2", "acme:k1"), SetOrder("acme", ("acme:k2", "acme:k1"))),  # type: ignore[arg-type]
        (("order", "acme", "--clear"), SetOrder("acme", None)),
        (("reload",), Reload()),
    ],
)
def test_a_command_is_the_same_act_as_the_console_sends(failover, gateway, arguments, act):
    done = failover(*arguments)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    ((sent, by),) = gateway.operations.acts
    assert sent == act
    assert by == operator()


def test_a_refused_act_is_status_1_and_says_why(failover, gateway):
    gateway.operations.result = ActResult(False, "read-only: nothing was changed", outcome="not_probeable")
    done = failover("probe", "support-bot")
    assert (done.returncode, done.stdout) == (1, "")
    assert "read-only: nothing was changed" in done.stderr
    told = failover("probe", "support-bot", "--json")
    assert (told.returncode, json.loads(told.stdout)["outcome"]) == (1, "not_probeable")
    gateway.operations.result = ActRefused("No such profile", "acme:k9 is not stored", "see `failover profiles list`")
    assert failover("pin", "main", "acme:k9").returncode == 1


def test_profiles_list_shows_states_and_no_key(failover, gateway):
    assert "cooldown" in failover("profiles", "list").stdout
    assert [view["state"] for view in json.loads(failover("profiles", "list", "--json").stdout)] == ["cooldown", "ready"]


def watching(state: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "console.cli.main", "watch", *arguments]
    environ = {**os.environ, "FAILOVER_STATE_DIR": str(state), "PYTHONUNBUFFERED": "1"}
    # A suite that a shell runs in the background ignores SIGINT, and so would this process.
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed)


def test_watch_shows_kept_and_coming_events_one_a_line_until_it_is_stopped(gateway, state):
    async def happen(seq: int, text: str) -> None:
        gateway.operations.happen(seq, event="notice", at=NOW, session="main", text=text)

    gateway.thread.do(happen(1, "first\nline"))
    with watching(state, "--json", "--after", "0") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["text"] == "first\nline"
        gateway.thread.do(happen(2, "second"))
        assert json.loads(process.stdout.readline())["text"] == "second"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_watch_in_words_ends_with_the_gateway_when_asked_to(gateway, state):
    async def happen() -> None:
        gateway.operations.happen(1, event="notice", at=NOW, session="main", text="hello")

    async def end() -> None:
        gateway.operations.end()

    gateway.thread.do(happen())
    with watching(state, "--plain", "--after", "0", "--once") as process:
        assert process.stdout is not None
        assert process.stdout.readline().endswith("main notice: hello\n")
        gateway.thread.do(end())
        assert process.wait(10) == 0


def test_watch_without_a_gateway_says_how_to_start_one(failover):
    done = failover("watch")
    assert done.returncode == 1
    assert "failover serve" in done.stderr


def test_reload_needs_a_running_gateway(failover):
    assert failover("reload").returncode == 1


def test_a_gateway_that_was_killed_is_not_asked(failover, state):
    directory = StateDirectory(state)
    lock = GatewayLock.acquire(directory)
    lock.publish("http://127.0.0.1:1")
    # Its file stays, its lock does not: as after a kill -9.
    os.close(lock._descriptor)  # type: ignore[arg-type]
    done = failover("watch")
    assert "none runs on the state directory" in done.stderr


@pytest.mark.parametrize("command", [("probe",), ("reset",), ("unpin",), ("explain",)])
def test_a_session_that_nobody_has_seen_is_a_typing_mistake_and_says_what_may_be_meant(failover, gateway, command):
    done = failover(*command, "suport-bot")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no session suport-bot has been seen yet" in done.stderr
    assert "next: did you mean support-bot? `failover sessions` lists them" in done.stderr
    assert gateway.operations.acts == []


def test_a_refusal_for_scripts_is_json_too(failover, gateway):
    done = failover("probe", "suport-bot", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["ok"]) == (1, False)
    assert "did you mean support-bot?" in told["message"]


@pytest.mark.parametrize("command", [("pin", "suport-bot", "acme:k1"), ("model", "suport-bot", "zeta/std")])
def test_a_pin_or_a_model_may_come_before_its_session_and_says_that_it_does(failover, gateway, command):
    done = failover(*command)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "no session suport-bot has been seen yet: this holds from its first request on; did you mean support-bot?" in done.stderr
    assert "seen" not in failover("pin", "support-bot", "acme:k1").stderr


def test_status_check_is_1_while_an_alarm_stands(failover, gateway):
    assert failover("status", "--check").returncode == 0
    gateway.operations.alarms = ("no profile is usable",)
    assert failover("status", "--check").returncode == 1
    assert failover("status").returncode == 0
