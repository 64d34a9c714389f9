"""A provider on loopback that does what a test tells it to: answers, errors, silence, rubbish, broken connections; and remembers every
call. A real HTTP server, so that what is tested is what meets a provider. For tests alone; knows nothing of failover."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote


@dataclass(slots=True)
class Call:
    """One request as it came. closed: set when its connection is gone."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    closed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def key(self) -> str:
        names = ("x-api-key", "x-goog-api-key", "api-key")
        return next((self.headers[n] for n in names if n in self.headers), self.headers.get("authorization", "").removeprefix("Bearer "))

    @property
    def model(self) -> Any:
        """Of the body, or of the path where a family has it there."""
        named = re.search(r"/models/([^:?]+):", self.path)
        return unquote(named[1]) if named else self.body.get("model")


class Wire:
    """What an answer writes to. chunk, end: with chunked framing."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.keep = True

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        await self.raw(f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode())

    async def chunk(self, data: bytes) -> None:
        await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    def drop(self) -> None:
        """The connection is gone without a goodbye."""
        self.keep = False
        self.writer.transport.abort()


Answer = Callable[[Call, Wire], Awaitable[None]]


def status(code: int, body: Any = "", headers: Mapping[str, str] | None = None) -> Answer:
    """A whole answer. body: bytes or text as they are, anything else as JSON."""
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()

    async def answer(_call: Call, wire: Wire) -> None:
        await wire.head(code, {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})})
        await wire.raw(data)

    return answer


def error(http_status: int, message: str, /, **more: Any) -> Answer:
    """An error of OpenAI's shape. headers: by name; the rest goes into the error object."""
    headers = more.pop("headers", None)
    return status(http_status, {"error": {"message": message, "type": "error", "param": None, "code": None, **more}}, headers)


def completion(text: str | None = "hello", model: str = "upstream-model", **message: Any) -> dict[str, Any]:
    content = {"role": "assistant", "content": text, **message}
    choice = {"index": 0, "message": content, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": USAGE}


USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
TOOL_CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}


def event(delta: Mapping[str, Any], finish: str | None = None, model: str = "upstream-model", **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return data({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice], **more})


def data(value: Any) -> bytes:
    """One event; text as it is."""
    text = value if isinstance(value, str) else json.dumps(value)
    return f"data: {text}\n\n".encode()


ROLE = event({"role": "assistant", "content": ""})
STOP = event({}, "stop")
DONE = data("[DONE]")


def words(*texts: str) -> list[bytes]:
    return [event({"content": text}) for text in texts]


def stream(*parts: bytes | float | None, headers: Mapping[str, str] | None = None, end: bool = True) -> Answer:
    """A streamed answer, one chunk a part. A number waits so many seconds, None for ever. end False: the connection drops after it."""

    async def answer(_call: Call, wire: Wire) -> None:
        await wire.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked", **(headers or {})})
        for part in parts:
            if part is None:
                await asyncio.Event().wait()
            elif isinstance(part, bytes):
                await wire.chunk(part)
            else:
                await asyncio.sleep(part)
        if end:
            await wire.end()
        else:
            wire.drop()

    return answer


def ok(text: str = "hello") -> Answer:
    """Streamed when the request asks for it."""

    async def answer(call: Call, wire: Wire) -> None:
        model = call.body["model"]
        if call.body.get("stream"):
            await stream(ROLE, event({"content": text}, model=model), STOP, DONE)(call, wire)
        else:
            await status(200, completion(text, model))(call, wire)

    return answer


def hang() -> Answer:
    """Accepts the request and never says a word."""

    async def answer(_call: Call, _wire: Wire) -> None:
        await asyncio.Event().wait()

    return answer


def drop() -> Answer:
    """Closes the connection instead of answering."""

    async def answer(_call: Call, wire: Wire) -> None:
        wire.drop()

    return answer


def bytes_only(raw: bytes, *, close: bool = True) -> Answer:
    """Exactly these bytes, HTTP or not."""

    async def answer(_call: Call, wire: Wire) -> None:
        await wire.raw(raw)
        wire.keep = not close

    return answer


def after(seconds: float, then: Answer) -> Answer:
    async def answer(call: Call, wire: Wire) -> None:
        await asyncio.sleep(seconds)
        await then(call, wire)

    return answer


class FakeProvider:
    """Scripts: `on("model")`, `on("model", key="k1")` or `on("*")`; the more exact wins. A list is used up one answer per call, its last
    one repeats. Without a script: `default`."""

    def __init__(self, default: Answer | None = None) -> None:
        self.default = default if default is not None else ok()
        self.calls: list[Call] = []
        self.called = asyncio.Event()
        self.connections = 0
        self.port = 0
        self._scripts: dict[tuple[str, str | None], list[Answer]] = {}
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def on(self, model: str, *answers: Answer, key: str | None = None) -> None:
        self._scripts[model, key] = list(answers)

    def calls_of(self, model: str) -> Sequence[Call]:
        return [call for call in self.calls if call.model == model]

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def _answer_for(self, call: Call) -> Answer:
        try:
            model = call.model
        except ValueError:
            model = None
        for script in ((model, call.key), (model, None), ("*", call.key), ("*", None)):
            answers = self._scripts.get(script)
            if answers:
                return answers.pop(0) if len(answers) > 1 else answers[0]
        return self.default

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.connections += 1
        wire = Wire(reader, writer)
        call: Call | None = None
        try:
            early = b""
            while wire.keep:
                call = await self._read(reader, early)
                self.calls.append(call)
                self.called.set()
                answering = asyncio.ensure_future(self._answer_for(call)(call, wire))
                # The caller says nothing while it waits: what can be read now is its end.
                gone = asyncio.ensure_future(reader.read(1))
                gone.add_done_callback(lambda task: task.cancelled() or task.exception())
                done, _ = await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
                if answering not in done:
                    call.closed.set()
                    answering.cancel()
                    break
                answering.result()
                gone.cancel()
                await asyncio.wait({gone})
                early = b"" if gone.cancelled() else gone.result()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            if call is not None:
                call.closed.set()
            self._open.discard(task)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, early: bytes) -> Call:
        head = (early + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        return Call(method, path, headers, raw)


@contextlib.asynccontextmanager
async def running_provider(default: Answer | None = None) -> AsyncIterator[FakeProvider]:
    provider = FakeProvider(default)
    await provider.start()
    try:
        yield provider
    finally:
        await provider.stop()
