"""Gives the terminal back, also when nobody reads it: every exit of the screen leaves the modes that it found (field report M06).
The screen's own library does this on an ordinary exit; here is the rest: signals, crashes, a stalled ssh. No widgets and no engine."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import termios
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

LEAVE = (
    "\x1b[?2026l"  # end of a synchronised update
    "\x1b[<u"  # keyboard protocol
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l"  # mouse, in every dialect
    "\x1b[?1004l\x1b[?2004l\x1b[?2048l"  # focus, bracketed paste, resize reports
    "\x1b[?1049l"  # the alternate screen
    "\x1b[?7h\x1b[?25h\x1b[0m"  # line wrap, cursor, colours
)

APP_MAY_TAKE_S = 2.0
"""How long the screen may take to leave by itself once the gateway has drained."""

GIVE_UP_S = 0.05

STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def never_suspend() -> None:
    """`kill -TSTP` does nothing to this process from now on: for one whose gateway would stop with its screen. Before any thread is made:
    threads inherit it. Blocked, not ignored, because the screen's library puts a handler of its own in place."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})


class SavedTerminal:
    """The terminal as it is at construction; without one, everything here does nothing."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._attributes: list[Any] | None = None
        # Standard error too: the screen draws on it, and standard input may come from elsewhere.
        for stream in (0, 2, 1):
            with contextlib.suppress(OSError, termios.error):
                self._attributes = termios.tcgetattr(stream)
                self._path = os.ttyname(stream)
                return

    def restore(self) -> None:
        """Modes and screen as they were. Never blocks, never raises: what the terminal has not read yet is thrown away."""
        if self._path is None or self._attributes is None:
            return
        # From the background, changing a terminal stops the process unless this signal is blocked.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        with contextlib.suppress(OSError, termios.error):
            # A descriptor of our own: O_NONBLOCK on an inherited one would change it for the shell as well.
            terminal = os.open(self._path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            try:
                with contextlib.suppress(OSError, termios.error):
                    termios.tcsetattr(terminal, termios.TCSANOW, self._attributes)
                    termios.tcflow(terminal, termios.TCOON)
                    termios.tcflush(terminal, termios.TCOFLUSH)
                os.write(terminal, LEAVE.encode())
            finally:
                os.close(terminal)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def take_back(self) -> None:
        """`restore` from a thread while others may be in the middle of a write to the terminal; the process ends right after it.
        From here on what they write goes nowhere."""
        with contextlib.suppress(OSError):
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (1, 2):
                if os.isatty(stream):
                    os.dup2(nowhere, stream)
        # A write that waits for room holds on to the old descriptor; a signal with a handler makes it give up.
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and thread.ident is not None:
                with contextlib.suppress(OSError):
                    signal.pthread_kill(thread.ident, signal.SIGTERM)
        time.sleep(GIVE_UP_S)
        self.restore()


class StopSignals:
    """SIGTERM, SIGINT and SIGHUP as two events: asked to stop, and asked again. For the main thread, around everything that draws.
    A terminal that is gone asks as well, once: only the leader of its session gets a signal of it, and the screen's library reads
    the end of its input for ever.

    A handler of the event loop is not heard while the loop is stuck in a write to the terminal, and one of `signal.signal` only if the
    signal interrupts that write, not if it comes just before it. What C writes to the wake-up descriptor, a thread of ours hears always.
    """

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.again = threading.Event()
        self._former: dict[signal.Signals, Any] = {}
        self._hears, self._wakes = socket.socketpair()
        self._former_wakeup = -1

    def __enter__(self) -> StopSignals:
        self._wakes.setblocking(False)
        threading.Thread(target=self._listen, name="signals", daemon=True).start()
        self._former_wakeup = signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        for number in STOPS:
            # Only a handler in Python makes C write to the descriptor; should somebody take the descriptor, it is heard here.
            self._former[number] = signal.signal(number, lambda number, frame: self.asked.set())
        return self

    def __exit__(self, *_: object) -> None:
        for number, former in self._former.items():
            signal.signal(number, former)
        signal.set_wakeup_fd(self._former_wakeup)
        self._wakes.close()

    def _listen(self) -> None:
        heard = False
        ready = select.poll()
        terminal = next((stream for stream in (0, 2, 1) if os.isatty(stream)), None)
        with self._hears:
            ready.register(self._hears, select.POLLIN)
            if terminal is not None:
                # Nothing is read from it: that it is gone is told unasked.
                ready.register(terminal, 0)
            while True:
                told = dict(ready.poll())
                if terminal in told:
                    ready.unregister(terminal)
                    if told[terminal] & select.POLLHUP:
                        self.asked.set()
                if self._hears.fileno() not in told:
                    continue
                numbers = self._hears.recv(64)
                if not numbers:
                    return
                for number in numbers:
                    if number in STOPS:
                        (self.again if heard else self.asked).set()
                        heard = True


@contextlib.contextmanager
def guarded(stop: Callable[[], None], leave: Callable[[], None], stops: StopSignals, saved: SavedTerminal) -> Iterator[None]:
    """Around the screen, in the main thread. When a stop signal comes: `stop()` (drains the gateway; returns when that is done), then
    `leave()` (asks the screen to end), and if it has not ended after 2 s, the terminal is restored and the process ends with status 0.
    A second signal skips what is still running. Both callables are called from another thread. An exception restores the terminal."""
    watch = _Watch(stop, leave, stops, saved)
    watch.start()
    try:
        yield
    except BaseException:
        saved.restore()
        raise
    finally:
        watch.screen_ended()


class _Watch(threading.Thread):
    """Waits for a stop signal, and for the screen to follow it."""

    def __init__(self, stop: Callable[[], None], leave: Callable[[], None], stops: StopSignals, saved: SavedTerminal) -> None:
        super().__init__(name="stop-watch", daemon=True)
        self._stop_gateway = stop
        self._leave = leave
        self._stops = stops
        self._saved = saved
        self._ended = threading.Event()
        self._deciding = threading.Lock()
        self._taking = False

    def screen_ended(self) -> None:
        """The main thread's. If the terminal is being taken back already, that unblocked the screen, and ends the process too."""
        with self._deciding:
            self._ended.set()
        if self._taking:
            self.join()

    def run(self) -> None:
        self._stops.asked.wait()
        if self._ended.is_set():
            return
        drained = threading.Thread(target=_quietly, args=(self._stop_gateway,), name="drain", daemon=True)
        drained.start()
        while drained.is_alive() and not self._stops.again.is_set():
            drained.join(0.05)
        # From a thread of its own: with the terminal not read, asking may block as well.
        threading.Thread(target=_quietly, args=(self._leave,), name="leave", daemon=True).start()
        self._ended.wait(APP_MAY_TAKE_S)
        with self._deciding:
            if self._ended.is_set():
                return
            self._taking = True
        self._saved.take_back()
        # Not sys.exit: threads that are stuck in a write to the terminal would be waited for.
        os._exit(0)


def _quietly(step: Callable[[], None]) -> None:
    # The process is ending; whatever fails here must not keep the terminal.
    with contextlib.suppress(Exception):
        step()
