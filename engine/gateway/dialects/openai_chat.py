"""OpenAI's chat completions, as applications send them: their requests, the shape of their errors, lists and events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from engine.gateway.dialects.dialect import Details, dumped, loaded, mappings, refuse_messages

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class OpenAIChat:
    """See `Dialect`."""

    api = "openai-completions"

    def refuse(self, body: Mapping[str, object]) -> str | None:
        return refuse_messages(body)

    def session_ids(self, body: Mapping[str, object]) -> Iterator[str]:
        for member in ("prompt_cache_key", "user"):
            value = body.get(member)
            if isinstance(value, str):
                yield value

    def first_user_message(self, body: Mapping[str, object]) -> object:
        messages = body.get("messages")
        if isinstance(messages, list):
            return next((m.get("content") for m in messages if isinstance(m, dict) and m.get("role") == "user"), None)
        return None

    def shows_images(self, body: Mapping[str, object]) -> bool:
        return any(
            part.get("type") == "image_url" for message in mappings(body.get("messages")) for part in mappings(message.get("content"))
        )

    def references(self, body: Mapping[str, object]) -> Iterator[str]:
        for message in mappings(body.get("messages")):
            for stored in (message.get("audio"), *(part.get("file") for part in mappings(message.get("content")))):
                found = (stored.get("file_id") or stored.get("id")) if isinstance(stored, dict) else None
                if isinstance(found, str):
                    yield found

    def error(self, status: int, code: str, message: str, details: Details) -> bytes:
        kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
        error = {"message": message, "type": kind, "param": None, "code": code, **details}
        return dumped({"error": error})

    def is_error(self, body: str) -> bool:
        found = loaded(body)
        return found is not None and isinstance(found.get("error"), dict)

    def stream_error(self, code: str, message: str, details: Details) -> bytes:
        return b"data: " + self.error(500, code, message, {"partial": True, **details}) + b"\n\n"

    def notice_event(self, text: str, model: str) -> bytes:
        choice = {"index": 0, "delta": {"role": "assistant", "content": f"{text}\n\n"}, "finish_reason": None}
        chunk = {"id": "chatcmpl-notice", "object": "chat.completion.chunk", "created": 0, "model": model, "choices": [choice]}
        return b"data: " + dumped(chunk) + b"\n\n"

    def put_notice(self, event: dict[str, object], text: str) -> bool:
        return False

    def with_notice(self, body: bytes, text: str) -> bytes:
        try:
            answer = json.loads(body)
            message = answer["choices"][0]["message"]
            if not isinstance(message["content"], str):
                return body
            message["content"] = f"{text}\n\n{message['content']}"
        except (ValueError, RecursionError, LookupError, TypeError):
            return body
        return dumped(answer)

    def models(self, listed: Sequence[tuple[str, str]]) -> object:
        return {"object": "list", "data": [self.model(name, owner) for name, owner in listed]}

    def model(self, name: str, owner: str) -> object:
        return {"id": name, "object": "model", "created": 0, "owned_by": owner}
