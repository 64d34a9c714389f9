"""What a durable write costs with 100 and with 50,000 sessions (J04: within 3 times), what a look at another process's writes costs,
and how long the loop stands still meanwhile (J05). By hand: `python -m tests.bench.store [sessions ...]`."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from engine.domain.ids import MAIN_AGENT, ProfileId, SessionKey
from engine.domain.store import AppendDecision, PatchSession, PatchUsage
from store.paths import StateDirectory
from store.sqlite import SqliteStore

WRITES = 1000
LAG_STEP_S = 0.002


def override(n: int) -> PatchSession:
    model = {"provider_override": "zeta", "model_override": f"std-{n}", "model_override_source": "auto", "updated_at": n}
    origin = {"model_override_fallback_origin_provider": "acme", "model_override_fallback_origin_model": "big"}
    return PatchSession(SessionKey(f"agent:main:session-{n}"), {**model, **origin})


def telemetry(n: int) -> tuple[PatchUsage, AppendDecision]:
    record = {
        "event": "model_fallback_decision",
        "at": n,
        "turn": f"t{n}",
        "session": f"agent:main:session-{n}",
        "decision": "candidate_failed",
    }
    return PatchUsage(MAIN_AGENT, ProfileId(f"acme:k{n % 20}"), {"last_used": n}), AppendDecision({**record, "error": "x" * 200})


class Lag:
    """How late the loop came back from short sleeps: the p99 in ms."""

    async def __aenter__(self) -> Lag:
        self._late: list[float] = []
        self._task = asyncio.create_task(self._measure())
        return self

    async def _measure(self) -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(LAG_STEP_S)
            self._late.append(time.perf_counter() - started - LAG_STEP_S)

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    @property
    def p99_ms(self) -> float:
        return percentile(self._late, 99) if len(self._late) > 1 else 0.0


def since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def percentile(seconds: list[float], which: int) -> float:
    return statistics.quantiles(seconds, n=100)[which - 1] * 1000


async def measure(sessions: int, say: Callable[[str], object]) -> float:
    """p95 of a durable override write, in ms."""
    with tempfile.TemporaryDirectory() as folder:
        directory = StateDirectory(Path(folder))
        store, other = SqliteStore(directory), SqliteStore(directory)
        try:
            await store.open()
            await store.commit([override(n) for n in range(sessions)])
            await other.open()
            took: list[float] = []
            async with Lag() as lag:
                for n in range(WRITES):
                    store.enqueue(telemetry(n))
                    started = time.perf_counter()
                    await store.commit([PatchSession(override(n % sessions).session, {"updated_at": n})])
                    took.append(time.perf_counter() - started)
            shown = f"override p50 {percentile(took, 50):.2f} ms, p95 {percentile(took, 95):.2f} ms"
            say(f"{sessions:>7} sessions: {shown}, loop p99 {lag.p99_ms:.1f} ms")
            started, before = time.perf_counter(), store.transactions
            async with Lag() as lag:
                await asyncio.gather(*(store.commit([override(n), *telemetry(n)]) for n in range(WRITES)))
            say(f"{'':>7} {WRITES} commits at once: {since(started):.0f} ms, {store.transactions - before} transactions")
            await other.commit([PatchSession(SessionKey("theirs"), {"updated_at": 1})])
            started = time.perf_counter()
            async with Lag() as lag:
                found = await store.foreign()
            assert found is not None
            say(f"{'':>7} a foreign write taken over: {since(started):.0f} ms, loop p99 {lag.p99_ms:.1f} ms")
            return percentile(took, 95)
        finally:
            await other.close()
            await store.close()


async def main(sizes: list[int]) -> None:
    def say(text: str) -> None:
        sys.stdout.write(text + "\n")

    p95 = [await measure(size, say) for size in sizes]
    say(f"ratio {p95[-1] / p95[0]:.2f} (at most 3)")


if __name__ == "__main__":
    asyncio.run(main([int(size) for size in sys.argv[1:]] or [100, 50_000]))
