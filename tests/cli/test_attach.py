"""`failover attach` on a real pseudo-terminal while the gateway behind it is killed, hangs and comes back."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Iterator

import pytest

from tests.cli.on_terminal import ENTER, OnTerminal
from tests.cli.processes import Serving, eventually, serving, store_keys


@pytest.fixture
def gateway(state, config_file) -> Iterator[Serving]:
    store_keys(state)
    with serving(state, "--config", str(config_file)) as found:
        yield found


@pytest.fixture
def attached(gateway, state) -> Iterator[OnTerminal]:
    found = OnTerminal(state, "attach")
    try:
        found.read_until(ENTER)
        found.read_until(b"LIVE")
        yield found
    finally:
        found.close()


def test_a_killed_gateway_is_said_within_ten_seconds_and_the_next_one_is_found_wherever_it_listens(attached, gateway, state, config_file):
    assert gateway.ask("before").status_code == 200
    attached.read_until(b"before")
    gateway.end(signal.SIGKILL)
    attached.output = b""
    attached.read_until(b"ENGINE DOWN", within_s=10)
    with serving(state, "--config", str(config_file)) as second:
        assert second.url != gateway.url
        attached.output = b""
        attached.read_until(b"LIVE", within_s=15)
        assert second.ask("afterwards").status_code == 200
        attached.read_until(b"afterwards")
        attached.leave()
        assert attached.wait() == 0
        assert attached.given_back()
        assert second.ask("afterwards").status_code == 200


def test_an_act_while_the_gateway_is_away_is_refused_with_a_word_and_never_made_up_for(attached, gateway, state, config_file):
    assert gateway.ask("held").status_code == 200
    attached.read_until(b"held")
    gateway.end(signal.SIGKILL)
    attached.read_until(b"ENGINE DOWN", within_s=10)
    attached.output = b""
    os.write(attached.master, b"r")
    attached.read_until(b"nothing can be sent")
    os.write(attached.master, b"y")
    with serving(state, "--config", str(config_file)):
        attached.output = b""
        attached.read_until(b"LIVE", within_s=15)
    with sqlite3.connect(state / "failover.sqlite") as database:
        assert database.execute("SELECT count(*) FROM audit").fetchone() == (0,)


def test_a_gateway_that_hangs_is_said_within_ten_seconds_and_goes_on_when_it_does(attached, gateway):
    os.kill(gateway.process.pid, signal.SIGSTOP)
    try:
        attached.output = b""
        attached.read_until(b"STALE", within_s=10)
    finally:
        os.kill(gateway.process.pid, signal.SIGCONT)
    attached.output = b""
    attached.read_until(b"LIVE", within_s=20)


def test_a_lost_terminal_ends_the_screen_and_not_the_gateway(attached, gateway):
    attached.process.send_signal(signal.SIGHUP)
    assert attached.wait() == 0
    assert gateway.ask().status_code == 200


def test_a_screen_that_was_stopped_for_a_while_is_live_again_at_once(attached, gateway):
    attached.process.send_signal(signal.SIGSTOP)
    assert gateway.ask("meanwhile").status_code == 200
    began = time.monotonic()
    assert eventually(lambda: time.monotonic() - began > 6)
    attached.output = b""
    attached.process.send_signal(signal.SIGCONT)
    attached.read_until(b"meanwhile", within_s=10)
