"""What the gateway adds at a calm pace: `python -m tests.bench.paced [--check]`. Direct, through the bare pass-through and through
`failover serve`, in turns within one run, so that the machine's noise meets all three:

- latency added at 100 requests a second to a provider that takes 50 ms (open loop), and to the first content of a stream;
- CPU of a stream of 50 chunks, 10 ms apart;
- CPU of one failover (a session whose first model answers 429), over that of one more plain request (32 in flight, nobody waits);
- memory after all of it.

Linux only. Not a test: figures differ by machine, the ratios less."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.gateway import cpu_s, first_line, gateway, running

RATE, REQUESTS, ROUNDS = 100, 1_000, 3
STREAM_RATE, STREAMS = 20, 200
FAILOVERS = 2_000
SHORT_WINDOWS = {"cooldowns": {"transientBackoffMinutes": [0.00001]}}
"""So that the same model can be limited again a moment later."""


@dataclass(slots=True)
class Route:
    """pid: of the process whose CPU counts; None when there is nothing between."""

    port: str
    pid: int | None
    whole_ms: list[float] = field(default_factory=list)
    first_ms: list[float] = field(default_factory=list)
    stream_us: list[float] = field(default_factory=list)


def ask(port: str, model: str, total: int, a_second: float, stream: bool = False) -> Mapping[str, list[float]]:
    command = [sys.executable, "-m", "tests.bench.calm", "ask", port, model, str(total), str(a_second), "stream" if stream else "whole"]
    found: dict[str, list[float]] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert not found["bad"], f"{found['bad']} of {total} requests failed"
    return found


def cpu_us(pid: int, port: str, model: str, total: int) -> float:
    before = cpu_s(pid)
    ask(port, model, total, 0)
    return (cpu_s(pid) - before) / total * 1e6


def resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def percentile(values: list[float], share: float) -> float:
    return statistics.quantiles(values, n=1000)[round(share * 1000) - 1]


def judged(what: str, figure: float, limit: float, unit: str) -> bool:
    print(f"  {what:58} {figure:7.2f} {unit}  (at most {limit:g})  {'ok' if figure <= limit else 'MISSED'}")
    return figure <= limit


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--check", action="store_true", help="exit status 1 when a target is missed")
    check = options.parse_args().check
    with (
        running(sys.executable, "-m", "tests.bench.calm", "provider") as provider,
        running(sys.executable, "-m", "tests.bench.passthrough", f"127.0.0.1:{(there := first_line(provider))}") as between,
        gateway(there, auth=SHORT_WINDOWS) as (pid, port),
    ):
        routes = {"direct": Route(there, None), "passthrough": Route(first_line(between), between.pid), "gateway": Route(port, pid)}
        for route in routes.values():
            ask(route.port, "acme/big", 200, RATE)
        for _ in range(ROUNDS):
            for route in routes.values():
                route.whole_ms += ask(route.port, "acme/big", REQUESTS, RATE)["whole_ms"]
                before = cpu_s(route.pid) if route.pid is not None else 0.0
                route.first_ms += ask(route.port, "acme/big", STREAMS, STREAM_RATE, stream=True)["first_ms"]
                if route.pid is not None:
                    route.stream_us.append((cpu_s(route.pid) - before) / STREAMS * 1e6)
        plain, failing = [], []
        for _ in range(ROUNDS):
            plain.append(cpu_us(pid, port, "acme/instant", FAILOVERS))
            failing.append(cpu_us(pid, port, "acme/bad", FAILOVERS))
        memory = resident_mib(pid)
    for name, route in routes.items():
        p50, p99 = (percentile(route.whole_ms, share) for share in (0.5, 0.99))
        stream = f", a stream {statistics.median(route.stream_us):6.0f} us of CPU" if route.stream_us else ""
        print(f"{name:12} p50 {p50:6.2f} ms, p99 {p99:6.2f} ms, first content {statistics.median(route.first_ms):6.2f} ms{stream}")
    one, failed = statistics.median(plain), statistics.median(failing)
    print(f"gateway      a plain request {one:.0f} us of CPU, one with a failover {failed:.0f} us (each of a session of its own)")
    ours, straight, bare = routes["gateway"], routes["direct"], routes["passthrough"]
    kept = [
        judged("p50 added", percentile(ours.whole_ms, 0.5) - percentile(straight.whole_ms, 0.5), 3, "ms"),
        judged("p99 added", percentile(ours.whole_ms, 0.99) - percentile(straight.whole_ms, 0.99), 15, "ms"),
        judged("first content of a stream, over direct", statistics.median(ours.first_ms) - statistics.median(straight.first_ms), 3, "ms"),
        judged("CPU of a paced stream", statistics.median(ours.stream_us) / statistics.median(bare.stream_us), 4, "times the pass-through"),
        judged("a failover", (failed - one) / one, 1.5, "times one more plain request"),
        judged("memory, at its peak", memory, 150, "MiB"),
    ]
    return int(check and not all(kept))


if __name__ == "__main__":
    sys.exit(main())
