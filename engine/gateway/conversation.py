"""One request that became a turn, until its last byte: the answer's bytes to the caller with backpressure, or the error. The turn itself
runs in a task of its own; all that happens to it here is `cancel`. No status is chosen here (`outcome`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.domain.exchange import AnswerBroken, Answered
from engine.domain.settings import Settings
from engine.domain.turns import TurnOutcome, TurnResult
from engine.gateway.answer_headers import answer_headers, notice_comments
from engine.gateway.caller import Caller
from engine.gateway.dialects.dialect import Dialect
from engine.gateway.engine_port import Turn
from engine.gateway.inline_notice import InlineNotice
from engine.gateway.metrics import Metrics
from engine.gateway.outcome import failed_reply
from engine.gateway.reply import Reply, Send, encoded

INCOMPLETE = "answer_incomplete"
BROKE_OFF = "The provider's answer broke off after it had begun: what came is incomplete. No other model was tried. Send the request again."


@dataclass(frozen=True, slots=True)
class Context:
    """What a conversation needs besides its turn. started: time.perf_counter() of the request. now_ms: the engine's clock. cannot: what
    some candidate's dialect cannot express."""

    turn_id: str
    dialect: Dialect
    settings: Settings
    shows_profile: bool
    started: float
    now_ms: Callable[[], int]
    mask: Callable[[str], str]
    metrics: Metrics
    cannot: str = ""


async def converse(turn: Turn, context: Context, caller: Caller, send: Send) -> None:
    """Returns when the caller has everything, or is gone."""
    caller.when_gone(turn.cancel)
    try:
        got = await turn.answer()
        if isinstance(got, TurnResult):
            if got.outcome is not TurnOutcome.ABORTED:
                reply = failed_reply(got, context.dialect, context.settings, context.now_ms(), context.mask, context.cannot)
                await reply.send(send)
        elif got.answer.streamed:
            await _stream(turn, got, context, send)
        else:
            await _whole(turn, got, context, send)
    except BaseException:
        # The server gives up on us, or we have a bug: either way nobody reads this answer any more.
        turn.cancel()
        raise
    finally:
        caller.when_gone(None)
        context.metrics.ended(await turn.result(), context.dialect.api)


def _headers(answered: Answered, context: Context) -> list[tuple[bytes, bytes]]:
    took_ms = (time.perf_counter() - context.started) * 1000
    context.metrics.took((took_ms - answered.upstream_ms) / 1000)
    shown = answer_headers(answered, context.turn_id, shows_profile=context.shows_profile, took_ms=took_ms, mask=context.mask)
    return encoded(shown)


async def _whole(turn: Turn, answered: Answered, context: Context, send: Send) -> None:
    parts: list[bytes] = []
    broken = False
    try:
        async for part in turn.chunks():
            parts.append(part)
    except AnswerBroken:
        broken = True
    if broken or await _broke(turn):
        body = context.dialect.error(502, INCOMPLETE, BROKE_OFF, {"turn": context.turn_id})
        await Reply(502, body, {"x-failover-turn": context.turn_id}).send(send)
        return
    body = parts[0] if len(parts) == 1 else b"".join(parts)
    if answered.notices and context.settings.gateway.notices == "inline":
        body = context.dialect.with_notice(body, "\n".join(answered.notices))
    headers = _headers(answered, context)
    headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": answered.answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _stream(turn: Turn, answered: Answered, context: Context, send: Send) -> None:
    dialect = context.dialect
    before = notice_comments(answered.notices)
    inline: InlineNotice | None = None
    if answered.notices and context.settings.gateway.notices == "inline":
        text = "\n".join(answered.notices)
        event = dialect.notice_event(text, answered.served.model)
        before += event
        inline = InlineNotice(dialect, text) if not event else None
    await send({"type": "http.response.start", "status": answered.answer.status, "headers": _headers(answered, context)})
    last = b"\n\n"
    broken = False
    try:
        async for chunk in turn.chunks():
            if inline is not None:
                chunk = inline.put(chunk)
                inline = inline if inline.waiting else None
            if before:
                chunk, before = before + chunk, b""
            if chunk:
                last = chunk
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
    except AnswerBroken:
        broken = True
    end = before
    if inline is not None and inline.rest:
        end += inline.rest
        last = end
    if broken or await _broke(turn):
        # A blank line first, so that nothing half-sent can swallow the event.
        gap = b"" if last.endswith((b"\n\n", b"\r\n\r\n")) else b"\n\n"
        end += gap + dialect.stream_error(INCOMPLETE, BROKE_OFF, {"turn": context.turn_id})
    await send({"type": "http.response.body", "body": end})


async def _broke(turn: Turn) -> bool:
    """The bytes ended; was that the answer's end?"""
    return (await turn.result()).outcome in (TurnOutcome.PARTIAL, TurnOutcome.KILLED, TurnOutcome.FAILED)
