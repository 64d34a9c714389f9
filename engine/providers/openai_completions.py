"""The family `openai-completions`: OpenAI's chat completions as some thirty vendors serve them, each with small liberties that are read
generously here. Nothing of HTTP itself, and no judgement of a failure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from engine.domain.exchange import Payload
from engine.domain.failure import Failure
from engine.domain.ids import ModelRef
from engine.domain.settings import ProviderSettings
from engine.providers.family import Sign, UpstreamRequest
from engine.providers.openai_request import openai_request
from engine.providers.reading import first_object, later_object, mappings, plain_events, text_of, whole_object
from engine.providers.sse import Event

_USABLE = (
    "content",
    "tool_calls",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "function_call",
    "refusal",
    "audio",
    "images",
)
_ERROR_MEMBERS = ("errors", "detail", "message", "msg", "code", "status")
_FINISHED = re.compile(rb'"finish_reason"\s*:\s*"')
_MARKS = (b'"error"', b"event:", b'"base_resp"', b"[DONE]")


class OpenAICompletions:
    """See `Family`."""

    def request(self, provider: ProviderSettings, ref: ModelRef, secret: str | None, payload: Payload) -> UpstreamRequest:
        return openai_request("/chat/completions", provider, ref, secret, payload)

    def kept_as(self, data: bytes) -> str | None:
        return None

    def read_whole(self, body: bytes) -> Sign | Failure:
        answer = whole_object(body)
        if isinstance(answer, (Sign, Failure)):
            return answer
        failure = _error_in(answer)
        if failure is not None:
            return failure
        if "choices" not in answer and any(answer.get(member) for member in _ERROR_MEMBERS):
            return Failure(status=200, body=text_of(body))
        return Sign.CONTENT if _usable(answer) else Sign.END

    def read_event(self, event: Event) -> Sign | Failure:
        answer = first_object(event)
        if isinstance(answer, (Sign, Failure)):
            return answer
        if event.name == "error":
            return Failure(status=200, body=text_of(event.data or b""))
        failure = _error_in(answer)
        if failure is not None:
            return failure
        if _usable(answer):
            return Sign.CONTENT
        return Sign.END if any(choice.get("finish_reason") for choice in _choices(answer)) else Sign.PREAMBLE

    def plain_length(self, chunk: bytes) -> int:
        finished = _FINISHED.search(chunk)
        return plain_events(chunk if finished is None else chunk[: finished.start()], _MARKS)

    def read_later_event(self, event: Event) -> Sign | Failure:
        data = later_object(event)
        if not isinstance(data, bytes):
            return data
        if event.name == "error" or b'"error"' in data or b'"base_resp"' in data:
            sign = self.read_event(event)
            return Sign.CONTENT if sign is Sign.PREAMBLE else sign
        return Sign.END if _FINISHED.search(data) else Sign.CONTENT


def _choices(answer: Mapping[str, object]) -> list[Mapping[str, object]]:
    return mappings(answer.get("choices"))


def _usable(answer: Mapping[str, object]) -> bool:
    """Text, a tool call or reasoning in any choice, streamed (`delta`) or whole (`message`)."""
    for choice in _choices(answer):
        for part in (choice.get("delta"), choice.get("message")):
            if isinstance(part, dict) and any(part.get(member) for member in _USABLE):
                return True
        if choice.get("text"):
            return True
    return False


def _error_in(answer: Mapping[str, object]) -> Failure | None:
    choices = _choices(answer)
    status = answer.get("base_resp")
    if (
        answer.get("error")
        or answer.get("object") == "error"
        or answer.get("type") == "error"
        or (isinstance(status, dict) and status.get("status_code"))
        or any(choice.get("error") for choice in choices)
    ):
        found = {key: value for key, value in answer.items() if key != "choices"}
        nested = next((choice["error"] for choice in choices if choice.get("error")), None)
        if nested is not None:
            found.setdefault("error", nested)
        return Failure(status=200, body=json.dumps(found, ensure_ascii=False))
    if any(choice.get("finish_reason") == "error" for choice in choices):
        return Failure(status=200, message="finish reason: error")
    return None
