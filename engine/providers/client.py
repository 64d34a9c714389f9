"""Makes attempts: one HTTP call, or a few when the provider states a short wait, and what became of it as an `Answer` or a `Failure`.
Speaks httpx's requests and responses to a transport, without httpx's client: redirects, cookies, proxies and environment are exactly
what a gateway must not have, and its share of a call was twice that of everything else here (tests/bench/README.md).
Never judges a failure, and never guesses who cancelled: only our own limits become failures, a cancellation passes through."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import httpx

from engine.domain.exchange import Answer, AnswerBroken, AttemptFailed, Payload
from engine.domain.failure import Failure
from engine.domain.ids import ModelRef
from engine.domain.settings import ProviderSettings
from engine.policy.hints import stated_wait_ms
from engine.providers.anthropic_messages import AnthropicMessages
from engine.providers.conversion import Converted, Inexpressible, Unconvertible, convert, load
from engine.providers.decoding import Undecodable, decoded
from engine.providers.failures import connection_failure, http_failure
from engine.providers.family import Family, Sign
from engine.providers.google_generative import GoogleGenerativeAI
from engine.providers.headers import lowered, passed_down
from engine.providers.http1 import Http1Transport
from engine.providers.openai_completions import OpenAICompletions
from engine.providers.openai_responses import OpenAIResponses
from engine.providers.streamed import StreamedBody

FAMILIES: Mapping[str, Family] = {
    "openai-completions": OpenAICompletions(),
    "openai-responses": OpenAIResponses(),
    "anthropic-messages": AnthropicMessages(),
    "google-generative-ai": GoogleGenerativeAI(),
}
"""A provider's `api` -> how it is spoken to. A new family is one file and one line here."""

ERROR_BODY_LIMIT = 1024 * 1024
ERROR_BODY_S = 5.0
"""An error is read so far and so long; what has come by then is enough to classify it."""

ANSWER_LIMIT = 64 * 1024 * 1024
"""Bytes of an answer that is not streamed, at most."""

GOODBYE_S = 1.0
"""How long a stream that has said `[DONE]` may take to end, so that its connection can be used again."""

LATER_S = 0.05
"""Our own limit fires so much later than a connect timeout of the same length: whether a connection was made decides who is to blame."""

TICK_S = 0.002
"""A timer may fire this much early, by the clock's resolution."""

RETRIED = frozenset({408, 409, 429})
USER_AGENT = "failover-console"


@dataclass(slots=True)
class HttpAnswer:
    """See `Answer`. skipped: malformed events left out so far."""

    status: int
    headers: Mapping[str, str]
    empty: bool
    streamed: bool
    calls: int = 1
    whole: bytes = b""
    body: StreamedBody | None = field(default=None, repr=False)
    response: httpx.Response | None = field(default=None, repr=False)
    response_id: str | None = None
    converted: Converted | None = field(default=None, repr=False)

    async def chunks(self) -> AsyncIterator[bytes]:
        if self.body is None:
            yield self.whole
            return
        try:
            if self.converted is None:
                async for chunk in self.body.chunks():
                    yield chunk
            else:
                async for chunk in self._converted(self.body, self.converted):
                    yield chunk
            await self._say_goodbye()
        finally:
            await self.aclose()

    async def _converted(self, body: StreamedBody, converted: Converted) -> AsyncIterator[bytes]:
        try:
            stream = converted.stream()
            async for chunk in body.chunks():
                yield stream.feed(chunk)
            yield stream.end()
        except Unconvertible as error:
            raise AnswerBroken(Failure(status=self.status, message=str(error))) from error

    @property
    def notes(self) -> tuple[str, ...]:
        return self.converted.notes if self.converted is not None else ()

    async def aclose(self) -> None:
        if self.response is not None:
            await _close(self.response)

    @property
    def skipped(self) -> int:
        return self.body.skipped if self.body is not None else 0

    async def _say_goodbye(self) -> None:
        if self.body is None or not self.body.finished:
            return
        try:
            async with asyncio.timeout(GOODBYE_S):
                async for _ in self.body.source:
                    pass
        except (TimeoutError, httpx.TransportError, Undecodable):
            pass


