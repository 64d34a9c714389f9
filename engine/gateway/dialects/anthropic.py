"""Anthropic's messages, as applications send them: their requests, the shape of their errors, lists and events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from engine.gateway.dialects.dialect import Details, dumped, loaded, mappings, refuse_messages

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_SESSION = re.compile(r"_session_([A-Za-z0-9-]{1,128})$")
_SINCE = "1970-01-01T00:00:00Z"


class Anthropic:
    """See `Dialect`."""

    api = "anthropic-messages"

    def refuse(self, body: Mapping[str, object]) -> str | None:
        return refuse_messages(body)

    def session_ids(self, body: Mapping[str, object]) -> Iterator[str]:
        metadata = body.get("metadata")
        user = metadata.get("user_id") if isinstance(metadata, dict) else None
        if not isinstance(user, str):
            return
        found = loaded(user)
        if found is not None:
            session = found.get("session_id")
            if isinstance(session, str):
                yield session
        elif (ending := _SESSION.search(user)) is not None:
            yield ending[1]
        yield user

    def first_user_message(self, body: Mapping[str, object]) -> object:
        return next((m.get("content") for m in mappings(body.get("messages")) if m.get("role") == "user"), None)

    def shows_images(self, body: Mapping[str, object]) -> bool:
        return any(block.get("type") == "image" for block in _blocks(body))

    def references(self, body: Mapping[str, object]) -> Iterator[str]:
        container = body.get("container")
        found = container.get("id") if isinstance(container, dict) else container
        if isinstance(found, str):
            yield found
        for block in _blocks(body):
            source = block.get("source")
            file = source.get("file_id") if isinstance(source, dict) else block.get("file_id")
            if isinstance(file, str):
                yield file

    def error(self, status: int, code: str, message: str, details: Details) -> bytes:
        kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
        return dumped({"type": "error", "error": {"type": kind, "message": message, "code": code, **details}})

    def is_error(self, body: str) -> bool:
        found = loaded(body)
        return found is not None and found.get("type") == "error" and isinstance(found.get("error"), dict)

    def stream_error(self, code: str, message: str, details: Details) -> bytes:
        return b"event: error\ndata: " + self.error(500, code, message, {"partial": True, **details}) + b"\n\n"

    def notice_event(self, text: str, model: str) -> bytes:
        return b""

    def put_notice(self, event: dict[str, object], text: str) -> bool:
        delta = event.get("delta")
        if event.get("type") != "content_block_delta" or not isinstance(delta, dict) or delta.get("type") != "text_delta":
            return False
        delta["text"] = f"{text}\n\n{delta.get('text', '')}"
        return True

    def with_notice(self, body: bytes, text: str) -> bytes:
        try:
            answer = json.loads(body)
            block = next(block for block in answer["content"] if block["type"] == "text")
            block["text"] = f"{text}\n\n{block['text']}"
        except (ValueError, RecursionError, LookupError, TypeError, StopIteration):
            return body
        return dumped(answer)

    def models(self, listed: Sequence[tuple[str, str]]) -> object:
        data = [self.model(name, owner) for name, owner in listed]
        first, last = (listed[0][0], listed[-1][0]) if listed else (None, None)
        return {"data": data, "has_more": False, "first_id": first, "last_id": last}

    def model(self, name: str, owner: str) -> object:
        return {"type": "model", "id": name, "display_name": name, "created_at": _SINCE}


def _blocks(body: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Every block of every message, those in a tool's result too."""
    for message in mappings(body.get("messages")):
        for block in mappings(message.get("content")):
            yield block
            yield from mappings(block.get("content"))
