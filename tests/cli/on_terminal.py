"""A command on a real pseudo-terminal, for tests of what a person at it would see."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from tests.cli.processes import ROOT

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

    def hang_up(self) -> None:
        """The window is closed, or the ssh behind it is gone."""
        os.close(self.master)
        self.master = -1

    def given_back(self) -> bool:
        return termios.tcgetattr(self.slave) == self.before and self.output.rfind(LEFT) > self.output.rfind(ENTER)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.master >= 0:
            os.close(self.master)
        os.close(self.slave)
