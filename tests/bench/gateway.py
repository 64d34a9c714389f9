"""CPU of the gateway for each request, against a bare pass-through (`passthrough`): `python -m tests.bench.gateway`. Beside it, what part
of that is our HTTP alone (`bare`) and what no Python proxy gets under (`floor`).

2,000 requests, 32 at a time, to a provider that answers at once. Server, provider and client are processes apart, and the CPU is read from
the server's `/proc/<pid>/task/*/schedstat`, so that only the server's counts. The gateway is the real one (`failover serve`) with its
SQLite store; the target is at most 12 times the pass-through. Linux only. Not a test: figures differ by machine, the ratio less.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUESTS, AT_ONCE, ROUNDS, WARM_UP = 2_000, 32, 5, 500
TARGET = 12.0


@contextlib.contextmanager
def running(*command: str, environ: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE.parent.parent, env={**os.environ, **(environ or {})})
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def cpu_s(pid: int) -> float:
    """Time on a core of a process, all its threads included (ns precision; `stat` counts in ticks of 10 ms)."""
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9


def ask(port: str, requests: int, stream: bool) -> None:
    command = [sys.executable, str(HERE / "instant.py"), "ask", port, str(requests), str(AT_ONCE), str(int(stream))]
    _, bad = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert bad == 0, f"{bad} of {requests} requests failed"


def measure(pid: int, port: str, stream: bool) -> float:
    """Microseconds of CPU a request, the median of some rounds."""
    ask(port, WARM_UP, stream)
    rounds = []
    for _ in range(ROUNDS):
        before = cpu_s(pid)
        ask(port, REQUESTS, stream)
        rounds.append((cpu_s(pid) - before) / REQUESTS * 1e6)
    return statistics.median(rounds)


@contextlib.contextmanager
def gateway(provider_port: str, *, auth: Mapping[str, object] | None = None, folder: Path | None = None) -> Iterator[tuple[int, str]]:
    """(process id, port). auth: more of the configuration's `auth`. folder: where its `state` lies; else one that is removed."""
    provider = {"baseUrl": f"http://127.0.0.1:{provider_port}/v1", "api": "openai-completions"}
    config = {
        "agents": {"defaults": {"model": {"primary": "acme/big", "fallbacks": ["acme/small"]}}},
        "models": {"providers": {"acme": provider}},
        "auth": {"profiles": {"acme:k1": {"provider": "acme", "mode": "api_key", "keyRef": "env:BENCH_KEY"}}, **(auth or {})},
    }
    with tempfile.TemporaryDirectory() as passing:
        place = folder if folder is not None else Path(passing)
        state, file = place / "state", place / "failover.json5"
        file.write_text(json.dumps(config))
        command = (sys.executable, "-m", "console.cli.main", "serve", "--port", "0", "--config", str(file), "--state-dir", str(state))
        with running(*command, environ={"BENCH_KEY": "made-up-key-1"}) as process:
            address = state / "gateway.json"
            until = time.monotonic() + 20
            while not address.exists():
                assert time.monotonic() < until, "the gateway did not start"
                assert process.poll() is None, "the gateway ended"
                time.sleep(0.05)
            found = json.loads(address.read_text())
            yield process.pid, next(str(v) for v in found.values() if str(v).startswith("http")).rsplit(":", 1)[1]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--check", action="store_true", help=f"exit status 1 above {TARGET:g} times the pass-through")
    check = options.parse_args().check
    worst = 0.0
    with running(sys.executable, "-m", "tests.bench.instant", "provider") as provider:
        provider_port = first_line(provider)
        for stream in (False, True):
            bare: dict[str, float] = {}
            for name in ("floor", "passthrough", "bare"):
                with running(sys.executable, "-m", f"tests.bench.{name}", f"127.0.0.1:{provider_port}") as process:
                    bare[name] = measure(process.pid, first_line(process), stream)
            with gateway(provider_port) as (pid, port):
                bare["gateway"] = measure(pid, port, stream)
            worst = max(worst, bare["gateway"] / bare["passthrough"])
            print("streamed" if stream else "whole answers")
            for name, cpu_us in bare.items():
                print(f"  {name:12} {cpu_us:5.0f} us a request  {cpu_us / bare['passthrough']:5.1f} times the pass-through")
    print(f"target: at most {TARGET:g} times")
    return int(check and worst > TARGET)


if __name__ == "__main__":
    sys.exit(main())
