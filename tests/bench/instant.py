"""The two ends of the gateway's benchmark: a provider that answers at once, and a client that keeps a number of requests in flight.
Both are as lean as they can be, so that on a small machine the process under measurement is the one that works."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import cast

import httptools

ANSWER = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "big",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello " * 20}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 20, "total_tokens": 29},
    }
).encode()
PLAIN = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER)


def sse(chunks: int) -> bytes:
    """A whole streamed answer with that many text deltas, as one HTTP response."""
    event = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "big",
        "choices": [{"index": 0, "delta": {"content": "hello "}}],
    }
    end = {**event, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    events = [event] * chunks + [end]
    body = b"".join(b"data: " + json.dumps(e).encode() + b"\n\n" for e in events) + b"data: [DONE]\n\n"
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


STREAMED = sse(20)


class Provider(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.parser = httptools.HttpRequestParser(self)
        self.body = b""

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        asked, self.body = self.body, b""
        self.answer(asked)

    def answer(self, asked: bytes) -> None:
        """At once. asked: the request's body."""
        self.transport.write(STREAMED if b'"stream":true' in asked or b'"stream": true' in asked else PLAIN)


async def provide(kind: type[Provider] = Provider) -> None:
    """Serves on a free loopback port, printed as the first line, until killed."""
    server = await asyncio.get_running_loop().create_server(kind, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class Asker(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.done: asyncio.Future[int] | None = None

    def ask(self, request: bytes) -> asyncio.Future[int]:
        self.parser = httptools.HttpResponseParser(self)
        self.done = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.done

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_result(self.parser.get_status_code())

    def connection_lost(self, exc: Exception | None) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_exception(ConnectionError("the server closed the connection"))


async def ask(port: int, total: int, at_once: int, stream: bool) -> tuple[float, int]:
    """Seconds taken and the number of answers other than 200, for `total` chat requests, `at_once` in flight."""
    body = json.dumps(
        {
            "model": "acme/big",
            "messages": [{"role": "system", "content": "be brief " * 40}, {"role": "user", "content": "hi"}],
            "stream": stream,
        }
    ).encode()
    request = (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-type: application/json\r\nauthorization: Bearer x\r\n"
        b"user-agent: bench\r\naccept: */*\r\ncontent-length: %d\r\n\r\n%s" % (port, len(body), body)
    )
    loop = asyncio.get_running_loop()
    left = total
    bad = 0

    async def worker() -> None:
        nonlocal left, bad
        _, asker = await loop.create_connection(Asker, "127.0.0.1", port)
        while left > 0:
            left -= 1
            bad += await asker.ask(request) != 200
        asker.transport.close()

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return time.perf_counter() - started, bad


if __name__ == "__main__":
    if sys.argv[1] == "provider":
        asyncio.run(provide())
    else:
        port_, total_, at_once_, stream_ = (int(a) for a in sys.argv[2:6])
        print(json.dumps(asyncio.run(ask(port_, total_, at_once_, bool(stream_)))))
