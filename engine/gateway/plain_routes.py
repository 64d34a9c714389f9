"""The routes that are no turns: health, readiness, metrics, the list of models. Answered at once, from what the engine knows."""

from __future__ import annotations

from collections.abc import Mapping

from engine.gateway.dialects.anthropic import Anthropic
from engine.gateway.dialects.dialect import Dialect
from engine.gateway.dialects.openai_chat import OpenAIChat
from engine.gateway.engine_port import Engine
from engine.gateway.guard import Guard
from engine.gateway.metrics import CONTENT_TYPE, Metrics
from engine.gateway.model_names import ModelNames
from engine.gateway.reply import Refused, Reply, json_reply
from engine.gateway.turn_request import is_name, unknown_model

MODELS = "/v1/models"
_OPENAI, _ANTHROPIC = OpenAIChat(), Anthropic()


def plain_dialect(headers: Mapping[str, str]) -> Dialect:
    """Where the path does not say how its caller speaks: Anthropic's clients always name their version."""
    return _ANTHROPIC if "anthropic-version" in headers else _OPENAI


def plain_reply(
    path: str, method: str, headers: Mapping[str, str], engine: Engine, guard: Guard, names: ModelNames, metrics: Metrics, *, draining: bool
) -> Reply:
    """Raises Refused 404, 405 and 401."""
    if path not in ("/healthz", "/readyz", "/metrics", MODELS) and not path.startswith(MODELS + "/"):
        there = "/v1/chat/completions, /v1/responses, /v1/messages and /v1/models"
        bases = "OpenAI's clients take a base URL that ends in /v1, Anthropic's one without it"
        text = f"There is no {path[:100]!r} here. Applications use {there}: {bases}."
        raise Refused(404, "not_found", text)
    if method not in ("GET", "HEAD"):
        raise wrong_method("GET, HEAD")
    if path == "/healthz":
        return json_reply({"status": "ok"})
    if path == "/readyz":
        return _readiness(engine, draining=draining)
    guard.check_token(headers)
    if path == "/metrics":
        return Reply(200, metrics.exposition(engine.open_windows), content_type=CONTENT_TYPE)
    dialect = plain_dialect(headers)
    if path == MODELS:
        return json_reply(dialect.models(list(names.listed())))
    name = path.removeprefix(MODELS + "/")
    owner = dict(names.listed()).get(name)
    if owner is None:
        meaning = names.meaning(name, dialect.api) if is_name(name) else None
        if meaning is None or (meaning.ref is None and meaning.agent is None and name != "default"):
            raise unknown_model(name, names)
        owner = meaning.ref.provider if meaning.ref is not None else "failover"
    return json_reply(dialect.model(name, owner))


def wrong_method(allowed: str) -> Refused:
    return Refused(405, "method_not_allowed", f"This path takes {allowed} only.", {"allow": allowed})


def _readiness(engine: Engine, *, draining: bool) -> Reply:
    if draining or engine.draining:
        return json_reply({"status": "draining"}, 503)
    if not engine.ready:
        return json_reply({"status": "no usable profile"}, 503)
    return json_reply({"status": "ready"})
