"""What the screen costs: `python -m tests.bench.console [--check]`. CPU of a frame with 10,000 sessions of which 200 changed, CPU of
standing idle with 200 countdowns, bytes to the terminal a minute, first frame, key to paint while the gateway of the same process carries
traffic.

The screen runs in a real pseudo-terminal of 160x48 and is read by this process; its CPU is its own (`/proc`). Linux only. Not a test:
figures differ by machine. `--soak SECONDS` watches the memory of a demo at speed 60 instead.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fcntl import ioctl
from pathlib import Path

from tests.bench.gateway import cpu_s, first_line, running

HERE = Path(__file__).resolve().parents[2]
FRAMES, CHANGED, MANY, COUNTDOWNS = 60, 200, 10_000, 200
SPAN_S = 20.0
TARGETS = {"frame_ms": 15.0, "idle_cpu_percent": 2.0, "key_to_paint_p95_ms": 100.0}


# --- the side that is measured ------------------------------------------------------------------------------------------


async def stage(name: str, out: str) -> None:
    """Runs in the pseudo-terminal: the console on a fake engine. `busy` drives itself and writes its own figures."""
    from console.app import FailoverApp
    from engine.domain.snapshot import ProfileState, WindowView
    from tests.console.fake import NOW, SNAPSHOT, FakeOperations, profile, session

    if name == "busy":
        crowd = [session(f"session-{n:05}", last_activity=NOW - n * 1_000) for n in range(MANY)]
        operations = FakeOperations(replace(SNAPSHOT, sessions=tuple(crowd)))
    else:
        window = [WindowView(ProfileState.COOLDOWN, NOW + (3_600 + n) * 1_000, "rate_limit", None, NOW, 1) for n in range(COUNTDOWNS)]
        cooling = tuple(profile(f"acme:k{n:03}", ProfileState.COOLDOWN, window[n]) for n in range(COUNTDOWNS))
        operations = FakeOperations(replace(SNAPSHOT, profiles=cooling) if name == "countdowns" else SNAPSHOT)
    began = time.monotonic()
    app = FailoverApp(operations, utc=True, ticker=name == "countdowns", clock=lambda: NOW + int((time.monotonic() - began) * 1000))

    async def drive() -> None:
        await asyncio.sleep(3)
        costs = []
        for frame in range(FRAMES):
            changed = list(operations.current.sessions)
            for place in range(CHANGED):
                where = place if place < 20 else (frame * 7919 + place * 50) % MANY
                changed[where] = session(f"session-{where:05}", last_activity=NOW, last_outcome="failed" if frame % 2 else "ok")
            crowded = tuple(changed)
            before = time.process_time()
            operations.publish(sessions=crowded)
            # Until it is painted: the next merge of the link, and whatever Textual does after it.
            await asyncio.sleep(0.4)
            costs.append((time.process_time() - before) * 1000)
        await asyncio.to_thread(Path(out).write_text, json.dumps(costs))
        app.exit("")

    if name == "busy":
        app.call_later(lambda: app.run_worker(drive(), name="drive"))
    await app.run_async()


# --- the side that measures ----------------------------------------------------------------------------------------------


@dataclass
class Terminal:
    """A pseudo-terminal with a process in it; everything it writes is read and counted."""

    process: subprocess.Popen[bytes]
    master: int
    seen: int = 0
    last: bytearray = field(default_factory=bytearray)

    def read(self, seconds: float, until: bytes | None = None) -> float | None:
        """Reads for so long, or until these bytes come; how long that took, None if they did not come."""
        began = time.monotonic()
        while (left := began + seconds - time.monotonic()) > 0:
            ready, _, _ = select.select([self.master], [], [], min(left, 0.1))
            if not ready:
                continue
            try:
                data = os.read(self.master, 65_536)
            except OSError:
                return None
            self.seen += len(data)
            self.last += data
            if until is not None and until in self.last:
                return time.monotonic() - began
        return None

    def press(self, key: bytes) -> None:
        self.last.clear()
        os.write(self.master, key)


@contextlib.contextmanager
def terminal(*command: str, environ: dict[str, str] | None = None) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 48, 160, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(environ or {})}
    env.pop("NO_COLOR", None)
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=HERE, env=env, start_new_session=True)
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        process.kill()
        process.wait()
        os.close(master)


def staged(name: str, out: str = "") -> contextlib.AbstractContextManager[Terminal]:
    return terminal(sys.executable, "-m", "tests.bench.console", "--stage", name, "--out", out)


def busy() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, staged("busy", out := f"{folder}/costs") as screen:
        screen.read(30, b"session-")
        screen.read(FRAMES * 0.4 + 25, b"\x1b[?1049l")
        costs = json.loads(Path(out).read_text())
    return {"frame_ms": statistics.median(costs), "frame_p95_ms": sorted(costs)[int(len(costs) * 0.95)]}


def idle(name: str) -> tuple[float, float]:
    """Share of a core in percent, and bytes a minute."""
    with staged(name) as screen:
        screen.read(20, b"Sessions")
        screen.read(3)
        if name == "countdowns":
            screen.press(b"2")
            screen.press(b"z")
            screen.read(2)
        cpu, seen = cpu_s(screen.process.pid), screen.seen
        screen.read(SPAN_S)
        return (cpu_s(screen.process.pid) - cpu) / SPAN_S * 100, (screen.seen - seen) * 60 / SPAN_S


def first_frame() -> float:
    found = []
    for _ in range(3):
        with staged("still") as screen:
            took = screen.read(20, b"support-bot")
            found.append(took if took is not None else 20.0)
    return statistics.median(found) * 1000


def under_load(rate: int = 100) -> dict[str, float]:
    """`failover run`, whose screen and gateway share a process, while that many requests a second pass through it."""
    with running(sys.executable, "-m", "tests.bench.instant", "provider") as provider, tempfile.TemporaryDirectory() as folder:
        state, file = Path(folder) / "state", Path(folder) / "failover.json5"
        upstream = {"baseUrl": f"http://127.0.0.1:{first_line(provider)}/v1", "api": "openai-completions"}
        file.write_text(
            json.dumps(
                {
                    "agents": {"defaults": {"model": {"primary": "acme/big", "fallbacks": ["acme/small"]}}},
                    "models": {"providers": {"acme": upstream}},
                    "auth": {"profiles": {"acme:k1": {"provider": "acme", "mode": "api_key", "keyRef": "env:BENCH_KEY"}}},
                }
            )
        )
        command = (sys.executable, "-m", "console.cli.main", "run", "--port", "0", "--config", str(file), "--state-dir", str(state))
        with terminal(*command, environ={"BENCH_KEY": "made-up-key-1"}) as screen:
            screen.read(20, b"Sessions")
            screen.read(2)
            url = json.loads((state / "gateway.json").read_text())
            port = next(str(v) for v in url.values() if str(v).startswith("http")).rsplit(":", 1)[1]
            load = (sys.executable, "-m", "tests.bench.console", "--load", port, "--rate", str(rate))
            with running(*load):
                screen.read(4)
                seen, began = screen.seen, time.monotonic()
                waits = []
                for number in range(60):
                    # The help screen: bytes that nothing but this key brings.
                    screen.press(b"?")
                    took = screen.read(3, b"Keys and words")
                    waits.append((took if took is not None else 3.0) * 1000)
                    screen.press(b"\x1b")
                    screen.read(0.25 + number % 5 * 0.03)
                minute = (screen.seen - seen) * 60 / (time.monotonic() - began)
                cpu, moment = cpu_s(screen.process.pid), time.monotonic()
                still = screen.seen
                screen.read(10)
                spent = time.monotonic() - moment
            return {
                "key_to_paint_p50_ms": statistics.median(waits),
                "key_to_paint_p95_ms": sorted(waits)[int(len(waits) * 0.95)],
                "busy_bytes_a_minute": (screen.seen - still) * 60 / spent,
                "with_help_opened_bytes_a_minute": minute,
                "process_cpu_percent_at_load": (cpu_s(screen.process.pid) - cpu) / spent * 100,
            }


async def load(port: int, rate: int) -> None:
    """That many chat requests a second, from a hundred sessions, until killed."""
    import httpx

    body = {"model": "auto", "messages": [{"role": "user", "content": "hi"}]}
    limits = httpx.Limits(max_connections=32)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, limits=limits, timeout=30) as client:
        tasks: set[asyncio.Task[httpx.Response]] = set()
        due = time.monotonic()
        for number in range(1_000_000):
            headers = {"x-failover-session": f"bench-{number % 100}"}
            task = asyncio.create_task(client.post("/v1/chat/completions", json=body, headers=headers))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            due += 1 / rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))


def soak(seconds: float) -> None:
    """Memory and bytes of a demo at speed 60, once a minute, for as long as somebody waits."""
    with terminal(sys.executable, "-m", "console.cli.main", "demo", "--speed", "60") as screen:
        began = time.monotonic()
        while time.monotonic() - began < seconds and screen.process.poll() is None:
            seen, cpu = screen.seen, cpu_s(screen.process.pid)
            screen.read(60)
            screen.last.clear()
            status = Path(f"/proc/{screen.process.pid}/status").read_text()
            rss = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
            minute = (time.monotonic() - began) / 60
            cores = (cpu_s(screen.process.pid) - cpu) / 60 * 100
            print(f"{minute:5.1f} min  {int(rss) / 1024:7.1f} MiB  {screen.seen - seen:>9} bytes  {cores:5.1f} % of a core", flush=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--check", action="store_true", help="exit status 1 beyond a target")
    options.add_argument("--soak", type=float, help=soak.__doc__)
    options.add_argument("--only", help="one of busy, idle, first, load")
    options.add_argument("--stage", help=argparse.SUPPRESS)
    options.add_argument("--out", default="", help=argparse.SUPPRESS)
    options.add_argument("--load", type=int, help=argparse.SUPPRESS)
    options.add_argument("--rate", type=int, default=100, help="requests a second while keys are pressed")
    given = options.parse_args()
    if given.stage or given.load:
        asyncio.run(stage(given.stage, given.out) if given.stage else load(given.load, given.rate))
        return 0
    if given.soak:
        soak(given.soak)
        return 0
    figures: dict[str, float] = {}
    if given.only in (None, "busy"):
        figures |= busy()
    if given.only in (None, "idle"):
        figures["idle_cpu_percent"], figures["idle_bytes_a_minute"] = idle("countdowns")
        figures["still_cpu_percent"], figures["still_bytes_a_minute"] = idle("still")
    if given.only in (None, "first"):
        figures["first_frame_ms"] = first_frame()
    if given.only in (None, "load"):
        figures |= under_load(given.rate)
    for name, figure in figures.items():
        target = f"  (target: at most {TARGETS[name]:g})" if name in TARGETS else ""
        print(f"{name:34} {figure:12.1f}{target}")
    return int(given.check and any(figures.get(name, 0) > target for name, target in TARGETS.items()))


if __name__ == "__main__":
    sys.exit(main())
