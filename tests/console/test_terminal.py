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


def play(
    keys: bytes, *flags: str, env: dict[str, str] | None = None, settle_s: float = 2.5, at_once: bool = False
) -> tuple[bytes, int, bool]:
    """Output, exit status, and whether the terminal's settings are as before. at_once: the bytes come as fast as they are taken."""
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
        while at_once and keys:
            readable, writable, _ = select.select([master], [master], [], 5)
            if readable:
                output.extend(os.read(master, 65_536))
            if writable:
                keys = keys[os.write(master, keys[:1024]) :]
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


NOISE = (
    b"\x1b[M \xff\x80"  # the mouse beyond column 95, in the old dialect
    b"\xff\xfe\xc0\x80"
    b"\x1b[I\x1b[O\x1b[I"  # focus
    b"\x1b]52;c;UHJE\x07\x1b]11;rgb:1111/2222/3333\x1b\\\x1bPr>|P\x1b\\\x1b[?1;2c\x1b[<0;200;\x1b[<64;300;200M"
)


def test_no_byte_that_a_terminal_sends_ends_it_or_acts():
    """Field report M06."""
    output, status, restored = play(NOISE + b"Q", settle_s=1.5, at_once=True)
    assert status == 0
    assert restored
    assert b"support-bot" in output
    assert b"done" not in output
    assert b"Traceback" not in output


def test_a_pasted_megabyte_with_codes_in_it_acts_on_nothing_and_keys_work_after_it():
    paste = b"\x1b[200~" + b"PCDdry\x1b[31m\r\x1b[Aq" * 60_000 + b"\x1b[201~"
    output, status, restored = play(paste + b"Q", settle_s=2.0, at_once=True)
    assert status == 0
    assert restored
    assert b"done" not in output
    assert b"Quit?" not in output


def test_without_the_mouse_the_terminal_is_never_asked_for_it():
    output, status, _ = play(b"jjQ", "--no-mouse", settle_s=1.0)
    assert status == 0
    assert re.findall(rb"\x1b\[\?(?:9|100[0-35-6]|1015|1016)h", output) == []
