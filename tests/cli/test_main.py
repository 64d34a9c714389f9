"""The entry point: help that teaches, exit statuses, and words instead of tracebacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from console.cli import main
from console.cli.identity import operator
from console.cli.steer import until_moment
from engine.domain.errors import ConfigError, StartError
from engine.domain.redaction import SINK
from tests.cli.processes import ROOT

HOUR = 3_600_000


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch):
    """A command `boom` that raises what the test says."""

    def install(error: BaseException) -> None:
        @click.command("boom")
        def boom() -> None:
            raise error

        monkeypatch.setitem(main.COMMANDS, "boom", main.Entry("console.cli.main", "boom"))
        monkeypatch.setattr(main, "boom", boom, raising=False)

    return install


def test_every_command_can_be_loaded_and_teaches():
    context = click.Context(main.cli)
    for name in main.cli.list_commands(context):
        command = main.cli.get_command(context, name)
        assert command is not None
        assert command.get_short_help_str(), name
        assert command.name == name


def test_the_help_shows_examples_and_exit_statuses(failover):
    done = failover("--help")
    assert done.returncode == 0
    for word in ("failover demo", "curl http://127.0.0.1:4141/v1/chat/completions", "Exit status: 0 done, 1 refused or failed, 2 bad use"):
        assert word in done.stdout


def test_the_version_is_data(failover):
    done = failover("--version")
    assert done.stdout.startswith("failover ")
    assert done.stderr == ""


def test_bad_use_is_status_2_with_the_way_to_help(failover):
    no_number = (("demo", "--headless", "--seconds", "nan"), ("demo", "--headless", "--speed", "nan"))
    for arguments in (("statsu",), ("pin",), ("status", "--jsn"), ("explain",), ("log", "--limit", "0"), ("order", "acme"), *no_number):
        done = failover(*arguments)
        assert done.returncode == 2, arguments
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
    assert "did you mean status?" in failover("statsu").stderr


def test_an_error_of_ours_is_three_sentences_and_its_status(broken, capsys):
    broken(StartError("The port is in use", "127.0.0.1:4141 is taken", "use --port 0"))
    assert main.run(["boom"]) == 1
    assert capsys.readouterr().err.splitlines() == ["failover: The port is in use", "  127.0.0.1:4141 is taken", "  next: use --port 0"]
    broken(ConfigError("The configuration is not valid", ("a.b: wrong", "c.d: wrong too")))
    assert main.run(["boom"]) == 2
    assert capsys.readouterr().err.splitlines()[1:] == ["  a.b: wrong", "  c.d: wrong too"]


def test_foreign_text_in_an_error_cannot_touch_the_terminal(broken, capsys):
    broken(StartError("bad\x1b[2J", "worse\x1b]52;c;aGk=\x07\nline two"))
    main.run(["boom"])
    told = capsys.readouterr().err
    assert "\x1b" not in told
    assert "\x07" not in told
    assert told.count("\n") == 3


def test_an_unexpected_error_is_one_line_and_a_file_without_secrets(broken, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("FAILOVER_STATE_DIR", str(tmp_path))
    SINK.add("sentinel-secret-0001")
    broken(RuntimeError("no way with sentinel-secret-0001"))
    assert main.run(["boom"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "failover: unexpected RuntimeError: no way with ***"
    (details,) = tmp_path.iterdir()
    assert told[1] == f"  details: {details}"
    assert details.stat().st_mode & 0o777 == 0o600
    text = details.read_text()
    assert "Traceback" in text
    assert "sentinel-secret-0001" not in text


def test_ctrl_c_is_no_traceback(broken, capsys):
    broken(KeyboardInterrupt())
    assert main.run(["boom"]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m console.cli.main --help | head -c 1", shell=True, capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stderr == ""


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="Linux only")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", [("--version",), ("--help",), ("completion", "bash"), ("classify", "--status", "429", "--json")])
def test_an_output_without_room_is_told_in_words(command, unbuffered):
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "console.cli.main", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    told = ["failover: The output cannot be written", "  standard output: No space left on device.", "  next: write it to another place"]
    assert (done.returncode, done.stderr.splitlines()) == (1, told)


def test_without_any_output_a_command_does_its_work():
    command = [sys.executable, "-m", "console.cli.main", "classify", "--status", "429", "--json"]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_their_completion(failover, shell):
    done = failover("completion", shell)
    assert "_FAILOVER_COMPLETE" in done.stdout


def test_completion_knows_the_commands(failover_process):
    done = failover_process(environ={"_FAILOVER_COMPLETE": "bash_complete", "COMP_WORDS": "failover pro", "COMP_CWORD": "1"})
    assert "probe" in done.stdout
    assert "profiles" in done.stdout


def test_who_acts_is_named_with_a_terminal_or_without():
    assert operator().endswith(")")
    assert "(" in operator()


@pytest.mark.parametrize(("text", "later"), [("30m", HOUR // 2), ("2h", 2 * HOUR), ("1d", 24 * HOUR), ("90s", 90_000)])
def test_a_pin_may_end_after_a_while(text, later):
    moment = until_moment(click.Context(main.cli), click.Option(["--until"]), text)
    assert moment is not None
    assert moment(1_000) == 1_000 + later


def test_a_pin_may_end_at_a_time_of_day_that_is_still_to_come():
    now = 1_767_603_600_000
    moment = until_moment(click.Context(main.cli), click.Option(["--until"]), "14:30")
    assert moment is not None
    assert 0 < moment(now) - now <= 24 * HOUR


@pytest.mark.parametrize("text", ["soon", "25:00", "h", "2026-13-01", "-5m", "1e9d"])
def test_a_moment_that_is_none_is_bad_use(text):
    with pytest.raises(click.BadParameter, match="write 30m"):
        until_moment(click.Context(main.cli), click.Option(["--until"]), text)
