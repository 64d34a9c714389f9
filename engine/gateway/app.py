"""The gateway as one ASGI application: routes, the checks in front of each, and errors in the caller's dialect. Raw ASGI, because routing
in a framework cost more CPU than the server under it (tests/bench/README.md). What a turn does is the engine's."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping

from engine.domain.clock import SystemClock
from engine.domain.errors import FailoverError
from engine.domain.exchange import ANSWER, COUNT_TOKENS, Payload
from engine.domain.turns import TurnRequest
from engine.gateway.caller import CALLER, Caller
from engine.gateway.conversation import Context, converse
from engine.gateway.dialects.anthropic import Anthropic
from engine.gateway.dialects.dialect import Dialect
from engine.gateway.dialects.openai_chat import OpenAIChat
from engine.gateway.dialects.openai_responses import OpenAIResponses
from engine.gateway.engine_port import Engine, Turn
from engine.gateway.guard import Guard, same_token
from engine.gateway.held_state import held_state
from engine.gateway.metrics import Metrics
from engine.gateway.model_names import ModelNames
from engine.gateway.plain_routes import plain_dialect, plain_reply, wrong_method
from engine.gateway.reply import AsgiApp, Receive, Refused, Reply, Scope, Send
from engine.gateway.request_body import BODY_S, CallerGone, parse_object, read_body
from engine.gateway.session_key import conversation_of
from engine.gateway.turn_request import turn_request, what_cannot_be_said
from engine.gateway.unread import Incoming
from engine.providers.headers import goes_up

log = logging.getLogger("failover.gateway")

OPERATOR = "/operator/"
OPERATOR_TOKEN = "x-failover-operator"
RETRY_WHEN_DRAINED_S = 5
_MESSAGES = Anthropic()
SPOKEN: Mapping[str, tuple[Dialect, str]] = {
    "/v1/chat/completions": (OpenAIChat(), ANSWER),
    "/v1/responses": (OpenAIResponses(), ANSWER),
    "/v1/messages": (_MESSAGES, ANSWER),
    "/v1/messages/count_tokens": (_MESSAGES, COUNT_TOKENS),
}
"""Where a dialect is spoken, and what is asked for there. A new dialect is one file and one line here."""


class GatewayApp:
    """guard: Host, Origin and `gateway.token`. operator: serves `/operator/*` and checks its own token; operator_token: shows the profile
    on application routes. mask: takes secrets out of what an upstream said. now_ms: the engine's clock. body_s: how long a body may take.

    draining: no new turns. idle: set while no turn is in flight.
    """

    def __init__(
        self,
        engine: Engine,
        guard: Guard,
        *,
        operator: AsgiApp | None = None,
        operator_token: str | None = None,
        mask: Callable[[str], str] = str,
        now_ms: Callable[[], int] | None = None,
        body_s: float = BODY_S,
    ) -> None:
        self._engine = engine
        self._guard = guard
        self._operator = operator
        self._operator_token = operator_token
        self._mask = mask
        self._now_ms = now_ms if now_ms is not None else SystemClock().now_ms
        self._body_s = body_s
        self._names = ModelNames(engine.settings)
        self.metrics = Metrics()
        self.draining = False
        self.idle = asyncio.Event()
        self.idle.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = time.perf_counter()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        offered = headers.pop(OPERATOR_TOKEN, None)
        path: str = scope["path"]
        spoken = SPOKEN.get(path)
        dialect = spoken[0] if spoken is not None else plain_dialect(headers)
        incoming = Incoming(receive, comes="content-length" in headers or "transfer-encoding" in headers)
        try:
            server = scope.get("server")
            self._guard.check_origin(headers, server[0] if server else None)
            if path.startswith(OPERATOR) and self._operator is not None:
                await self._operator(scope, incoming, incoming.answering(send))
            elif spoken is not None:
                await self._turn(spoken, scope, headers, incoming, send, started, same_token(offered, self._operator_token))
            else:
                names, method = self._current_names(), scope["method"]
                reply = plain_reply(path, method, headers, self._engine, self._guard, names, self.metrics, draining=self.draining)
                await reply.send(incoming.answering(send), head_only=method == "HEAD")
        except CallerGone:
            pass
        except Refused as refused:
            body = dialect.error(refused.status, refused.code, self._mask(refused.message), {})
            await Reply(refused.status, body, refused.headers).send(incoming.answering(send))
        except Exception:
            # A bug of ours ends one request, told as such. An answer that has begun can only be cut: then the server refuses this one.
            log.exception("internal error on %s", path)
            text = "The gateway has an internal error; its log has the details."
            await Reply(500, dialect.error(500, "internal_error", text, {})).send(send)

    async def _turn(
        self,
        spoken: tuple[Dialect, str],
        scope: Scope,
        headers: dict[str, str],
        receive: Receive,
        send: Send,
        started: float,
        operator: bool,
    ) -> None:
        dialect, task = spoken
        if scope["method"] != "POST":
            raise wrong_method("POST")
        self._guard.check_token(headers)
        if self.draining or self._engine.draining:
            raise _draining()
        names = self._current_names()
        settings = names.settings
        caller: Caller = scope["state"][CALLER]
        raw = await read_body(receive, headers, settings.gateway.body_limit_mb, None if caller.arrived else self._body_s)
        body = parse_object(raw)
        problem = dialect.refuse(body)
        if problem is not None:
            raise Refused(400, "invalid_request", problem)
        client = scope.get("client")
        held = held_state(dialect.references(body), self._engine)
        address = client[0] if client else ""
        conversation = conversation_of(headers, dialect.session_ids(body), dialect.first_user_message(body), address, held.session)
        turn_id = self._engine.new_turn_id()
        request = held.in_request(turn_request(turn_id, headers, body, dialect, names, conversation, task))
        up = {name: value for name, value in headers.items() if goes_up(name)}
        payload = Payload(dialect.api, body, raw, task == ANSWER and body.get("stream") is True, up, task)
        cannot = what_cannot_be_said(body, dialect, names, task) if request.inexpressible else ""
        context = Context(turn_id, dialect, settings, operator, started, self._now_ms, self._mask, self.metrics, cannot)
        self.metrics.in_flight += 1
        self.idle.clear()
        try:
            await converse(self._begin(request, payload, conversation.caller), context, caller, send)
        finally:
            self.metrics.in_flight -= 1
            if not self.metrics.in_flight:
                self.idle.set()

    def _begin(self, request: TurnRequest, payload: Payload, caller: str | None) -> Turn:
        try:
            return self._engine.begin(request, payload, derived_for=caller)
        except FailoverError:
            raise _draining() from None  # it began while the request was read

    def _current_names(self) -> ModelNames:
        settings = self._engine.settings
        if settings is not self._names.settings:
            self._names = ModelNames(settings)
        return self._names


def _draining() -> Refused:
    text = "The gateway is stopping and takes no new requests. Try again in a few seconds."
    return Refused(503, "gateway_draining", text, {"retry-after": str(RETRY_WHEN_DRAINED_S)})
