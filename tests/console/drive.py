"""A console on the fake engine in a real terminal, for looking at it: `python -m tests.console.drive [--ascii] [--light] [--no-mouse]`."""

from __future__ import annotations

import sys
from dataclasses import replace

from console.app import FailoverApp
from engine.domain.ids import SessionKey
from tests.console.fake import SESSIONS, SNAPSHOT, FakeOperations


def main() -> None:
    flags = set(sys.argv[1:])
    many = tuple(replace(SESSIONS[n % 7], key=SessionKey(f"session-{n:05}")) for n in range(10_000)) if "--many" in flags else SESSIONS
    operations = FakeOperations(replace(SNAPSHOT, sessions=() if "--empty" in flags else many))
    FailoverApp(
        operations,
        by="me",
        utc=True,
        ascii_only="--ascii" in flags,
        theme="light" if "--light" in flags else "ansi" if "--ansi" in flags else "dark",
    ).run(mouse="--no-mouse" not in flags)


if __name__ == "__main__":
    main()
