"""Where the gateway's CPU goes: `python -m tests.bench.where [--stream] [--functions]`. The real `failover serve` under the closed loop of
`gateway`, sampled by py-spy (`pip install py-spy`; it may need root). A sample counts for the innermost file of ours on its stack, or
for the library where there is none of ours. Not a test."""

from __future__ import annotations

import argparse
import collections
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.gateway import ask, first_line, gateway, running

SECONDS, A_SECOND, ROWS = 20, 500, 40
OURS = ("engine/", "store/", "console/")


def file_of(frame: str) -> str:
    """Of `function (file:line)`."""
    return frame.rpartition("(")[2].partition(":")[0]


def owner(frames: list[str], by_function: bool) -> str:
    """frames: outermost first."""
    own = next((frame for frame in reversed(frames) if file_of(frame).startswith(OURS)), None)
    if own is None:
        return "python and libraries: " + "/".join(file_of(frames[-1]).split("/")[-2:])
    return own.rpartition(":")[0].replace(" (", "  ") if by_function else file_of(own)


def samples(stream: bool) -> list[tuple[list[str], int]]:
    with running(sys.executable, "-m", "tests.bench.instant", "provider") as provider, gateway(first_line(provider)) as (pid, port):
        ask(port, 500, stream)
        with tempfile.TemporaryDirectory() as folder:
            raw = Path(folder) / "raw"
            how = ["--format", "raw", "--gil", "--duration", str(SECONDS), "--rate", str(A_SECOND)]
            sampler = subprocess.Popen(["py-spy", "record", "--pid", str(pid), "--output", str(raw), *how], stderr=subprocess.DEVNULL)
            while sampler.poll() is None:
                ask(port, 2_000, stream)
            lines = raw.read_text().splitlines()
    return [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in lines]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--stream", action="store_true")
    options.add_argument("--functions", action="store_true", help="by function instead of by file")
    chosen = options.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    for frames, times in samples(chosen.stream):
        counts[owner(frames, chosen.functions)] += times
    for name, times in counts.most_common(ROWS):
        print(f"{100 * times / counts.total():5.1f} %  {name}")


if __name__ == "__main__":
    main()