class HttpUpstream:
    """See `Upstream`. For one event loop; `aclose` closes the idle connections. sleep, wall_ms: for tests."""

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport | None = None,
        *,
        families: Mapping[str, Family] = FAMILIES,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        wall_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._transport = transport if transport is not None else Http1Transport()
        self._families = families
        self._sleep = sleep
        self._wall_ms = wall_ms

    async def attempt(
        self,
        provider: ProviderSettings,
        ref: ModelRef,
        secret: str | None,
        payload: Payload,
        *,
        limit_ms: int | None,
        retry_max_wait_ms: int | None,
    ) -> Answer | AttemptFailed:
        family = self._families.get(provider.api)
        if family is None:
            return AttemptFailed(Failure(message=f"a request in {payload.api} cannot be put to an API of {provider.api}"), calls=0)
        converted: Converted | None = None
        if payload.api != provider.api:
            await load()
            try:
                converted = convert(payload, provider, ref.model)
            except Inexpressible as why:
                # The gate asks before; what only the conversion itself finds out is the request's fault, not the provider's.
                return AttemptFailed(Failure(message=f"the request cannot be put to {provider.api}: {why}", caller_fault=True), calls=0)
            payload = converted.payload
        secret = secret.strip() if secret is not None else None
        if secret is not None and not (secret.isascii() and secret.isprintable()):
            return AttemptFailed(Failure(message="invalid API key: it holds characters that no header can carry"), calls=0)
        try:
            asked = family.request(provider, ref, secret, payload)
            request = _http_request(asked.url, asked.headers, payload.headers, asked.body, provider)
        except (httpx.InvalidURL, ValueError) as error:
            return AttemptFailed(Failure(message=f"bad URL: {error}"), calls=0)
        limit_s = limit_ms / 1000 if limit_ms is not None else math.inf
        calls = 0
        while True:
            calls += 1
            started = time.monotonic()
            got = await self._once(provider, family, request, limit_s, streamed=payload.stream)
            if isinstance(got, HttpAnswer):
                got.calls = calls
                return got if converted is None else _put_back(got, converted)
            limit_s -= time.monotonic() - started
            wait_s = self._retry_wait_s(got, retry_max_wait_ms) if calls <= provider.max_retries else None
            if wait_s is None or wait_s >= limit_s:
                return AttemptFailed(got, calls)
            await self._sleep(wait_s)
            limit_s -= wait_s

    async def aclose(self) -> None:
        await self._transport.aclose()

    def _retry_wait_s(self, failure: Failure, longest_ms: int | None) -> float | None:
        """`attempt.retry-after`: this answer's own hint, when it allows a retry inside the attempt."""
        status = failure.status
        if not isinstance(status, int) or not (status in RETRIED or 500 <= status <= 599):
            return None
        # The headers' hint only: a time in a body is about a window, not about this call.
        wait_ms = stated_wait_ms(replace(failure, body=None), self._wall_ms())
        if wait_ms is None or (longest_ms is not None and wait_ms > longest_ms):
            return None
        return wait_ms / 1000

    async def _once(
        self, provider: ProviderSettings, family: Family, request: httpx.Request, limit_s: float, *, streamed: bool
    ) -> HttpAnswer | Failure:
        """One call, at most `limit_s` long. Whoever cancels it closes its connection."""
        now = asyncio.get_running_loop().time()
        until = now + min(provider.timeout_s + LATER_S, limit_s)
        first_byte = min(until, now + provider.first_byte_s + LATER_S) if streamed else until
        response: httpx.Response | None = None
        kept = False
        try:
            async with asyncio.timeout_at(first_byte) as timer:
                response = await self._transport.handle_async_request(request)
                got = await _read(response, family, streamed, (lambda: timer.reschedule(until)) if streamed else _nothing)
            kept = isinstance(got, HttpAnswer) and got.body is not None
            return got
        except TimeoutError:
            if asyncio.get_running_loop().time() >= now + limit_s - TICK_S:
                return Failure(message="cut short by the turn's own budget", caller_fault=True)
            what = "first byte" if streamed else "complete answer"
            limit_s = min(provider.first_byte_s, provider.timeout_s) if streamed else provider.timeout_s
            return Failure(code="ETIMEDOUT", error_type="ReadTimeout", message=f"timed out: no {what} within {limit_s:g} s")
        except httpx.TransportError as error:
            return connection_failure(error, response.status_code if response is not None else None)
        except Undecodable as error:
            return Failure(status=response.status_code if response is not None else None, message=str(error))
        finally:
            if response is not None and not kept:
                await _close(response)


