"""`failover run` on a real pty: what the terminal is left with, and what traffic notices of a terminal that nobody reads."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from console.terminal import LEAVE
from tests.cli.processes import HELLO, ROOT, store_keys

ENTER, LEFT = b"\x1b[?1049h", b"\x1b[?1049l"


class OnTerminal:
    """A command on the slave side of a pty of 100x30."""

    def __init__(self, state: Path, *arguments: str) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.output = b""
        self.state = state
        command = [sys.executable, "-m", "console.cli.main", *arguments, "--state-dir", str(state)]
        environ = {**os.environ, "TERM": "xterm-256color"}
        self.process = subprocess.Popen(command, cwd=ROOT, env=environ, stdin=self.slave, stdout=self.slave, stderr=self.slave)

    def read_until(self, text: bytes, within_s: float = 20) -> None:
        end = time.monotonic() + within_s
        while text not in self.output:
            assert time.monotonic() < end, self.output[-500:]
            self.read(0.2)

    def read(self, for_s: float) -> None:
        if select.select([self.master], [], [], for_s)[0]:
            self.output += os.read(self.master, 65536)

    def wait(self, within_s: float = 20) -> int:
        """The exit status; reads meanwhile, as a terminal does."""
        end = time.monotonic() + within_s
        while self.process.poll() is None:
            assert time.monotonic() < end, "it does not end"
            self.read(0.1)
        while select.select([self.master], [], [], 0)[0]:
            self.output += os.read(self.master, 65536)
        return self.process.returncode

    def leave(self) -> None:
        """By key; it asks when it thinks that an answer is still under way."""
        os.write(self.master, b"q")
        end = time.monotonic() + 1
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.1)
        os.write(self.master, b"y")

    @property
    def url(self) -> str:
        return str(json.loads((self.state / "gateway.json").read_text())["address"])

    def given_back(self) -> bool:
        return termios.tcgetattr(self.slave) == self.before and self.output.rfind(LEFT) > self.output.rfind(ENTER)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


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
