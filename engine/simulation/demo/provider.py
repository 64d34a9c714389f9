"""A provider that speaks chat completions over real HTTP and misbehaves when the script says so. It knows the profile of a request by
its key, as a real one would; it knows nothing of failover."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from engine.simulation.demo.cast import KEYS, Player
from engine.simulation.demo.script import Behaviour, Step

Judge = Callable[[str, str, str | None], Step | None]
"""provider, model, profile -> the step of the script that decides about this request, None: all is well."""

HANG_S = 30.0
"""Longer than the demo's gateway waits for a first byte."""

ANSWER = "Certainly. Here is the short answer, one word after the other, as a model of that size would give it."


def provider_app(player: Player, judge: Judge, random: Random) -> Starlette:
    """`POST /v1/chat/completions` of one provider."""

    async def complete(request: Request) -> Response:
        body: dict[str, Any] = await request.json()
        model = str(body.get("model"))
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        profile = next((name for name, known in KEYS.items() if known == key), None)
        if profile is None:
            return JSONResponse({"error": {"message": "Incorrect API key provided", "type": "authentication_error"}}, 401)
        if model not in player.models:
            return JSONResponse({"error": {"message": f"The model `{model}` does not exist", "code": "model_not_found"}}, 404)
        step = judge(player.id, model, profile)
        # Refusing is quick, thinking takes its time.
        await asyncio.sleep(player.latency_ms / 1000 * (random.uniform(0.1, 0.3) if step else random.uniform(0.7, 1.4)))
        if step is not None and step.behaviour is Behaviour.HANGS:
            await asyncio.sleep(HANG_S)
        cuts = step is not None and step.behaviour is Behaviour.CUTS
        if step is not None and not cuts:
            return refusal(step)
        words = ANSWER.split()[: random.randint(6, 19)]
        if body.get("stream"):
            return StreamingResponse(_streamed(model, words, player.pace_ms / 1000, cuts=cuts), media_type="text/event-stream")
        if cuts:
            return refusal(Step(0, player.id, Behaviour.SERVER_ERROR))
        return JSONResponse(_whole(model, words))

    return Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])


def refusal(step: Step) -> Response:
    """What a provider in that state answers, in the words that real ones use."""
    headers = {"retry-after": str(step.retry_after_s)} if step.retry_after_s is not None else {}
    match step.behaviour:
        case Behaviour.RATE_LIMIT:
            return _error(429, "rate_limit_error", "Number of requests has exceeded your per-minute rate limit", headers)
        case Behaviour.OVERLOADED:
            return _error(529, "overloaded_error", "Overloaded", headers)
        case Behaviour.BILLING:
            return _error(402, "billing_error", "Your credit balance is too low to access the API. Please go to Plans & Billing", headers)
        case Behaviour.REVOKED:
            return _error(401, "authentication_error", "This API key has been revoked", headers, code="api_key_revoked")
        case Behaviour.SUBSCRIPTION:
            error = {"type": "usage_limit_reached", "message": "The usage limit has been reached", "resets_in_seconds": step.retry_after_s}
            return JSONResponse({"error": error}, 429)
        case Behaviour.SERVER_ERROR | Behaviour.HANGS | Behaviour.CUTS | Behaviour.OK:
            return _error(500, "api_error", "Internal server error", headers)
        case Behaviour.BAD_GATEWAY:
            page = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
            return HTMLResponse(page, 502, headers)


def _error(status: int, kind: str, message: str, headers: dict[str, str], code: str | None = None) -> Response:
    return JSONResponse({"error": {"type": kind, "message": message, **({"code": code} if code else {})}}, status, headers)


def _whole(model: str, words: list[str]) -> dict[str, object]:
    choice = {"index": 0, "message": {"role": "assistant", "content": " ".join(words)}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 12, "completion_tokens": len(words), "total_tokens": 12 + len(words)}
    return {"id": "chatcmpl-demo", "object": "chat.completion", "created": 0, "model": model, "choices": [choice], "usage": usage}


async def _streamed(model: str, words: list[str], pace_s: float, *, cuts: bool = False) -> AsyncIterator[bytes]:
    def event(delta: dict[str, str], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {"id": "chatcmpl-demo", "object": "chat.completion.chunk", "created": 0, "model": model, "choices": [choice]}
        return f"data: {json.dumps(chunk)}\n\n".encode()

    yield event({"role": "assistant", "content": ""})
    for place, word in enumerate(words):
        if cuts and place == len(words) // 2:
            raise ConnectionAbortedError("the demo breaks off here")
        yield event({"content": word + " "})
        await asyncio.sleep(pace_s)
    yield event({}, "stop")
    yield b"data: [DONE]\n\n"
