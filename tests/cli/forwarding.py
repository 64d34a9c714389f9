"""Something between a screen and its gateway: it hands bytes on, until it carries nothing any more and says so to nobody."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

import httpx


class Forwarding:
    """From a port of its own to the gateway's."""

    def __init__(self, url: str) -> None:
        self._to = ("127.0.0.1", httpx.URL(url).port or 0)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._dead: set[socket.socket] = set()
        self._down = False
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for one in (self._listening, *self._open):
            # Closing alone does not wake whoever waits for it.
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def go_down(self) -> None:
        """What is open stays open and carries nothing; so does what is opened from now on."""
        self._down = True
        self._dead.update(self._open)

    def come_back(self) -> None:
        """New connections are served. The old ones are forgotten: nobody is told that they are dead."""
        self._down = False

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(self._to)
                self._open += [near, far]
                if self._down:
                    self._dead.update((near, far))
                for here, there in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(here, there), daemon=True).start()

    def _carry(self, here: socket.socket, there: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := here.recv(65_536):
                if here not in self._dead:
                    there.sendall(data)
            if here not in self._dead:
                there.shutdown(socket.SHUT_WR)
