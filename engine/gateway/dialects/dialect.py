"""What differs between the dialects of applications, as one protocol: a dialect is one file that implements it. All of it is pure; how
providers are spoken to is `engine.providers`'."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

Details = Mapping[str, object]


class Dialect(Protocol):
    """api: the name of the provider API that speaks the same."""

    @property
    def api(self) -> str: ...

    def refuse(self, body: Mapping[str, object]) -> str | None:
        """What is wrong with a request and what to do, None when it can be sent."""
        ...

    def session_ids(self, body: Mapping[str, object]) -> Iterable[str]:
        """Where a body says which conversation it is, the best place first."""
        ...

    def first_user_message(self, body: Mapping[str, object]) -> object: ...

    def shows_images(self, body: Mapping[str, object]) -> bool:
        """A model that answers must be able to see."""
        ...

    def references(self, body: Mapping[str, object]) -> Iterable[str]:
        """Ids of what is stored at a provider (responses, files) and the request continues."""
        ...

    def error(self, status: int, code: str, message: str, details: Details) -> bytes:
        """An error's body."""
        ...

    def is_error(self, body: str) -> bool:
        """An upstream's body already is an error of this dialect."""
        ...

    def stream_error(self, code: str, message: str, details: Details) -> bytes:
        """The event that ends a broken stream."""
        ...

    def notice_event(self, text: str, model: str) -> bytes:
        """`gateway.notices: inline`: the notice as an event before the stream; empty where an answer must begin otherwise."""
        ...

    def put_notice(self, event: dict[str, object], text: str) -> bool:
        """`gateway.notices: inline`, where `notice_event` is empty: the notice into the first event with text. False: it has none."""
        ...

    def with_notice(self, body: bytes, text: str) -> bytes:
        """`gateway.notices: inline`: the notice before the text of a whole answer. The same bytes when there is no text."""
        ...

    def models(self, listed: Sequence[tuple[str, str]]) -> object:
        """The list of (id, owner) as JSON."""
        ...

    def model(self, name: str, owner: str) -> object: ...


def dumped(value: object) -> bytes:
    """As it is sent; half a character (a lone surrogate) becomes `?`."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def loaded(body: str) -> dict[str, object] | None:
    """A JSON object, or None for anything else."""
    if not body.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def mappings(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def refuse_messages(body: Mapping[str, object]) -> str | None:
    """Why a body made of `messages` cannot be a request, with what to send; None when it can. OpenAI chat and Anthropic share it."""
    messages = body.get("messages")
    if messages is None:
        return '`messages` is missing. Send a list of messages, such as [{"role": "user", "content": "hi"}].'
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
        return '`messages` must be a list of at least one message object, such as {"role": "user", "content": "hi"}.'
    if not isinstance(body.get("stream", False), (bool, type(None))):
        return "`stream` must be true or false."
    return None
