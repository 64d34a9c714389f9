"""The two ends of the benchmark at a calm pace (`paced`): a provider that takes its time, and a client that sends each request when it is
due, whatever became of those before it (an open loop: a server that stalls cannot slow its own load down)."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import cast

import httptools

from tests.bench.instant import PLAIN, Provider, provide, sse

DELAY_S = 0.05
CHUNKS, APART_S = 50, 0.01
AT_ONCE = 32
REFUSED = (
    b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\ncontent-length: 41\r\n\r\n"
    + b'{"error": {"message": "Rate limit hit."}}'
)


def streamed() -> list[bytes]:
    """The head with the first event, then one event at a time: each a chunk of its own."""
    head, _, rest = sse(CHUNKS - 1).partition(b"\r\n\r\n")
    events = [event + b"\n\n" for event in rest.partition(b"\r\n")[2].partition(b"\r\n0\r\n")[0].split(b"\n\n") if event]
    chunks = [b"%x\r\n%s\r\n" % (len(event), event) for event in events]
    return [head + b"\r\n\r\n" + chunks[0], *chunks[1:-1], chunks[-1] + b"0\r\n\r\n"]


class Calm(Provider):
    """Models `bad...` are rate-limited; `instant...` answer at once; every other answers after 50 ms."""

    stream = streamed()

    def answer(self, asked: bytes) -> None:
        request, loop = json.loads(asked), asyncio.get_running_loop()
        model = request["model"].rpartition("/")[2]
        if model.startswith("bad"):
            self.transport.write(REFUSED)
        elif model.startswith("instant"):
            self.transport.write(PLAIN)
        elif request.get("stream"):
            for number, chunk in enumerate(self.stream):
                loop.call_later(DELAY_S + number * APART_S, self.transport.write, chunk)
        else:
            loop.call_later(DELAY_S, self.transport.write, PLAIN)


class Call(asyncio.Protocol):
    """A kept-alive connection; one request at a time. first_s, whole_s: to the first byte and the end of an answer."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def ask(self, request: bytes) -> asyncio.Future[int]:
        self.parser = httptools.HttpResponseParser(self)
        self.done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.began, self.first_s = time.perf_counter(), 0.0
        self.transport.write(request)
        return self.done

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        if not self.first_s:
            self.first_s = time.perf_counter() - self.began

    def on_message_complete(self) -> None:
        self.whole_s = time.perf_counter() - self.began
        if not self.done.done():
            self.done.set_result(self.parser.get_status_code())

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(ConnectionError("the server closed the connection"))


def request(port: int, model: str, session: str, stream: bool) -> bytes:
    messages = [{"role": "system", "content": "be brief " * 40}, {"role": "user", "content": "hi"}]
    body = json.dumps({"model": model, "messages": messages, "stream": stream}).encode()
    lines = (
        "POST /v1/chat/completions HTTP/1.1",
        f"host: 127.0.0.1:{port}",
        "content-type: application/json",
        "authorization: Bearer x",
        f"x-failover-session: {session}",
        *(("x-failover-fallbacks: acme/instant",) if not model.endswith("big") else ()),
        f"content-length: {len(body)}",
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def ask(port: int, model: str, total: int, a_second: float, stream: bool) -> dict[str, object]:
    """`total` requests, `a_second` of them in a second, over 50 sessions. 0: 32 in flight, each of a session of its own, and each asks
    for a model of its own, so that one's window is not another's."""
    loop = asyncio.get_running_loop()
    idle: list[Call] = []
    first_ms: list[float] = []
    whole_ms: list[float] = []
    bad = 0
    life = time.time_ns()

    async def one(number: int, named: str, session: str) -> None:
        nonlocal bad
        call = idle.pop() if idle else (await loop.create_connection(Call, "127.0.0.1", port))[1]
        bad += await call.ask(request(port, named, session, stream)) != 200
        first_ms.append(call.first_s * 1000)
        whole_ms.append(call.whole_s * 1000)
        idle.append(call)

    if a_second:
        began, tasks = loop.time(), []
        for number in range(total):
            await asyncio.sleep(began + number / a_second - loop.time())
            tasks.append(loop.create_task(one(number, model, f"s{number % 50}")))
        await asyncio.gather(*tasks)
    else:

        async def worker(mine: int) -> None:
            for number in range(mine, total, AT_ONCE):
                await one(number, f"{model}{mine}", f"n{life}-{number}")

        await asyncio.gather(*map(worker, range(AT_ONCE)))
    return {"first_ms": first_ms, "whole_ms": whole_ms, "bad": bad}


if __name__ == "__main__":
    if sys.argv[1] == "provider":
        asyncio.run(provide(Calm))
    else:
        _, _, port_, model_, total_, a_second_, stream_ = sys.argv
        print(json.dumps(asyncio.run(ask(int(port_), model_, int(total_), float(a_second_), stream_ == "stream"))))
