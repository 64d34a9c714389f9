"""The webhook of a gateway without a screen against a real receiver: one that takes, refuses, hangs, never ends, or comes back."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from console.alerts import MAX_WAITING, Webhook, follow
from engine.domain.operations import Event
from engine.domain.settings import ConsoleSettings

DOWN = {"event": "alarm", "at": 7, "kind": "all_down", "text": "everything is down"}
Answers = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def status(code: int) -> Answers:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 %d x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n" % code)

    return answer


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()  # until the caller gives up


async def never_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 x\r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 1000)
    await reader.read()


async def drop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


@dataclass
class Receiver:
    """Answers each request as scripted, the last one for ever. got: the bodies, as they came."""

    answers: Sequence[Answers]
    port: int = 0
    got: list[dict[str, object]] = field(default_factory=list)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)
    open: list[asyncio.StreamWriter] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            for writer in self.open:
                writer.transport.abort()
            await asyncio.gather(*(writer.wait_closed() for writer in self.open), return_exceptions=True)
            self.open.clear()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def requests(self, count: int) -> list[dict[str, object]]:
        async with asyncio.timeout(5), self.arrived:
            await self.arrived.wait_for(lambda: len(self.got) >= count)
        return self.got

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.append(writer)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        answer = self.answers[min(len(self.got), len(self.answers) - 1)]
        async with self.arrived:
            self.got.append(json.loads(await reader.readexactly(length)))
            self.arrived.notify_all()
        await answer(reader, writer)
        writer.close()


class Following:
    """`follow` on events that a test lets happen. words: what was told of failures."""

    def __init__(self, url: str, on: tuple[str, ...] = ("everything_down",)) -> None:
        self.words: list[str] = []
        self.told = asyncio.Event()
        self._queue: asyncio.Queue[Event] = asyncio.Queue()
        hook = Webhook(url, self._failed, patience_s=0.05, pause_s=0.001)
        settings = ConsoleSettings(alert_webhook=url, alert_on=on)
        self.task = asyncio.create_task(follow(self._events, settings, self._failed, hook))

    def happen(self, **data: object) -> None:
        self._queue.put_nowait(Event(1, {**DOWN, **data}))

    async def read(self) -> None:
        """Every event so far was taken."""
        async with asyncio.timeout(5):
            await self._queue.join()

    def _failed(self, text: str) -> None:
        self.words.append(text)
        self.told.set()

    async def _events(self) -> AsyncIterator[Event]:
        while True:
            event = await self._queue.get()
            yield event
            self._queue.task_done()


@contextlib.asynccontextmanager
async def following(url: str, **options: tuple[str, ...]) -> AsyncIterator[Following]:
    found = Following(url, **options)
    try:
        yield found
    finally:
        found.task.cancel()
        await asyncio.wait({found.task})


async def test_an_alert_is_posted_and_what_is_none_is_not():
    receiver = Receiver([status(200)])
    async with receiver.listening(), following(receiver.url) as hooked:
        hooked.happen(event="turn_finished")
        hooked.happen(kind="store")
        hooked.happen()
        (told,) = await receiver.requests(1)
        assert (told["alert"], told["text"]) == ("everything_down", "everything is down")
        assert told["event"] == DOWN
        assert hooked.words == []


@pytest.mark.parametrize("answer", [hang, drop, status(503), status(429)])
async def test_a_receiver_with_trouble_is_tried_three_times_and_told_once(answer: Answers):
    receiver = Receiver([answer])
    async with receiver.listening(), following(receiver.url) as hooked:
        hooked.happen()
        await asyncio.wait_for(hooked.told.wait(), 5)
        assert len(receiver.got) == 3
        (word,) = hooked.words
        assert word.startswith("the alert webhook does not take everything_down: ")
        assert receiver.url not in word


async def test_a_receiver_that_does_not_want_it_is_not_asked_again():
    receiver = Receiver([status(404)])
    async with receiver.listening(), following(receiver.url) as hooked:
        hooked.happen()
        await asyncio.wait_for(hooked.told.wait(), 5)
        assert len(receiver.got) == 1


async def test_an_answer_without_end_is_not_read():
    receiver = Receiver([never_end])
    async with receiver.listening(), following(receiver.url) as hooked:
        hooked.happen()
        hooked.happen(text="again")
        assert [told["text"] for told in await receiver.requests(2)] == ["everything is down", "again"]
        assert hooked.words == []


async def test_a_receiver_that_was_down_gets_the_next_alert_when_it_is_back():
    receiver = Receiver([status(200)])
    async with receiver.listening():
        pass
    async with following(receiver.url) as hooked:
        hooked.happen()
        await asyncio.wait_for(hooked.told.wait(), 5)
        assert "ConnectError" in hooked.words[0]
        async with receiver.listening():
            hooked.happen(text="later")
            assert [told["text"] for told in await receiver.requests(1)] == ["later"]


async def test_a_receiver_that_hangs_holds_up_no_reading_and_what_waits_for_it_is_bounded():
    receiver = Receiver([hang])
    async with receiver.listening(), following(receiver.url) as hooked:
        hooked.happen()
        await receiver.requests(1)
        for _ in range(MAX_WAITING + 5):
            hooked.happen()
        await hooked.read()
        assert [word for word in hooked.words if "too slow" in word] == [
            f"the alert webhook is too slow for everything_down: {MAX_WAITING} alerts wait already"
        ] * 5


@pytest.mark.parametrize("settings", [ConsoleSettings(), ConsoleSettings(alert_webhook="http://127.0.0.1:9/x", alert_on=())])
async def test_without_a_webhook_or_a_condition_nobody_follows(settings: ConsoleSettings):
    def events() -> AsyncIterator[Event]:
        raise AssertionError

    await follow(events, settings, print)
