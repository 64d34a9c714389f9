"""Between the turn's task, which reads the provider, and the request's, which writes to the client: a bounded buffer of bytes. A slow
client stops the reading of the provider (spec/gateway.md, "Streaming"), so nobody buffers an answer without bound."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator

from engine.live.bell import Bell

HELD_BYTES = 256 * 1024


class Pipe:
    """One writer, one reader, one loop. More than `held` bytes are never waiting, but for the one chunk that goes over."""

    def __init__(self, held: int = HELD_BYTES) -> None:
        self._held = held
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._closed = False
        self._changed = Bell()

    async def put(self, chunk: bytes) -> None:
        """Returns when there is room again; what comes after `close` is dropped."""
        if self._closed or not chunk:
            return
        self._chunks.append(chunk)
        self._size += len(chunk)
        self._changed.ring()
        while self._size >= self._held and not self._closed:
            await self._changed.wait()

    def close(self) -> None:
        """Nothing more comes; the reader still gets what is held."""
        self._closed = True
        self._changed.ring()

    def discard(self) -> None:
        """The reader is gone: what is held is dropped."""
        self._chunks.clear()
        self._size = 0
        self.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            if self._chunks:
                chunk = self._chunks.popleft()
                self._size -= len(chunk)
                self._changed.ring()
                yield chunk
            elif self._closed:
                return
            else:
                await self._changed.wait()
