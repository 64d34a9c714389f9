"""The terminal comes back: a child process draws on a real pty that a test reads, or does not read (field report M06)."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from console.terminal import LEAVE

ROOT = Path(__file__).resolve().parent.parent.parent

SCREEN = """
import os, sys, termios, threading, tty
from console.terminal import SavedTerminal, StopSignals, guarded

how = sys.argv[1]
saved = SavedTerminal()
drained = []
ended = threading.Event()
with StopSignals() as stops:
    with guarded(lambda: drained.append(1), ended.set, stops, saved):
        tty.setraw(0)
        sys.stderr.write("\\x1b[?1049h\\x1b[?25lREADY")
        sys.stderr.flush()
        if how == "stuck":
            while True:
                os.write(2, b"x" * 65536)
        elif how == "crash":
            raise RuntimeError("broken")
        elif how == "polite":
            ended.wait()
            saved.restore()
            sys.exit(0 if drained else 9)
"""


class Child:
    """The script on the slave side of a pty. status: of the process, None while it runs."""

    def __init__(self, how: str) -> None:
        self.master, slave = pty.openpty()
        self.slave = slave
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen([sys.executable, "-c", SCREEN, how], stdin=slave, stdout=slave, stderr=slave, cwd=ROOT)

    def read_until(self, text: bytes) -> bytes:
        found = b""
        while text not in found:
            ready, _, _ = select.select([self.master], [], [], 10)
            assert ready, found
            found += os.read(self.master, 65536)
        return found

    def rest(self) -> bytes:
        found = b""
        while select.select([self.master], [], [], 0)[0]:
            found += os.read(self.master, 65536)
        return found

    def hang_up(self) -> None:
        """The terminal's window is closed."""
        os.close(self.master)
        self.master = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.master >= 0:
            os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def child(request):
    found = Child(request.param)
    try:
        yield found
    finally:
        found.close()


@pytest.mark.parametrize("child", ["stuck"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_signal_ends_a_screen_that_nobody_reads_and_gives_the_terminal_back(child, number):
    child.read_until(b"READY")
    begun = time.monotonic()
    child.process.send_signal(number)
    assert child.process.wait(10) == 0
    assert time.monotonic() - begun < 6
    assert termios.tcgetattr(child.slave) == child.before
    assert child.rest().endswith(LEAVE.encode())


@pytest.mark.parametrize("child", ["polite"], indirect=True)
def test_a_screen_that_leaves_when_asked_is_waited_for_and_the_gateway_has_drained(child):
    child.read_until(b"READY")
    child.process.send_signal(signal.SIGTERM)
    assert child.process.wait(10) == 0


@pytest.mark.parametrize("child", ["polite"], indirect=True)
def test_a_terminal_that_is_gone_ends_the_screen_also_where_nobody_gets_a_signal_of_it(child):
    """The child leads no session, so that the system sends it none."""
    child.read_until(b"READY")
    child.hang_up()
    assert child.process.wait(10) == 0


@pytest.mark.parametrize("child", ["crash"], indirect=True)
def test_a_crash_of_the_screen_gives_the_terminal_back(child):
    assert LEAVE.encode() in child.read_until(b"RuntimeError: broken")
    assert child.process.wait(10) == 1
    assert termios.tcgetattr(child.slave) == child.before


def test_without_a_terminal_nothing_happens():
    code = "from console.terminal import SavedTerminal; SavedTerminal().restore(); print('fine')"
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=ROOT, check=True, start_new_session=True
    )
    assert (done.stdout, done.stderr) == ("fine\n", "")
