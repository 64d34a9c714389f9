"""Many turns at once, over real sockets and a real file: nothing waits that need not, and a burst is one step."""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from engine.domain.credentials import ApiKey
from engine.domain.exchange import Answered, Payload
from engine.domain.ids import MAIN_AGENT, ProfileId
from engine.domain.turns import TurnOutcome
from engine.providers.client import HttpUpstream
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from tests.fakes.provider import FakeProvider, error, hang, ok, running_provider, stream, words
from tests.live.harness import T0, Bench, Held, chain, fails, keys, running, settings_of, stored_with

BODY = {"model": "auto", "messages": [{"role": "user", "content": "hi"}], "stream": True}
RAW = b'{"model": "auto", "messages": [{"role": "user", "content": "hi"}], "stream": true}'
PAYLOAD = Payload("openai-completions", BODY, RAW, stream=True)


def over_http(provider: FakeProvider) -> Any:
    config: dict[str, Any] = chain("acme/big", "zeta/std")
    api = {"baseUrl": provider.base_url, "api": "openai-completions"}
    return settings_of({**config, "models": {"providers": {"acme": api, "zeta": api}}})


CREDENTIALS = {ProfileId(p): ApiKey(p.partition(":")[0], key=f"key-of-{p}") for p in ("acme:k1", "zeta:k1")}


async def read(bench: Bench, session: str) -> tuple[bytes, Any]:
    turn = bench.engine.begin(bench.request(session), PAYLOAD)
    answer = await turn.answer()
    body = b"".join([chunk async for chunk in turn.chunks()]) if isinstance(answer, Answered) else b""
    return body, await turn.result()


async def test_fifty_turns_that_meet_one_rate_limit_fail_over_and_make_one_step(tmp_path: Path):
    store = await stored_with(CREDENTIALS, SqliteStore(StateDirectory(tmp_path)))
    async with running_provider() as provider:
        provider.on("big", error(429, "slow down"))
        provider.on("std", ok("from zeta"))
        async with running(over_http(provider), store=store, upstream=HttpUpstream(), ticking=True) as bench:
            answers = await asyncio.gather(*(read(bench, f"s{n}") for n in range(50)))
            assert [result.outcome for _, result in answers] == [TurnOutcome.OK] * 50
            assert all(b"from zeta" in body for body, _ in answers)
            cooldown = bench.usage("acme:k1").model_cooldowns["big"]
            assert (cooldown.until, cooldown.error_count) == (T0 + 30_000, 1)
            assert {bench.session(f"s{n}").model_override for n in range(50)} == {"std"}
            assert bench.engine._parts.memory.trials == {}
            snapshot = await bench.engine.snapshot()
            assert snapshot.traffic.in_flight == 0
            assert snapshot.traffic.turns_total == 50
            assert len([view for view in snapshot.sessions if view.on_fallback]) == 50
    again = await stored_with({}, SqliteStore(StateDirectory(tmp_path)))
    try:
        stored = await again.open()
        assert len(stored.sessions) == 50
        assert stored.agents[MAIN_AGENT].usage[ProfileId("acme:k1")].model_cooldowns["big"].error_count == 1
        assert len(await again.decisions(limit=1000)) == 150
    finally:
        await again.close()


async def test_a_caller_that_goes_away_closes_the_real_connection():
    """I06, over a socket: the provider sees the end of it."""
    async with running_provider() as provider:
        provider.on("big", hang())
        store = await stored_with(CREDENTIALS)
        async with running(over_http(provider), store=store, upstream=HttpUpstream()) as bench:
            events = bench.engine.events(0)
            turn = bench.engine.begin(bench.request(), PAYLOAD)
            async for event in events:
                if event.data["event"] == "attempt_started":
                    break
            await provider.called.wait()
            turn.cancel()
            assert (await turn.result()).outcome is TurnOutcome.ABORTED
            await asyncio.wait_for(provider.calls[0].closed.wait(), 2)


async def test_a_stream_that_breaks_is_partial_and_the_session_stays_where_it_was():
    async with running_provider() as provider:
        provider.on("big", stream(*words("he", "ll"), end=False))
        store = await stored_with(CREDENTIALS)
        async with running(over_http(provider), store=store, upstream=HttpUpstream()) as bench:
            body, result = await read(bench, "main")
            assert b"ll" in body
            assert result.outcome is TurnOutcome.PARTIAL
            assert [call.body["model"] for call in provider.calls] == ["big"]


async def test_rotation_and_traffic_go_on_while_another_process_holds_the_store_locked(tmp_path: Path):
    """E17 with a real lock: k2 is called at once; only a fallback waits for its override, for a second at most."""
    store = await stored_with(keys("acme:k1", "acme:k2", "zeta:k1"), SqliteStore(StateDirectory(tmp_path)))
    async with running(store=store) as bench:
        bench.upstream.on("acme/big@acme:k1", fails(429))
        with (
            closing(sqlite3.connect(StateDirectory(tmp_path).shared_file, isolation_level=None)) as shared,
            closing(sqlite3.connect(StateDirectory(tmp_path).agent_file(MAIN_AGENT), isolation_level=None)) as agent,
        ):
            for connection in (shared, agent):
                connection.execute("BEGIN IMMEDIATE")
            turn = bench.begin()
            await bench.upstream.called(2)
            first, second = bench.upstream.calls
            assert second.began - first.began < 0.05
            answered = await turn.answer()
            assert isinstance(answered, Answered)
            assert answered.profile == "acme:k2"
            for connection in (shared, agent):
                connection.execute("ROLLBACK")
        assert [chunk async for chunk in turn.chunks()] == [b"hello"]
        assert (await turn.result()).outcome is TurnOutcome.OK
        assert await bench.engine._parts.writer.settle()
        assert bench.engine._parts.alarms.texts == ()


async def test_a_slow_disk_does_not_slow_the_loop():
    """J05: 200 ms for each commit, 100 turns at once; the loop stays free."""
    store = Held(await stored_with(keys("acme:k1", "zeta:k1")))

    async def slow() -> None:
        await asyncio.sleep(0.2)

    store.delay = slow
    busy: list[float] = []

    async def measure() -> None:
        # CPU time of this thread between two turns of the loop: what a wall clock would say on a machine that does nothing else.
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            busy.append(time.thread_time() - before)

    async with running(settings_of(chain("acme/big", "zeta/std")), store=store, ticking=True) as bench:
        bench.upstream.on("acme/big", fails(503))
        measuring = asyncio.ensure_future(measure())
        turns = []
        for number in range(100):
            turns.append(asyncio.ensure_future(bench.turn(f"s{number}")))
            await asyncio.sleep(0)
        results = await asyncio.gather(*turns)
        measuring.cancel()
        assert {result.outcome for result in results} == {TurnOutcome.OK}
        commits = [entry for entry in store.log if entry[0] == "commit"]
        assert len(commits) < 20, "turns that wait at the same time share one barrier"
    assert statistics.quantiles(busy, n=100)[98] < 0.05


async def test_events_of_many_turns_reach_a_slow_reader_with_a_gap_and_delay_nobody():
    async with running() as bench:
        reader = bench.engine.events(0)
        await asyncio.gather(*(bench.turn(f"s{n}") for n in range(1000)))
        first = (await anext(reader)).data
        assert first["event"] == "gap"
        assert isinstance(first["missed"], int)
        assert first["missed"] > 0
