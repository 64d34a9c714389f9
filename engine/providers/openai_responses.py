"""The family `openai-responses`: OpenAI's Responses API, also as Codex's backend and local servers speak it. Nothing of HTTP itself, and
no judgement of a failure."""

from __future__ import annotations

from collections.abc import Mapping

from engine.domain.exchange import Payload
from engine.domain.failure import Failure
from engine.domain.ids import ModelRef
from engine.domain.settings import ProviderSettings
from engine.providers.family import Sign, UpstreamRequest
from engine.providers.openai_request import openai_request
from engine.providers.reading import first_object, in_stream, later_object, mapping, mappings, parsed, plain_events, text_of, whole_object
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
        return openai_request("/responses", provider, ref, secret, payload)

    def kept_as(self, data: bytes) -> str | None:
        answer = mapping(parsed(data))
        response = mapping(answer.get("response")) if "response" in answer else answer
        found = response.get("id") if response.get("object") == "response" and response.get("store") is not False else None
        return found if isinstance(found, str) and 0 < len(found) <= 200 else None

    def read_whole(self, body: bytes) -> Sign | Failure:
        answer = whole_object(body)
        if isinstance(answer, (Sign, Failure)):
            return answer
        failure = _error_in(answer)
        if failure is not None:
            return failure
        if "output" not in answer and (answer.get("message") or answer.get("detail")):
            return Failure(status=200, body=text_of(body))
        # A response that runs in the background has no output yet, and that is what was asked for.
        begun = answer.get("status") in ("queued", "in_progress")
        return Sign.CONTENT if begun or _says(answer) else Sign.END

    def read_event(self, event: Event) -> Sign | Failure:
        answer = first_object(event)
        if isinstance(answer, (Sign, Failure)):
            return answer
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
        data = later_object(event)
        if not isinstance(data, bytes):
            return Sign.CONTENT if data is Sign.DONE else data  # some say `[DONE]` besides; only its own last event ends a response
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
