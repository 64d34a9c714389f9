"""The floor of the gateway's benchmark: the least CPU that an HTTP/1.1 proxy in Python can take (bare protocols, httptools, one write a
direction). Says how much of a figure is the machine; `passthrough` is the yardstick."""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import httptools


class Upstream(asyncio.Protocol):
    """One kept-alive connection to the provider; serves one exchange at a time."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.client: Client | None = None
        self.transport: asyncio.Transport | None = None
        self.parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        client = self.client
        if client is not None and client.transport is not None:
            client.transport.write(data)
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.client = None
        self.proxy.idle.append(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self in self.proxy.idle:
            self.proxy.idle.remove(self)
        if self.client is not None and self.client.transport is not None:
            self.client.transport.close()


class Client(asyncio.Protocol):
    """One connection of an application."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.transport: asyncio.Transport | None = None
        self.parser = httptools.HttpRequestParser(self)
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.body: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() not in (b"host", b"connection", b"transfer-encoding", b"content-length"):
            self.headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self.body.append(body)

    def on_message_complete(self) -> None:
        body = b"".join(self.body)
        head = [b"%s %s HTTP/1.1\r\nhost: %s\r\ncontent-length: %d\r\n" % (self.parser.get_method(), self.url, self.proxy.host, len(body))]
        head += [b"%s: %s\r\n" % pair for pair in self.headers]
        request = b"".join(head) + b"\r\n" + body
        self.url, self.headers, self.body = b"", [], []
        if self.proxy.idle:
            self.forward(self.proxy.idle.pop(), request)
        else:
            self.connecting = asyncio.ensure_future(self.connect(request))

    async def connect(self, request: bytes) -> None:
        address, port = self.proxy.host.decode().rsplit(":", 1)
        _, upstream = await asyncio.get_running_loop().create_connection(lambda: Upstream(self.proxy), address, int(port))
        self.forward(upstream, request)

    def forward(self, upstream: Upstream, request: bytes) -> None:
        upstream.client = self
        assert upstream.transport is not None
        upstream.transport.write(request)


class Proxy:
    def __init__(self, host: bytes) -> None:
        self.host = host
        self.idle: list[Upstream] = []


async def main(upstream: str) -> None:
    """Serves on a free loopback port, printed as the first line, until killed. upstream: `127.0.0.1:PORT`."""
    proxy = Proxy(upstream.encode())
    server = await asyncio.get_running_loop().create_server(lambda: Client(proxy), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
