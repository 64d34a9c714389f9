"""OpenAI's Responses API, as applications (and Codex) send it: their requests and the shape of their errors, lists and events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from engine.gateway.dialects.dialect import Details, dumped, mappings
from engine.gateway.dialects.openai_chat import OpenAIChat

_LIKE_CHAT = OpenAIChat()


class OpenAIResponses(OpenAIChat):
    """See `Dialect`. Errors of whole answers and the list of models are those of chat completions."""

    api = "openai-responses"

    def refuse(self, body: Mapping[str, object]) -> str | None:
        said = body.get("input")
        if said is None and not any(body.get(member) for member in ("previous_response_id", "prompt", "conversation")):
            return "`input` is missing. Send a text, or a list of input items."
        if said is not None and not isinstance(said, (str, list)):
            return "`input` must be a text or a list of input items."
        if not isinstance(body.get("stream", False), (bool, type(None))):
            return "`stream` must be true or false."
        return None

    def first_user_message(self, body: Mapping[str, object]) -> object:
        said = body.get("input")
        if isinstance(said, str):
            return said
        return next((item.get("content") for item in mappings(said) if item.get("role") == "user"), None)

    def shows_images(self, body: Mapping[str, object]) -> bool:
        return any(part.get("type") == "input_image" for part in _parts(body))

    def references(self, body: Mapping[str, object]) -> Iterator[str]:
        conversation = body.get("conversation")
        found = [body.get("previous_response_id"), conversation.get("id") if isinstance(conversation, dict) else conversation]
        found += [item.get("id") for item in mappings(body.get("input")) if item.get("type") == "item_reference"]
        found += [part.get("file_id") for part in _parts(body)]
        for tool in mappings(body.get("tools")):
            stores, container = tool.get("vector_store_ids"), tool.get("container")
            found += stores if isinstance(stores, list) else []
            found += [container] if isinstance(container, str) else []
        yield from (id_ for id_ in found if isinstance(id_, str) and id_)

    def error(self, status: int, code: str, message: str, details: Details) -> bytes:
        return _LIKE_CHAT.error(status, code, message, details)

    def is_error(self, body: str) -> bool:
        return _LIKE_CHAT.is_error(body)

    def stream_error(self, code: str, message: str, details: Details) -> bytes:
        """`error` besides: clients read the members at the top, the SDK raises for that one alone."""
        told = {"code": code, "message": message, "param": None, "partial": True, **details}
        event = {"type": "error", "sequence_number": 0, **told, "error": {"type": "server_error", **told}}
        return b"event: error\ndata: " + dumped(event) + b"\n\n"

    def notice_event(self, text: str, model: str) -> bytes:
        return b""

    def put_notice(self, event: dict[str, object], text: str) -> bool:
        if event.get("type") != "response.output_text.delta":
            return False
        event["delta"] = f"{text}\n\n{event.get('delta', '')}"
        return True

    def with_notice(self, body: bytes, text: str) -> bytes:
        try:
            answer = json.loads(body)
            messages = (item for item in answer["output"] if item["type"] == "message")
            part = next(part for item in messages for part in item["content"] if part["type"] == "output_text")
            part["text"] = f"{text}\n\n{part['text']}"
        except (ValueError, RecursionError, LookupError, TypeError, StopIteration):
            return body
        return dumped(answer)

    def models(self, listed: Sequence[tuple[str, str]]) -> object:
        return _LIKE_CHAT.models(listed)

    def model(self, name: str, owner: str) -> object:
        return _LIKE_CHAT.model(name, owner)


def _parts(body: Mapping[str, object]) -> Iterator[dict[str, object]]:
    for item in mappings(body.get("input")):
        yield from mappings(item.get("content"))
        yield from mappings(item.get("output"))
