"""The gateway as one ASGI application: routes, the checks in front of each, and errors in the caller's dialect. Raw ASGI, because routing
in a framework cost more CPU than the server under it (tests/bench/README.md). What a turn does is the engine's."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping

from engine.domain.clock import SystemClock
from engine.domain.errors import FailoverError
from engine.domain.exchange import Payload
from engine.domain.turns import TurnRequest
from engine.gateway.conversation import Context, converse
from engine.gateway.dialects.dialect import Dialect
from engine.gateway.dialects.openai_chat import OpenAIChat
from engine.gateway.engine_port import Engine, Turn
from engine.gateway.guard import Guard, same_token
from engine.gateway.model_names import ModelNames
from engine.gateway.reply import AsgiApp, Receive, Refused, Reply, Scope, Send, json_reply
from engine.gateway.request_body import CallerGone, parse_object, read_body
from engine.gateway.session_key import conversation_of
from engine.gateway.turn_request import turn_request, unknown_model
from engine.providers.headers import goes_up

log = logging.getLogger("failover.gateway")

OPERATOR = "/operator/"
OPERATOR_TOKEN = "x-failover-operator"
RETRY_WHEN_DRAINED_S = 5
MODELS = "/v1/models"
CHAT: Mapping[str, Dialect] = {"/v1/chat/completions": OpenAIChat()}
"""Where a dialect is spoken. A new dialect is one file and one line here."""
_PLAIN: Dialect = OpenAIChat()


class GatewayApp:
    """guard: Host, Origin and `gateway.token`. operator: serves `/operator/*` and checks its own token; operator_token: shows the profile
    on application routes. mask: takes secrets out of what an upstream said. now_ms: the engine's clock.

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
    ) -> None:
        self._engine = engine
        self._guard = guard
        self._operator = operator
        self._operator_token = operator_token
        self._mask = mask
        self._now_ms = now_ms if now_ms is not None else SystemClock().now_ms
        self._names = ModelNames(engine.settings)
        self._in_flight = 0
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
        dialect = CHAT.get(path, _PLAIN)
        try:
            server = scope.get("server")
            self._guard.check_origin(headers, server[0] if server else None)
            if path.startswith(OPERATOR) and self._operator is not None:
                await self._operator(scope, receive, send)
            elif path in CHAT:
                await self._chat(dialect, scope, headers, receive, send, started, same_token(offered, self._operator_token))
            else:
                await self._plain(path, scope["method"], headers).send(send, head_only=scope["method"] == "HEAD")
        except CallerGone:
            pass
        except Refused as refused:
            body = dialect.error(refused.status, refused.code, self._mask(refused.message), {})
            await Reply(refused.status, body, refused.headers).send(send)
        except Exception:
            # A bug of ours ends one request, told as such. An answer that has begun can only be cut: then the server refuses this one.
            log.exception("internal error on %s", path)
            text = "The gateway has an internal error; its log has the details."
            await Reply(500, dialect.error(500, "internal_error", text, {})).send(send)

    async def _chat(
        self, dialect: Dialect, scope: Scope, headers: dict[str, str], receive: Receive, send: Send, started: float, operator: bool
    ) -> None:
        if scope["method"] != "POST":
            raise _wrong_method("POST")
        self._guard.check_token(headers)
        if self.draining or self._engine.draining:
            raise _draining()
        names = self._current_names()
        settings = names.settings
        raw = await read_body(receive, headers, settings.gateway.body_limit_mb)
        body = parse_object(raw)
        problem = dialect.refuse(body)
        if problem is not None:
            raise Refused(400, "invalid_request", problem)
        client = scope.get("client")
        conversation = conversation_of(headers, dialect.session_ids(body), dialect.first_user_message(body), client[0] if client else "")
        turn_id = self._engine.new_turn_id()
        request = turn_request(turn_id, headers, body, dialect, names, conversation)
        up = {name: value for name, value in headers.items() if goes_up(name)}
        payload = Payload(dialect.api, body, raw, body.get("stream") is True, up)
        context = Context(turn_id, dialect, settings, operator, started, self._now_ms, self._mask)
        self._in_flight += 1
        self.idle.clear()
        try:
            await converse(self._begin(request, payload, conversation.caller), context, receive, send)
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self.idle.set()

    def _begin(self, request: TurnRequest, payload: Payload, caller: str | None) -> Turn:
        try:
            return self._engine.begin(request, payload, derived_for=caller)
        except FailoverError:
            raise _draining() from None  # it began while the request was read

    def _plain(self, path: str, method: str, headers: Mapping[str, str]) -> Reply:
        if path not in ("/healthz", "/readyz", MODELS) and not path.startswith(MODELS + "/"):
            text = f"There is no {path[:100]!r} here. Applications use /v1/chat/completions and /v1/models: the base URL ends in /v1."
            raise Refused(404, "not_found", text)
        if method not in ("GET", "HEAD"):
            raise _wrong_method("GET, HEAD")
        if path == "/healthz":
            return json_reply({"status": "ok"})
        if path == "/readyz":
            return self._readiness()
        self._guard.check_token(headers)
        names = self._current_names()
        if path == MODELS:
            return json_reply(_PLAIN.models(list(names.listed())))
        name = path.removeprefix(MODELS + "/")
        owner = dict(names.listed()).get(name)
        if owner is None:
            meaning = names.meaning(name, _PLAIN.api)
            if meaning is None or (meaning.ref is None and meaning.agent is None and name != "default"):
                raise unknown_model(name, names)
            owner = meaning.ref.provider if meaning.ref is not None else "failover"
        return json_reply(_PLAIN.model(name, owner))

    def _readiness(self) -> Reply:
        if self.draining or self._engine.draining:
            return json_reply({"status": "draining"}, 503)
        if not self._engine.ready:
            return json_reply({"status": "no usable profile"}, 503)
        return json_reply({"status": "ready"})

    def _current_names(self) -> ModelNames:
        settings = self._engine.settings
        if settings is not self._names.settings:
            self._names = ModelNames(settings)
        return self._names


def _draining() -> Refused:
    text = "The gateway is stopping and takes no new requests. Try again in a few seconds."
    return Refused(503, "gateway_draining", text, {"retry-after": str(RETRY_WHEN_DRAINED_S)})


def _wrong_method(allowed: str) -> Refused:
    return Refused(405, "method_not_allowed", f"This path takes {allowed} only.", {"allow": allowed})
