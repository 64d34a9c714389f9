"""`failover serve` and the commands around it, as processes, with the demo's providers behind it on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from engine.simulation.demo.cast import KEYS
from engine.simulation.demo.script import Behaviour
from tests.cli.processes import HELLO, ROOT, eventually, serving, store_keys


def test_it_says_where_it_listens_serves_and_drains_with_status_0(failover, state, config_file):
    store_keys(state)
    with serving(state, "--config", str(config_file)) as gateway:
        answer = gateway.ask()
        assert answer.status_code == 200, answer.text
        assert answer.headers["x-failover-served"] == "anthropic/claude-opus-4-8"
        status = failover("status", "--json")
        assert (json.loads(status.stdout)["running"], json.loads(status.stdout)["url"]) == (True, gateway.url), status.stderr
        assert "main" in failover("sessions").stdout
        assert failover("doctor", "--config", str(config_file)).returncode == 0
        status, errors = gateway.end()
        assert (status, errors) == (0, "")
    assert "no gateway is running" in failover("status", "--config", str(config_file)).stderr
    assert not (state / "gateway.json").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_signal_ends_it_although_a_watcher_listens(failover, state, config_file, number):
    store_keys(state)
    with serving(state, "--config", str(config_file)) as gateway:
        command = [sys.executable, "-m", "console.cli.main", "watch", "--json", "--once", "--after", "0", "--state-dir", str(state)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as watcher:
            gateway.ask()
            assert watcher.stdout is not None
            assert json.loads(watcher.stdout.readline())["event"]
            assert gateway.end(number)[0] == 0
            assert watcher.wait(15) == 0


@pytest.mark.parametrize("signals", [1, 2])
def test_a_stop_signal_lets_an_answer_end_and_a_second_one_does_not(state, config_file, signals):
    store_keys(state)
    with serving(state, "--config", str(config_file)) as gateway:
        body = {**HELLO, "stream": True}
        url = f"{gateway.url}/v1/chat/completions"
        with httpx.stream("POST", url, json=body, trust_env=False, timeout=20) as answer:
            lines = answer.iter_lines()
            assert next(lines).startswith("data: ")
            for _ in range(signals):
                gateway.process.send_signal(signal.SIGTERM)
                # Two at once are one.
                eventually(lambda: refused(url))
            with contextlib.suppress(httpx.RemoteProtocolError):
                rest = [line for line in lines if line]
                assert (rest[-1] == "data: [DONE]") is (signals == 1)
        assert gateway.process.wait(10) == 0


def refused(url: str) -> bool:
    try:
        return httpx.post(url, json=HELLO, trust_env=False, timeout=20).status_code == 503
    except httpx.HTTPError:
        return True


def test_ctrl_z_stops_a_gateway_and_says_what_that_means_and_that_it_goes_on(state, config_file):
    store_keys(state)
    with serving(state, "--config", str(config_file)) as gateway:
        gateway.process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(gateway.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        gateway.process.send_signal(signal.SIGCONT)
        assert gateway.ask().status_code == 200
        ended, errors = gateway.end()
    assert ended == 0
    assert "serve: stopped; requests wait until it goes on" in errors
    assert "serve: goes on after 0 s" in errors


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_token_that_cannot_be_read_refuses_the_start(failover_process, config_file, host):
    config = json.loads(config_file.read_text())
    config_file.write_text(json.dumps({**config, "gateway": {"token": "env:NOT_SET_ANYWHERE", "host": host}}))
    done = failover_process("serve", "--config", str(config_file), "--port", "0")
    assert (done.returncode, done.stdout) == (1, "")
    assert "token cannot be read" in done.stderr
    assert "next:" in done.stderr


def test_acts_steer_what_the_next_request_does(failover, state, config_file):
    store_keys(state)
    with serving(state, "--config", str(config_file)) as gateway:
        gateway.ask()
        assert failover("pin", "main", "anthropic:backup").returncode == 0
        assert "anthropic:backup" in failover("explain", "main").stdout
        assert failover("model", "main", "google/gemini-3-pro").returncode == 0
        assert gateway.ask().headers["x-failover-served"] == "google/gemini-3-pro"
        assert failover("model", "main", "default").returncode == 0
        refused = failover("pin", "main", "nobody:k1")
        assert (refused.returncode, refused.stdout) == (1, "")
        assert failover("reset", "main", "--json").returncode == 0
        events = failover("log", "--json").stdout.splitlines()
        assert {json.loads(line)["decision"] for line in events} >= {"candidate_succeeded", "turn_finished"}


def test_a_fallback_is_explained_and_a_probe_brings_the_session_back(failover, state, config_file, world):
    store_keys(state)
    with serving(state, "--config", str(config_file)) as gateway:
        world.begin("http://127.0.0.1:1")
        answer = gateway.ask("bot")
        assert answer.headers["x-failover-served"] == "openai/gpt-5.5"
        told = json.loads(failover("explain", "bot", "--json").stdout)
        assert (told["session"]["on_fallback"], told["preview"]["next_ref"]) == (True, "openai/gpt-5.5")
        assert "cooldown" in failover("status").stdout
        failed = failover("probe", "bot", "--json")
        assert (failed.returncode, json.loads(failed.stdout)["outcome"]) == (1, "upstream_failed")
        world.director.set("anthropic", Behaviour.OK)
        assert failover("probe", "bot").returncode == 0
        assert gateway.ask("bot").headers["x-failover-served"] == "anthropic/claude-opus-4-8"


def test_no_web_page_reaches_the_operator_api(state, config_file):
    with serving(state, "--config", str(config_file)) as gateway:
        token = (state / "operator.token").read_text().strip()
        auth = {"authorization": f"Bearer {token}"}
        for name in ("instance", "snapshot"):
            for foreign in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
                answer = httpx.get(f"{gateway.url}/operator/{name}", headers={**auth, **foreign}, trust_env=False)
                assert answer.status_code == 403, (name, foreign)
        assert httpx.get(f"{gateway.url}/operator/snapshot", headers=auth, trust_env=False).status_code == 200


def test_sighup_reads_the_configuration_again_and_a_bad_one_changes_nothing(failover, state, config_file):
    store_keys(state)
    with serving(state, "--config", str(config_file)) as gateway:
        good = config_file.read_text()
        config_file.write_text(good.replace('"fallbacks": ["openai/gpt-5.5", "google/gemini-3-pro"]', '"fallbacks": []'))
        gateway.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: json.loads(failover("status", "--json").stdout)["config_generation"] == 2)
        config_file.write_text("{agents: 5}")
        done = failover("reload")
        assert done.returncode == 1
        assert "agents" in done.stderr
        assert gateway.ask().status_code == 200


def test_a_key_that_is_added_while_it_runs_is_used(failover, state, config_file):
    with serving(state, "--config", str(config_file)) as gateway:
        assert gateway.ask().status_code == 502
        store_keys(state, "anthropic:me")
        assert eventually(lambda: gateway.ask().status_code == 200)


def test_read_only_refuses_acts_in_the_engine(failover, state, config_file):
    with serving(state, "--config", str(config_file), "--read-only"):
        done = failover("off", "anthropic")
        assert (done.returncode, done.stdout) == (1, "")
        assert "read-only" in done.stderr


def test_a_port_in_use_is_an_error_with_the_next_step(failover, config_file):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = failover("serve", "--config", str(config_file), "--port", str(taken.getsockname()[1]))
    assert (done.returncode, done.stdout) == (1, "")
    assert "in use" in done.stderr
    assert "gateway.port" in done.stderr


def test_a_second_gateway_on_the_directory_is_refused_and_told_of_the_first(failover, state, config_file):
    with serving(state, "--config", str(config_file)) as gateway:
        done = failover("serve", "--config", str(config_file), "--port", "0")
        assert (done.returncode, done.stdout) == (1, "")
        assert gateway.url in done.stderr


def test_a_configuration_with_mistakes_is_status_2_and_names_the_path(failover, tmp_path):
    bad = tmp_path / "bad.json5"
    bad.write_text('{agents: {defaults: {model: {primary: "gpt"}}}}')
    done = failover("serve", "--config", str(bad))
    assert done.returncode == 2
    assert "agents.defaults.model.primary" in done.stderr
    assert failover("serve").returncode == 2
    assert "failover init" in failover("status").stderr


def test_a_directory_that_cannot_be_written_is_status_1(failover, config_file, tmp_path):
    (tmp_path / "file").write_text("")
    done = failover("serve", "--config", str(config_file), "--port", "0", "--state-dir", str(tmp_path / "file"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr


def test_with_no_gateway_running_acts_and_views_work_on_the_state_itself(failover, state, config_file):
    store_keys(state)
    options = ("--config", str(config_file))
    done = failover("model", "main", "google/gemini-3-pro", *options)
    assert done.returncode == 0, done.stderr
    told = json.loads(failover("sessions", "--json", *options).stdout)
    assert (told[0]["key"], told[0]["source"], told[0]["active"]) == ("main", "user", "google/gemini-3-pro")
    assert failover("off", "openai", *options).returncode == 0
    assert "off" in failover("status", *options).stdout


def test_a_killed_gateway_leaves_state_that_the_next_one_takes_up(failover, state, config_file, world):
    store_keys(state)
    with serving(state, "--config", str(config_file)) as gateway:
        world.begin("http://127.0.0.1:1")
        assert gateway.ask("bot").headers["x-failover-served"] == "openai/gpt-5.5"
        gateway.process.kill()
        gateway.process.wait()
    with serving(state, "--config", str(config_file)) as gateway:
        told = json.loads(failover("sessions", "--json").stdout)
        assert [(view["key"], view["active"]) for view in told if view["key"] == "bot"] == [("bot", "openai/gpt-5.5")]
        assert failover("doctor", "--config", str(config_file)).returncode == 0
        again = gateway.ask("bot")
        assert again.headers["x-failover-served"] == "openai/gpt-5.5"


def test_no_output_of_any_command_holds_a_key(failover_process, state, config_file):
    store_keys(state)
    with serving(state, "--config", str(config_file)) as gateway:
        gateway.ask()
        commands = (
            ("status", "--json"),
            ("explain", "main", "--json"),
            ("log", "--json"),
            ("doctor", "--json", "--config", str(config_file)),
        )
        for command in commands:
            done = failover_process(*command)
            assert done.returncode == 0, done.stderr
            assert not any(key in done.stdout + done.stderr for key in KEYS.values()), command


def test_keys_come_from_standard_input_or_by_reference_and_never_twice(failover, state):
    assert failover("profiles", "add", "acme:k1", input="key-number-1\n").returncode == 0
    twice = failover("profiles", "add", "acme:k1", input="key-number-2\n")
    assert twice.returncode == 1
    assert "--replace" in twice.stderr
    assert failover("profiles", "add", "acme:k1", "--replace", input="key-number-2\n").returncode == 0
    assert failover("profiles", "add", "acme:k2", "--key-ref", "env:ACME").returncode == 0
    assert failover("profiles", "add", "acme:k3", "--key-ref", "key-number-3").returncode == 2
    for bad in ("", "two words\n", "two\nlines\n", "über-key\n"):
        assert failover("profiles", "add", "acme:k4", input=bad).returncode == 2
    told = failover("profiles", "list", "--json")
    assert [row["profile"] for row in json.loads(told.stdout)] == ["acme:k1", "acme:k2"]
    assert failover("profiles", "remove", "acme:k1").returncode == 0
    assert failover("profiles", "remove", "acme:k1").returncode == 1
    assert "key-number" not in told.stdout + told.stderr
    assert oct(state.stat().st_mode & 0o777) == "0o700"


def test_a_key_in_the_place_of_a_profile_is_refused_without_being_repeated(failover):
    done = failover("profiles", "add", "sk-ant-1234567890abcdef1234", input="x\n")
    assert done.returncode == 2
    assert "1234567890" not in done.stdout + done.stderr


def test_doctor_names_what_is_wrong_and_what_to_do(failover, state, config_file, tmp_path):
    options = ("--config", str(config_file))
    store_keys(state, "anthropic:me")
    well = failover("doctor", *options)
    assert (well.returncode, well.stdout.splitlines()[-1]) == (0, "well")
    assert "openai has no credential" in well.stdout
    (state / "operator.token").write_text("x")
    (state / "operator.token").chmod(0o644)
    told = json.loads(failover("doctor", "--json", *options).stdout)
    assert [finding["advice"] for finding in told["findings"] if finding["what"] == "permissions"] == [f"chmod 600 {state}/operator.token"]
    bad = tmp_path / "bad.json5"
    bad.write_text("{agents: 5}")
    ill = failover("doctor", "--json", "--config", str(bad))
    assert (ill.returncode, json.loads(ill.stdout)["ok"]) == (1, False)


def test_state_that_had_to_be_moved_aside_is_told_at_once_by_whoever_found_it(failover, state, config_file):
    store_keys(state)
    for find in ("serve", "status"):
        (state / "failover.sqlite").write_bytes(b"no database" * 1000)
        if find == "serve":
            with serving(state, "--config", str(config_file)) as gateway:
                status, said = gateway.end()
        else:
            done = failover("status", "--config", str(config_file))
            status, said = done.returncode, done.stderr
        assert status == 0, said
        assert f"{state / 'failover.sqlite'} could not be read" in said
        assert "failover.sqlite.unreadable-" in said


def test_it_takes_as_many_open_files_as_it_may_and_tells_a_lack_of_them_once(state, config_file):
    store_keys(state)
    command = [sys.executable, "-m", "console.cli.main", "serve", "--port", "0", "--config", str(config_file), "--state-dir", str(state)]
    for hard in (200, 60):
        limits = f"ulimit -Sn 60; ulimit -Hn {hard}; exec {shlex.join(command)}"
        with subprocess.Popen(["sh", "-c", limits], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as gateway:
            assert gateway.stdout is not None
            assert gateway.stderr is not None
            port = int(gateway.stdout.readline().rpartition(":")[2])
            callers = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(80)]
            # Only a gateway that may not have enough says so, and once; there the last callers are never accepted.
            told = gateway.stderr.readline() if hard == 60 else ""
            for caller in callers:
                caller.close()
            assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=20).status_code == 200
            gateway.terminate()
            told += gateway.communicate(timeout=20)[1]
        assert gateway.returncode == 0
        assert told.count("new connections wait") == (1 if hard == 60 else 0)
        assert "Traceback" not in told
