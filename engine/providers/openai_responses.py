"""The family `openai-responses`: OpenAI's Responses API, also as Codex's backend and local servers speak it. Nothing of HTTP itself, and
no judgement of a failure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from engine.domain.exchange import Payload
from engine.domain.failure import Failure
from engine.domain.ids import ModelRef
from engine.domain.settings import ProviderSettings
from engine.providers.body_rewrite import with_model
from engine.providers.family import Sign, UpstreamRequest
from engine.providers.reading import (
    INVALID,
    NO_DETAILS,
    in_stream,
    looks_whole,
    mapping,
    mappings,
    parsed,
    plain_events,
    text_of,
    unreadable,
    whole_object,
)
from engine.providers.sse import Event

_ENDS = frozenset({"response.completed", "response.incomplete"})
_BEGUN_LATER = frozenset({"message", "reasoning"})
_BROKEN = frozenset({"failed", "cancelled"})
_MARKS = (
    b"response.completed",
    b"response.incomplete",
    b"response.failed",
    b"event: error",
    b'"type":"error"',
    b'"type": "error"',
    b"[DONE]",
)


class OpenAIResponses:
    """See `Family`."""

    def request(self, provider: ProviderSettings, ref: ModelRef, secret: str | None, payload: Payload) -> UpstreamRequest:
        headers = {"content-type": "application/json", "accept": "text/event-stream" if payload.stream else "application/json"}
        url, azure = _address(provider.base_url)
        if secret is not None:
            # As for chat completions: Azure takes a key under its own name, and Entra tokens are JWTs.
            if azure and not secret.startswith("eyJ"):
                headers["api-key"] = secret
            else:
                headers["authorization"] = f"Bearer {secret}"
        return UpstreamRequest(url, headers, with_model(payload.raw, payload.body, ref.model))

    def kept_as(self, data: bytes) -> str | None:
        answer = mapping(parsed(data))
        response = mapping(answer.get("response")) if "response" in answer else answer
        found = response.get("id") if response.get("object") == "response" and response.get("store") is not False else None
        return found if isinstance(found, str) and 0 < len(found) <= 200 else None

    def read_whole(self, body: bytes) -> Sign | Failure:
        answer = whole_object(body)
        if answer is None or isinstance(answer, Failure):
            return answer or Sign.END
        failure = _error_in(answer)
        if failure is not None:
            return failure
        if "output" not in answer and (answer.get("message") or answer.get("detail")):
            return Failure(status=200, body=text_of(body))
        # A response that runs in the background has no output yet, and that is what was asked for.
        begun = answer.get("status") in ("queued", "in_progress")
        return Sign.CONTENT if begun or _says(answer) else Sign.END

    def read_event(self, event: Event) -> Sign | Failure:
        if event.oversized:
            return Sign.CONTENT
        if event.data is None:
            return NO_DETAILS if event.name == "error" else Sign.PREAMBLE
        if event.data.strip() == b"[DONE]":
            return Sign.DONE
        answer = parsed(event.data)
        if answer is INVALID:
            if event.name == "error":
                return Failure(status=200, body=text_of(event.data))
            return unreadable(event)
        if not isinstance(answer, dict):
            return Sign.JUNK
        kind = str(answer.get("type") or event.name)
        if kind == "error" or event.name == "error" or (answer.get("error") and not kind.startswith("response.")):
            return in_stream({"error": answer.get("error") or {key: value for key, value in answer.items() if key != "type"}})
        failure = _error_in(mapping(answer.get("response")))
        if failure is not None or kind == "response.failed":
            return failure or Failure(status=200, message="response.failed without details")
        if kind in _ENDS:
            return Sign.CONTENT if _says(mapping(answer.get("response"))) else Sign.DONE
        if kind == "response.output_item.added":
            item = mapping(answer.get("item")).get("type")
            return Sign.PREAMBLE if item in _BEGUN_LATER else Sign.CONTENT
        return Sign.CONTENT if kind.endswith(".delta") and answer.get("delta") else Sign.PREAMBLE

    def plain_length(self, chunk: bytes) -> int:
        return plain_events(chunk, _MARKS)

    def read_later_event(self, event: Event) -> Sign | Failure:
        data = event.data
        if data is None or event.oversized:
            return NO_DETAILS if event.name == "error" else Sign.CONTENT
        data = data.strip()
        if data == b"[DONE]":
            return Sign.CONTENT  # some say it besides; only its own last event ends a response
        if not looks_whole(data):
            return unreadable(event)
        if event.name == "error" or any(mark in data for mark in _MARKS):
            answer = mapping(parsed(data))
            if str(answer.get("type") or event.name) in _ENDS:
                return Sign.DONE
            sign = self.read_event(event)
            return Sign.CONTENT if sign is Sign.PREAMBLE else sign
        return Sign.CONTENT


def _says(response: Mapping[str, object]) -> bool:
    for item in mappings(response.get("output")):
        kind = item.get("type")
        if kind == "message":
            if any(part.get("text") or part.get("refusal") for part in mappings(item.get("content"))):
                return True
        elif kind != "reasoning" or any(item.get(member) for member in ("summary", "content", "encrypted_content")):
            return True
    return False


def _error_in(response: Mapping[str, object]) -> Failure | None:
    error = response.get("error")
    if error:
        return in_stream({"error": error})
    if response.get("status") in _BROKEN:
        return Failure(status=200, message=f"the response's status is {response.get('status')}")
    return None


@lru_cache(maxsize=256)
def _address(base_url: str) -> tuple[str, bool]:
    base, mark, query = base_url.partition("?")
    host = base.partition("://")[2].partition("/")[0].partition(":")[0]
    return base.rstrip("/") + "/responses" + mark + query, host.endswith(".azure.com")