def _put_back(answer: HttpAnswer, converted: Converted) -> HttpAnswer | AttemptFailed:
    """The answer in the caller's dialect."""
    answer.converted, answer.response_id = converted, None
    answer.headers = {**answer.headers, "content-type": "text/event-stream" if answer.streamed else "application/json"}
    if answer.body is None and not answer.empty:
        try:
            answer.whole = converted.answer(answer.whole)
        except Unconvertible as error:
            return AttemptFailed(Failure(status=answer.status, message=str(error)), answer.calls)
    return answer


async def _read(response: httpx.Response, family: Family, streamed: bool, first_byte: Callable[[], None]) -> HttpAnswer | Failure:
    headers = lowered(response.headers.raw)
    status = response.status_code
    source = decoded(_stream(response).__aiter__(), headers.get("content-encoding", "").strip().lower())
    if status >= 300:
        first_byte()
        return http_failure(status, headers, await _error_text(source))
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    down = passed_down(headers)
    if kind:
        down["content-type"] = headers["content-type"]
    if kind == "text/event-stream" or (streamed and kind not in ("application/json", "text/html")):
        body = StreamedBody(source, family, status)
        content = await body.until_content(first_byte)
        if isinstance(content, Failure):
            return replace(content, headers=headers)
        return HttpAnswer(status, down, not content, True, body=body, response=response, response_id=body.kept_as)
    whole = bytearray()
    async for piece in source:
        if not whole:
            first_byte()
        whole += piece
        if len(whole) > ANSWER_LIMIT:
            return Failure(status=status, message=f"the answer is longer than {ANSWER_LIMIT // 2**20} MiB", headers=headers)
    answer = bytes(whole)
    sign = family.read_whole(answer)
    if isinstance(sign, Failure):
        return replace(sign, headers=headers)
    kept_as = family.kept_as(answer)
    return HttpAnswer(status, down, sign is not Sign.CONTENT, False, whole=answer, response_id=kept_as)


async def _error_text(source: AsyncIterator[bytes]) -> str:
    text = bytearray()
    try:
        async with asyncio.timeout(ERROR_BODY_S):
            async for piece in source:
                text += piece
                if len(text) >= ERROR_BODY_LIMIT:
                    break
    except (TimeoutError, httpx.TransportError, Undecodable):
        pass  # the status is the news; the text helps as far as it came
    return bytes(text[:ERROR_BODY_LIMIT]).decode("utf-8", "replace")


def _http_request(
    url: str, headers: Mapping[str, str], callers: Mapping[str, str], body: bytes, provider: ProviderSettings
) -> httpx.Request:
    address = _url(url)
    merged = {"user-agent": USER_AGENT, **callers, **headers, "accept-encoding": "identity"}
    raw = [(b"host", address.netloc), *((name.encode("latin-1"), value.encode("latin-1")) for name, value in merged.items())]
    raw.append((b"content-length", b"%d" % len(body)))
    limits = {"connect": min(provider.connect_timeout_s, provider.timeout_s), "read": provider.idle_timeout_s}
    # Given a stream, httpx adds no headers of its own, which is most of what building a request costs.
    return httpx.Request("POST", address, headers=raw, stream=httpx.ByteStream(body), extensions={"timeout": limits})


@lru_cache(maxsize=1024)
def _url(url: str) -> httpx.URL:
    address = httpx.URL(url)
    if address.scheme not in ("http", "https") or not address.host:
        raise httpx.InvalidURL(f"{url!r} is no http(s) address")
    return address


def _stream(response: httpx.Response) -> httpx.AsyncByteStream:
    assert isinstance(response.stream, httpx.AsyncByteStream)
    return response.stream


def _nothing() -> None:
    pass


async def _close(response: httpx.Response) -> None:
    await _stream(response).aclose()
