"""The console in a real pseudo-terminal: which bytes it sends, and that it leaves the terminal as it found it."""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLAIN_SGR = {*range(5), 7, *range(22, 30), 39, 49}


def play(keys: bytes, *flags: str, env: dict[str, str] | None = None, settle_s: float = 2.5) -> tuple[bytes, int, bool]:
    """Output, exit status, and whether the terminal's settings are as before."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    before = termios.tcgetattr(slave)
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.console.drive", *flags],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=ROOT,
        env=environment,
        start_new_session=True,
    )
    output = bytearray()

    def read_for(seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready, _, _ = select.select([master], [], [], 0.1)
            if ready:
                output.extend(os.read(master, 65_536))
            if process.poll() is not None and not ready:
                return

    try:
        deadline = time.monotonic() + 20
        while b"support-bot" not in output and time.monotonic() < deadline:
            read_for(0.2)
        for key in re.findall(rb"\x1b\[[A-Z]|.", keys, re.DOTALL):
            os.write(master, key)
            read_for(settle_s / 5)
        read_for(settle_s)
        restored = termios.tcgetattr(slave) == before
        return bytes(output), process.wait(timeout=10), restored
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(master)
        os.close(slave)


def sgr_codes(output: bytes) -> set[int]:
    return {int(code or 0) for group in re.findall(rb"\x1b\[([0-9;]*)m", output) for code in group.split(b";")}


def test_no_color_sends_no_colour_and_quitting_restores_the_terminal():
    """Field report M08."""
    output, status, restored = play(b"2jj3z?qrnQ", env={"NO_COLOR": "1"}, settle_s=1.0)
    assert status == 0
    assert restored
    assert b"\x1b[?1049l" in output
    assert b"support-bot" in output
    assert sgr_codes(output) <= PLAIN_SGR


def test_the_ascii_set_sends_seven_bits():
    output, status, _ = play(b"2j3zz?qQ", "--ascii", settle_s=1.0)
    assert status == 0
    assert output.isascii(), re.findall(rb"[\x80-\xff]+", output)[:5]


def test_nothing_clears_the_screen_after_the_start():
    """Field report M09."""
    output, _, _ = play(b"jjjj23Q", settle_s=1.5)
    assert output.count(b"\x1b[2J") <= 1
