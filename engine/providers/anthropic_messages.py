"""The family `anthropic-messages`: Anthropic's Messages API and count_tokens, as Anthropic and those who copy it serve them. Nothing of
HTTP itself, and no judgement of a failure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from engine.domain.exchange import COUNT_TOKENS, Payload
from engine.domain.failure import Failure
from engine.domain.ids import ModelRef
from engine.domain.settings import ProviderSettings
from engine.providers.body_rewrite import with_model
from engine.providers.family import Sign, UpstreamRequest
from engine.providers.reading import first_object, in_stream, later_object, mapping, mappings, parsed, plain_events, text_of, whole_object
from engine.providers.sse import Event

VERSION = "2023-06-01"
"""Of the API, for callers that speak another dialect and so name none."""

_DELTAS = ("text", "thinking", "partial_json", "signature", "citation", "content")
_SILENT = frozenset({"text", "thinking"})
_MARKS = (b"event: error", b'"type":"error"', b'"type": "error"', b"message_stop")


class AnthropicMessages:
    """See `Family`."""

    def request(self, provider: ProviderSettings, ref: ModelRef, secret: str | None, payload: Payload) -> UpstreamRequest:
        headers = {"content-type": "application/json", "accept": "text/event-stream" if payload.stream else "application/json"}
        headers["anthropic-version"] = payload.headers.get("anthropic-version", VERSION)
        if secret is not None:
            if _is_bearer(secret, provider):
                headers["authorization"] = f"Bearer {secret}"
            else:
                headers["x-api-key"] = secret
        body = with_model(payload.raw, payload.body, ref.model)
        return UpstreamRequest(_address(provider.base_url, payload.task), headers, body)

    def kept_as(self, data: bytes) -> str | None:
        return None

    def read_whole(self, body: bytes) -> Sign | Failure:
        answer = whole_object(body)
        if isinstance(answer, (Sign, Failure)):
            return answer
        if answer.get("type") == "error" or answer.get("error"):
            return in_stream(answer)
        if "content" not in answer and isinstance(answer.get("input_tokens"), int):
            return Sign.CONTENT  # count_tokens
        if "content" not in answer and (answer.get("message") or answer.get("detail")):
            return Failure(status=200, body=text_of(body))
        return Sign.CONTENT if any(_block_says(block) for block in mappings(answer.get("content"))) else Sign.END

    def read_event(self, event: Event) -> Sign | Failure:
        answer = first_object(event)
        if isinstance(answer, (Sign, Failure)):
            return answer
        if event.name == "error":
            return Failure(status=200, body=text_of(event.data or b""))
        kind = answer.get("type")
        if kind == "error" or answer.get("error"):
            return in_stream(answer)
        if kind == "content_block_start":
            return Sign.CONTENT if _block_says(mapping(answer.get("content_block"))) else Sign.PREAMBLE
        if kind == "content_block_delta":
            delta = mapping(answer.get("delta"))
            return Sign.CONTENT if any(delta.get(member) for member in _DELTAS) else Sign.PREAMBLE
        return Sign.DONE if kind == "message_stop" else Sign.PREAMBLE

    def plain_length(self, chunk: bytes) -> int:
        return plain_events(chunk, _MARKS)

    def read_later_event(self, event: Event) -> Sign | Failure:
        data = later_object(event)
        if not isinstance(data, bytes):
            return Sign.JUNK if data is Sign.DONE else data
        if event.name == "error" or b'"error"' in data:
            sign = self.read_event(event)
            return Sign.CONTENT if sign is Sign.PREAMBLE else sign
        if b"message_stop" in data and mapping(parsed(data)).get("type") == "message_stop":
            return Sign.DONE
        return Sign.CONTENT  # a stop reason is no end yet: SDKs make the message of what comes until `message_stop`


def _block_says(block: Mapping[str, object]) -> bool:
    """A text or thought that is still empty is no content; a tool call is, from its beginning."""
    kind = block.get("type")
    return bool(block.get(str(kind))) if kind in _SILENT else kind is not None


def _is_bearer(secret: str, provider: ProviderSettings) -> bool:
    """A key goes under its own name; a token (OAuth, or one that `claude setup-token` made) is a bearer's."""
    if secret.startswith("sk-ant-api"):
        return False
    return secret.startswith(("sk-ant-oat", "eyJ")) or provider.oauth is not None


@lru_cache(maxsize=256)
def _address(base_url: str, task: str) -> str:
    base, mark, query = base_url.partition("?")
    path = "/messages/count_tokens" if task == COUNT_TOKENS else "/messages"
    return base.rstrip("/") + path + mark + query
