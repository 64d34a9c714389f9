"""The operator API, `/operator/*`: what the console and the commands see and do, over HTTP with a token of its own. It turns requests
into calls of `Operations` and decides nothing: no rule of failover, and no route that applications use, belongs here."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from engine.domain.decisions import Matching
from engine.domain.errors import FailoverError, UsageError
from engine.domain.ids import SessionKey
from engine.domain.operations import Event, Operations
from engine.gateway.wire import BY_HEADER, INSTANCE_HEADER, dump, dump_error, load_act, load_by, load_question

log = logging.getLogger("failover.operator")

PREFIX = "/operator/"
HEARTBEAT_S = 3.0
"""A silent stream says so this often, so that a reader notices a dead gateway within 10 s (field report M05)."""

MAX_ACT_BYTES = 64 * 1024
MAX_DECISIONS = 1000


class OperatorApi:
    """An ASGI application for every path under `/operator/`, behind the gateway's check of Host and Origin.

    token: compared in constant time. instance: this run of the gateway; told to anyone who asks, because a client checks it before it
    sends the token.
    """

    def __init__(self, operations: Operations, *, token: str, instance: str, version: str = "") -> None:
        if not token:
            raise ValueError("an operator API without a token would be open to everyone")
        self._operations = operations
        self._token = token.encode()
        self._instance = instance
        self._version = version
        self._views: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "snapshot": self._snapshot,
            "events": self._events,
            "preview": self._preview,
            "decisions": self._decisions,
            "detail": self._detail,
        }
        self._posts: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "acts": self._acts,
            "what_if": self._what_if,
            "moves": self._moves,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError("the operator API speaks HTTP only")
        response = await self._answer(Request(scope, receive))
        response.headers[INSTANCE_HEADER] = self._instance
        # What an operator sees is for no cache and for no other page's script.
        response.headers["cache-control"] = "no-store"
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        name = request.url.path.partition(PREFIX)[2].strip("/")
        if name == "instance":
            return _json({"service": "failover", "instance": self._instance, "version": self._version})
        if not self._known(request.headers.get("authorization", "")):
            how = "send `Authorization: Bearer` with the token of the state directory"
            refusal = _refuse(401, "The operator token is missing or wrong", next_step=how)
            refusal.headers["www-authenticate"] = "Bearer"
            return refusal
        view = self._posts.get(name) or self._views.get(name)
        if view is None:
            return _refuse(
                404, "No such operator route", request.url.path, f"there are {', '.join([*self._views, *self._posts, 'instance'])}"
            )
        wanted = "POST" if name in self._posts else "GET"
        if request.method != wanted:
            refusal = _refuse(405, f"{name} is {wanted} only", f"it was asked with {request.method}")
            refusal.headers["allow"] = wanted
            return refusal
        try:
            return await view(request)
        except UsageError as wrong:
            return _raw(dump_error(wrong), 400)
        except FailoverError as failed:
            return _raw(dump_error(failed), 409)
        except Exception as error:
            # Its kind only: the text of what is unexpected may quote a secret.
            log.exception("internal error on %s", request.url.path)
            return _refuse(
                500, "The engine has an internal error", f"{type(error).__name__} in {name}", "the gateway's log has the details"
            )

    def _known(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token)
        return scheme.lower() == "bearer" and same

    async def _snapshot(self, request: Request) -> Response:
        return _raw(dump(await self._operations.snapshot()))

    async def _preview(self, request: Request) -> Response:
        session = request.query_params.get("session")
        if not session:
            raise UsageError("The preview of which session?", "session: is missing", "ask for /operator/preview?session=KEY")
        return _raw(dump(await self._operations.preview(SessionKey(session))))

    async def _decisions(self, request: Request) -> Response:
        query = request.query_params
        session, turn = query.get("session") or None, query.get("turn") or None
        limit = _whole(query.get("limit"), "limit", 100)
        if not 1 <= limit <= MAX_DECISIONS:
            raise UsageError("The limit does not fit", f"limit: is {limit}", f"ask for 1 to {MAX_DECISIONS}")
        since, until = (_whole(query[name], name, 0) if query.get(name) else None for name in ("since", "until"))
        matching = Matching(query.get("provider") or None, query.get("reason") or None, since, until)
        key = SessionKey(session) if session else None
        found = await self._operations.decisions(session=key, turn=turn, limit=limit, matching=matching)
        return _json({"decisions": [dict(record) for record in found]})

    async def _detail(self, request: Request) -> Response:
        session = request.query_params.get("session")
        if not session:
            raise UsageError("The detail of which session?", "session: is missing", "ask for /operator/detail?session=KEY")
        return _raw(dump(await self._operations.detail(SessionKey(session))))

    async def _what_if(self, request: Request) -> Response:
        body = await _body(request)
        if isinstance(body, Response):
            return body
        session, assumptions = load_question(body)
        if not session:
            raise UsageError("What if, for which session?", "session: is missing")
        return _raw(dump(await self._operations.what_if(SessionKey(session), assumptions)))

    async def _moves(self, request: Request) -> Response:
        body = await _body(request)
        if isinstance(body, Response):
            return body
        return _raw(dump(await self._operations.moves(load_question(body)[1])))

    async def _acts(self, request: Request) -> Response:
        body = await _body(request)
        if isinstance(body, Response):
            return body
        act = load_act(body)
        # One turn of the loop: what came behind the act has been read then.
        await asyncio.sleep(0)
        if await request.is_disconnected():
            # It lay there while this process was stopped, or the network was: its sender has been told that it came to nothing.
            return _refuse(409, "Nobody waits for this act any more")
        result = await self._operations.act(act, load_by(request.headers.get(BY_HEADER)))
        return _raw(dump(result), 200 if result.ok else 409)

    async def _events(self, request: Request) -> Response:
        asked = request.headers.get("last-event-id") or request.query_params.get("after")
        after = _whole(asked, "after", -1)
        events = self._operations.events(after if after >= 0 else None)
        return StreamingResponse(self._stream(events), media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def _stream(self, events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
        """Until the engine has no more to tell, which is when it has drained and stopped, or the reader goes away."""
        # The first bytes at once: the reader knows then that it is listening, also when nothing happens.
        yield b": listening\n\n"
        upcoming = asyncio.ensure_future(anext(events))
        try:
            while True:
                await asyncio.wait({upcoming}, timeout=HEARTBEAT_S)
                if not upcoming.done():
                    yield b": nothing new\n\n"
                    continue
                try:
                    event = upcoming.result()
                except StopAsyncIteration:
                    return
                upcoming = asyncio.ensure_future(anext(events))
                # ASCII: some readers end a line at U+2028, which JSON may hold as it is.
                yield f"id: {event.seq}\ndata: {json.dumps(dict(event.data))}\n\n".encode()
        finally:
            upcoming.cancel()
            await asyncio.gather(upcoming, return_exceptions=True)
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()


async def _body(request: Request) -> bytes | Response:
    """What was posted, or the refusal."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MAX_ACT_BYTES:
                return _refuse(413, "The act is too large", f"an act has at most {MAX_ACT_BYTES} bytes")
    except ClientDisconnect:
        return _refuse(400, "The act did not arrive whole", "the caller went away")
    return bytes(body)


def _whole(text: str | None, name: str, absent: int) -> int:
    if text is None:
        return absent
    try:
        return int(text)
    except ValueError:
        raise UsageError("A number was expected", f"{name}: {text[:40]!r} is not a whole number") from None


def _raw(body: bytes, status: int = 200) -> Response:
    return Response(body, status, media_type="application/json")


def _json(value: object, status: int = 200) -> Response:
    return _raw(json.dumps(value, ensure_ascii=False).encode(), status)


def _refuse(status: int, title: str, happened: str = "", next_step: str = "") -> Response:
    return _raw(dump_error(FailoverError(title, happened, next_step)), status)
