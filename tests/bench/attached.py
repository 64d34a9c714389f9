"""What watching costs the traffic: `python -m tests.bench.attached`. Latency at 100 requests a second (open loop, a provider that takes
50 ms) through one `failover serve`, in turns with no console, one, three, and one whose terminal nobody reads. Not a test."""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.bench.console import Terminal, terminal
from tests.bench.gateway import first_line, gateway, running
from tests.bench.paced import ask, percentile

ROUNDS, REQUESTS, RATE = 4, 1_000, 100
WATCHED: dict[str, tuple[int, bool]] = {
    "nobody": (0, True),
    "one console": (1, True),
    "three consoles": (3, True),
    "one that nobody reads": (1, False),
}


def drain(screen: Terminal, ended: threading.Event) -> None:
    while not ended.is_set():
        screen.read(0.5)
        screen.last.clear()


@contextlib.contextmanager
def watching(state: Path, consoles: int, read: bool) -> Iterator[None]:
    ended = threading.Event()
    with contextlib.ExitStack() as stack:
        readers = []
        for _ in range(consoles):
            screen = stack.enter_context(terminal(sys.executable, "-m", "console.cli.main", "attach", "--state-dir", str(state)))
            screen.read(20, b"LIVE")
            screen.read(2)
            if read:
                readers.append(threading.Thread(target=drain, args=(screen, ended)))
                readers[-1].start()
        try:
            yield
        finally:
            ended.set()
            for reader in readers:
                reader.join()


def main() -> None:
    found: dict[str, list[float]] = {name: [] for name in WATCHED}
    p99s: dict[str, list[float]] = {name: [] for name in WATCHED}
    with (
        tempfile.TemporaryDirectory() as folder,
        running(sys.executable, "-m", "tests.bench.calm", "provider") as provider,
        gateway(first_line(provider), folder=Path(folder)) as (_, port),
    ):
        ask(port, "acme/big", 300, RATE)
        for _ in range(ROUNDS):
            for name, (consoles, read) in WATCHED.items():
                with watching(Path(folder) / "state", consoles, read):
                    took = ask(port, "acme/big", REQUESTS, RATE)["whole_ms"]
                found[name] += took
                p99s[name].append(percentile(took, 0.99))
    base = statistics.median(p99s["nobody"])
    for name, took in found.items():
        p99 = statistics.median(p99s[name])
        print(f"{name:22} p50 {percentile(took, 0.5):6.2f} ms, p99 {p99:6.2f} ms, {p99 / base:.3f} times nobody's")


if __name__ == "__main__":
    main()
