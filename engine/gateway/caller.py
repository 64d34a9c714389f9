"""What the connection knows of a request's caller, and ASGI tells only to those who wait for it: that the whole request is here, and that
the caller went away. So nobody has to wait, and a request costs neither a timer nor a task for it. The server's protocol tells it; what
follows from it is decided elsewhere."""

from __future__ import annotations

from collections.abc import Callable

CALLER = "failover.caller"
"""Where a request's `Caller` stands in the `state` of its scope."""


class Caller:
    """arrived: the whole request is here."""

    __slots__ = ("_gone", "_tell", "arrived")

    def __init__(self) -> None:
        self.arrived = False
        self._gone = False
        self._tell: Callable[[], None] | None = None

    def when_gone(self, tell: Callable[[], None] | None) -> None:
        """Calls `tell` when the connection is lost, now if it is; None: nobody wants to know any more."""
        self._tell = tell
        if self._gone and tell is not None:
            tell()

    def gone(self) -> None:
        """The protocol's: the connection is lost."""
        self._gone = True
        if self._tell is not None:
            self._tell()
