"""`failover run` on a real pty: what the terminal is left with, and what traffic notices of a terminal that nobody reads."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from console.terminal import LEAVE
from tests.cli.on_terminal import ENTER, OnTerminal
from tests.cli.processes import HELLO, store_keys


@pytest.fixture
def screen(state, config_file) -> Iterator[OnTerminal]:
    store_keys(state)
    found = OnTerminal(state, "run", "--config", str(config_file), "--port", "0")
    try:
        found.read_until(ENTER)
        found.read_until(b"LIVE")
        yield found
    finally:
        found.close()


def ask(url: str) -> int:
    return httpx.post(
        f"{url}/v1/chat/completions", json=HELLO, headers={"x-failover-session": "main"}, trust_env=False, timeout=20
    ).status_code


def test_q_ends_screen_and_gateway_and_gives_the_terminal_back(screen):
    assert ask(screen.url) == 200
    url = screen.url
    screen.leave()
    assert screen.wait() == 0
    assert screen.given_back()
    with pytest.raises(httpx.ConnectError):
        ask(url)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_stop_signal_ends_it_and_gives_the_terminal_back(screen, number):
    screen.process.send_signal(number)
    assert screen.wait() == 0
    assert screen.given_back()
    assert b"Traceback" not in screen.output


def test_a_stop_from_outside_stops_no_gateway_that_has_a_screen(screen):
    screen.process.send_signal(signal.SIGTSTP)
    assert ask(screen.url) == 200
    screen.leave()
    assert screen.wait() == 0


def test_a_terminal_that_nobody_reads_stops_neither_traffic_nor_the_end(screen):
    # From here on nobody reads. Requests make the screen paint until its writes block, and go on after that.
    end = time.monotonic() + 8
    while time.monotonic() < end:
        assert ask(screen.url) == 200
    begun = time.monotonic()
    screen.process.send_signal(signal.SIGTERM)
    assert screen.process.wait(15) == 0
    assert time.monotonic() - begun < 8
    screen.wait()
    assert screen.given_back()
    assert not (screen.state / "gateway.json").exists()


def test_a_port_in_use_is_said_before_any_screen_is_drawn(state, config_file):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        found = OnTerminal(state, "run", "--config", str(config_file), "--port", str(taken.getsockname()[1]))
        try:
            assert found.wait() == 1
            assert b"is in use" in found.output
            assert ENTER not in found.output
        finally:
            found.close()


def test_attach_shows_a_running_gateway_and_leaves_it_running(screen, state):
    second = OnTerminal(state, "attach")
    try:
        second.read_until(b"LIVE")
        second.leave()
        assert second.wait() == 0
        assert second.given_back()
    finally:
        second.close()
    assert ask(screen.url) == 200


def test_without_a_terminal_the_way_without_one_is_named(failover, config_file):
    done = failover("run", "--config", str(config_file))
    assert done.returncode == 2
    assert "failover serve" in done.stderr
    assert failover("attach").returncode == 2
    assert LEAVE not in done.stdout
