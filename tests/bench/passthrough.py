"""The yardstick of the gateway's benchmark: a bare HTTP/1.1 pass-through on asyncio streams, with kept-alive connections on both sides and
both framings. Knows no models, sessions or failover, so that the ratio to the gateway says what those cost."""

from __future__ import annotations

import asyncio
import contextlib
import sys

Headers = list[tuple[bytes, bytes]]
HOP = frozenset({b"host", b"connection", b"content-length", b"transfer-encoding"})


async def read_head(reader: asyncio.StreamReader) -> tuple[bytes, Headers]:
    lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    pairs = (line.split(b":", 1) for line in lines[1:])
    return lines[0], [(name.lower(), value.strip()) for name, value in pairs]


class Proxy:
    def __init__(self, upstream: str) -> None:
        self.host, _, port = upstream.rpartition(":")
        self.port = int(port)
        self.idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await self.exchange(reader, writer)
        writer.close()

    async def exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, headers = await read_head(reader)
        size = int(dict(headers).get(b"content-length", 0))
        body = await reader.readexactly(size) if size else b""
        up = self.idle.pop() if self.idle else await asyncio.open_connection(self.host, self.port)
        up_reader, up_writer = up
        kept = b"".join(b"%s: %s\r\n" % pair for pair in headers if pair[0] not in HOP)
        up_writer.write(b"%s\r\nhost: %s:%d\r\ncontent-length: %d\r\n%s\r\n%s" % (first, self.host.encode(), self.port, size, kept, body))
        await up_writer.drain()
        first, headers = await read_head(up_reader)
        writer.write(first + b"\r\n" + b"".join(b"%s: %s\r\n" % pair for pair in headers) + b"\r\n")
        length = dict(headers).get(b"content-length")
        if length is not None:
            writer.write(await up_reader.readexactly(int(length)))
        else:
            while True:
                line = await up_reader.readline()
                writer.write(line + await up_reader.readexactly(int(line, 16) + 2))
                await writer.drain()
                if line == b"0\r\n":
                    break
        await writer.drain()
        self.idle.append(up)


async def main(upstream: str) -> None:
    """Serves on a free loopback port, printed as the first line, until killed. upstream: `127.0.0.1:PORT`."""
    server = await asyncio.start_server(Proxy(upstream).serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
