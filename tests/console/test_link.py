"""How the console follows an engine: merged refreshes, backoff, no traceback (`console.link`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from console.link import Link
from tests.console.fake import NOW, FakeOperations


class FastLoop:
    """Sleeps of the link cost one turn of the loop, and are written down."""

    def __init__(self, monkeypatch) -> None:
        self.pauses: list[float] = []
        real = asyncio.sleep

        async def sleep(seconds: float, result: object = None) -> object:
            if seconds:
                self.pauses.append(seconds)
            await real(0)
            return result

        monkeypatch.setattr("console.link.asyncio.sleep", sleep)


@asynccontextmanager
async def following(operations: FakeOperations, on_change: Callable[[], None] = lambda: None) -> AsyncIterator[Link]:
    link = Link(operations, lambda: NOW, on_change)
    task = asyncio.create_task(link.run())
    try:
        yield link
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def turns(count: int) -> None:
    loop = asyncio.get_running_loop()
    for _ in range(count):
        done = loop.create_future()
        loop.call_soon(done.set_result, None)
        await done


async def test_a_burst_of_events_is_one_refresh(monkeypatch):
    FastLoop(monkeypatch)
    operations = FakeOperations()
    async with following(operations) as link:
        await turns(20)
        before = operations.calls
        for _ in range(100):
            operations.publish()
        await turns(40)
        assert link.events == 100
        assert operations.calls - before <= 3
        assert link.snapshot is operations.current


async def test_nothing_new_redraws_nothing(monkeypatch):
    FastLoop(monkeypatch)
    drawn: list[int] = []
    async with following(FakeOperations(), lambda: drawn.append(1)) as link:
        await turns(20)
        assert drawn == [1]
        for _ in range(5):
            link.nudge()
            await turns(10)
        assert drawn == [1]


async def test_an_engine_that_is_gone_is_asked_less_and_less_often_and_found_again(monkeypatch):
    loop = FastLoop(monkeypatch)
    operations = FakeOperations()
    operations.down = True
    async with following(operations) as link:
        await turns(200)
        assert link.trouble is not None
        assert "does not answer" in link.trouble
        assert {0.5, 1.0, 2.0, 4.0, 5.0} <= set(loop.pauses)
        operations.down = False
        await turns(50)
        assert link.trouble is None
        assert link.snapshot is operations.current


async def test_the_end_of_the_event_stream_is_looked_into_at_once():
    first, looked = asyncio.Event(), asyncio.Event()

    class Killed(FakeOperations):
        async def snapshot(self):
            (looked if first.is_set() else first).set()
            return await super().snapshot()

        async def events(self, after=None):
            await first.wait()
            self.down = True
            raise ConnectionResetError
            yield

    operations = Killed()
    link = Link(operations, lambda: NOW, lambda: None, refresh_s=3_600)
    following = asyncio.create_task(link.run())
    async with asyncio.timeout(10):
        await looked.wait()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def test_however_slow_snapshots_are_a_loss_shows_within_ten_seconds(monkeypatch):
    loop, passed = asyncio.get_running_loop(), 0.0
    real = loop.time
    monkeypatch.setattr(loop, "time", lambda: real() + passed)

    class Slow(FakeOperations):
        async def snapshot(self):
            nonlocal passed
            passed += 3
            return await super().snapshot()

    async with following(Slow()) as link:
        await turns(20)
        assert link.snapshot is not None
        assert 2 < link.period_s < 4


async def test_an_unexpected_error_is_named_but_not_quoted(monkeypatch):
    FastLoop(monkeypatch)

    class Broken(FakeOperations):
        async def snapshot(self):
            raise RuntimeError("Authorization: Bearer sk-secret")

    async with following(Broken()) as link:
        await turns(20)
        assert link.trouble == "RuntimeError while reading from the engine"


async def test_a_broken_event_stream_is_opened_again(monkeypatch):
    FastLoop(monkeypatch)

    class Torn(FakeOperations):
        opened = 0

        async def events(self, after=None):
            self.opened += 1
            if self.opened < 3:
                raise ConnectionError
            async for event in super().events(after):
                yield event

    operations = Torn()
    async with following(operations) as link:
        await turns(60)
        operations.publish()
        await turns(30)
        assert operations.opened == 3
        assert link.events == 1
        assert link.trouble is None
