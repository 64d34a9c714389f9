"""Bodies that come compressed although we ask for none: inflated piece by piece, so that a bomb fills no memory. Nothing but gzip and
deflate, which the standard library can bound."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

PIECE = 256 * 1024


class Undecodable(ValueError):
    """The body is not what its `content-encoding` says, or is in one that nobody asked for."""


async def decoded(chunks: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """The plain bytes, at most PIECE at a time. Raises Undecodable."""
    if encoding in ("", "identity"):
        async for chunk in chunks:
            yield chunk
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise Undecodable(f"the body is encoded as {encoding[:40]!r}, which was not asked for")
    inflate = zlib.decompressobj(wbits=47)  # gzip or zlib, by their own header
    async for chunk in chunks:
        waiting = chunk
        while waiting and not inflate.eof:
            try:
                piece = inflate.decompress(waiting, PIECE)
            except zlib.error as error:
                raise Undecodable(f"the body is not {encoding}: {error}") from error
            waiting = inflate.unconsumed_tail
            if piece:
                yield piece
    if not inflate.eof:
        raise Undecodable(f"the {encoding} body ends early")
