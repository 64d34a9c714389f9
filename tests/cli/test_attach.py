"""`failover attach` on a real pseudo-terminal while the gateway behind it is killed, hangs and comes back."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.forwarding import Forwarding
from tests.cli.on_terminal import ENTER, OnTerminal
from tests.cli.processes import Serving, eventually, serving, store_keys


@pytest.fixture
def gateway(state, config_file) -> Iterator[Serving]:
    store_keys(state)
    with serving(state, "--config", str(config_file)) as found:
        yield found


@contextmanager
def shown(state: Path, *arguments: str) -> Iterator[OnTerminal]:
    found = OnTerminal(state, "attach", *arguments)
    try:
        found.read_until(ENTER)
        found.read_until(b"LIVE")
        yield found
    finally:
        found.close()


@pytest.fixture
def attached(gateway, state) -> Iterator[OnTerminal]:
    with shown(state) as found:
        yield found


def acts_done(state: Path) -> int:
    with sqlite3.connect(state / "failover.sqlite") as database:
        found: tuple[int] = database.execute("SELECT count(*) FROM audit").fetchone()
    return found[0]


@pytest.mark.parametrize("same_port", [True, False])
def test_a_killed_gateway_is_said_within_ten_seconds_and_the_next_one_is_found_wherever_it_listens(
    attached, gateway, state, config_file, same_port
):
    assert gateway.ask("before").status_code == 200
    attached.read_until(b"before")
    gateway.end(signal.SIGKILL)
    attached.output = b""
    attached.read_until(b"ENGINE DOWN", within_s=10)
    port = ("--port", gateway.url.rpartition(":")[2]) if same_port else ()
    with serving(state, "--config", str(config_file), *port) as second:
        assert (second.url == gateway.url) is same_port
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
    assert acts_done(state) == 0


def test_a_gateway_that_hangs_is_said_within_ten_seconds_and_makes_up_for_nothing_when_it_goes_on(attached, gateway, state):
    assert gateway.ask("held").status_code == 200
    attached.read_until(b"pinned (auto)")
    os.kill(gateway.process.pid, signal.SIGSTOP)
    try:
        attached.output = b""
        # Sent before anybody can know that it hangs.
        os.write(attached.master, b"P")
        attached.read_until(b"STALE", within_s=10)
        attached.read_until(b"may have been done")
        attached.read_until(b"ENGINE DOWN")
        os.write(attached.master, b"r")
        attached.read_until(b"nothing can be sent")
    finally:
        os.kill(gateway.process.pid, signal.SIGCONT)
    attached.output = b""
    attached.read_until(b"LIVE")
    assert gateway.ask("afterwards").status_code == 200
    attached.read_until(b"afterwards")
    assert acts_done(state) == 0


def test_a_connection_that_is_dead_without_a_word_is_noticed_and_opened_again(gateway, state, tmp_path):
    """A proxy, a NAT or a network that forgot it: nothing arrives any more, and no end of it either."""
    token = tmp_path / "token"
    token.write_bytes((state / "operator.token").read_bytes())
    with Forwarding(gateway.url) as between, shown(tmp_path / "elsewhere", between.url, "--token-file", str(token)) as attached:
        assert gateway.ask("before").status_code == 200
        attached.read_until(b"before")
        between.go_down()
        attached.output = b""
        attached.read_until(b"STALE", within_s=10)
        attached.read_until(b"ENGINE DOWN")
        between.come_back()
        attached.output = b""
        attached.read_until(b"LIVE")
        assert gateway.ask("afterwards").status_code == 200
        attached.read_until(b"afterwards")


def test_what_a_gateway_no_longer_refuses_the_screen_no_longer_refuses(state, config_file):
    store_keys(state)
    with serving(state, "--config", str(config_file), "--read-only") as first, shown(state) as attached:
        assert first.ask().status_code == 200
        attached.read_until(b"READ-ONLY")
        first.end()
        attached.read_until(b"ENGINE DOWN")
        with serving(state, "--config", str(config_file)):
            attached.output = b""
            attached.read_until(b"LIVE")
            os.write(attached.master, b"u")
            attached.read_until(b"there is no act to undo")


def test_a_lost_terminal_ends_the_screen_and_not_the_gateway(attached, gateway):
    attached.process.send_signal(signal.SIGHUP)
    assert attached.wait() == 0
    assert attached.given_back()
    assert gateway.ask().status_code == 200


def test_a_terminal_that_is_gone_without_a_signal_ends_the_screen_and_not_the_gateway(attached, gateway):
    attached.hang_up()
    assert attached.process.wait(15) == 0
    assert gateway.ask().status_code == 200


def test_a_terminal_that_is_not_read_for_a_while_shows_the_newest_when_it_is_and_stops_no_traffic_meanwhile(attached, gateway):
    end = time.monotonic() + 6
    number = 0
    while time.monotonic() < end:
        number += 1
        assert gateway.ask(f"unread-{number}").status_code == 200
    assert gateway.ask("the-newest").status_code == 200
    attached.output = b""
    attached.read_until(b"the-newest")


def test_a_screen_that_was_stopped_for_a_while_is_live_again_at_once(attached, gateway):
    attached.process.send_signal(signal.SIGSTOP)
    assert gateway.ask("meanwhile").status_code == 200
    began = time.monotonic()
    assert eventually(lambda: time.monotonic() - began > 6)
    attached.output = b""
    attached.process.send_signal(signal.SIGCONT)
    attached.read_until(b"meanwhile", within_s=10)
