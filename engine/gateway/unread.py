"""What comes from a caller after it has its answer: a request that is refused before it was read goes on coming, and a connection that is
closed in the midst of that is reset, which loses the answer. So the rest is read and thrown away for a while. Knows no request and no
answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from engine.gateway.reply import Message, Receive, Send

LINGER_S = 5.0
"""How long a caller may go on sending what nobody wants, so that it comes to read the answer."""


class Incoming:
    """The caller's side of one exchange, as ASGI's `receive`. comes: the request has a body at all."""

    def __init__(self, receive: Receive, *, comes: bool) -> None:
        self._receive = receive
        self._comes = comes

    async def __call__(self) -> Message:
        message = await self._receive()
        self._comes = bool(message.get("more_body"))
        return message

    def answering(self, send: Send) -> Send:
        """Sends an answer as it is, and ends it only when the request has ended too, or LINGER_S later. For answers with a length: the
        caller knows by that that it has everything."""

        async def send_first(message: Message) -> None:
            if not self._comes or message["type"] != "http.response.body" or message.get("more_body"):
                await send(message)
                return
            await send({**message, "more_body": True})
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_S):
                    while self._comes:
                        await self()
            await send({"type": "http.response.body", "body": b""})

        return send_first
