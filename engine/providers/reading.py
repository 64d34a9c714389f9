"""What every API family does with what a provider sends: JSON or not, a page instead of JSON, whole events that need no look. What the
members mean differs and is each family's own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from engine.domain.failure import Failure
from engine.providers.family import Sign
from engine.providers.sse import Event


class Invalid:
    """Not JSON."""


INVALID = Invalid()


def parsed(data: bytes) -> object:
    """INVALID instead of an exception."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return INVALID


def text_of(body: bytes) -> str:
    return body.decode("utf-8", "replace")


def dumped(value: object) -> bytes:
    """Lone surrogates (a provider may send half an emoji) become `?` instead of an exception."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def whole_object(body: bytes) -> Mapping[str, object] | Sign | Failure:
    """A whole answer as an object, or what it is without one: END for an empty one, a Failure for what is no JSON answer at all."""
    opening = body[:64].lstrip()
    if not opening:
        return Sign.END
    if opening.startswith(b"<"):
        return Failure(status=200, body=text_of(body), message="the provider answered with a page, not with JSON")
    answer = parsed(body)
    if answer is INVALID:
        if opening.startswith((b"{", b"[")):
            # Without the text: what a model wrote is no evidence of what went wrong.
            return Failure(status=200, message=f"the answer is no valid JSON: it breaks off or is garbled ({len(body)} bytes)")
        return Failure(status=200, body=text_of(body))
    return answer if isinstance(answer, dict) else Sign.END


def first_object(event: Event) -> Mapping[str, object] | Sign | Failure:
    """An event before the first content as an object, or what it is without one."""
    if event.oversized:
        return Sign.CONTENT
    if event.data is None:
        return NO_DETAILS if event.name == "error" else Sign.PREAMBLE
    if event.data.strip() == DONE:
        return Sign.DONE
    answer = parsed(event.data)
    if isinstance(answer, dict):
        return answer
    return Failure(status=200, body=text_of(event.data)) if event.name == "error" else _unreadable(event)


def later_object(event: Event) -> bytes | Sign | Failure:
    """An event after the first content: its object, unread, or what it is without one. An event named `error` comes as it is."""
    if event.data is None or event.oversized:
        return NO_DETAILS if event.name == "error" else Sign.CONTENT
    data = event.data.strip()
    if data == DONE:
        return Sign.DONE
    return data if event.name == "error" or _looks_whole(data) else _unreadable(event)


def mapping(value: object) -> Mapping[str, object]:
    """An empty one for anything else: providers leave out what they like."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def plain_events(chunk: bytes, marks: Sequence[bytes]) -> int:
    """How many bytes at the beginning of a chunk are whole, well-formed events without any of `marks` (see `Family.plain_length`)."""
    until = len(chunk)
    for mark in marks:
        found = chunk.find(mark, 0, until)
        until = found if found >= 0 else until
    end = chunk.rfind(b"\n\n", 0, until) + 2
    events = chunk.count(b"\n\n", 0, end)
    if not events or not chunk.count(b"data: {", 0, end) == events == chunk.count(b"}\n\n", 0, end):
        return 0
    # Else one was cut and still ends in a brace, or a text holds some: they are looked at one by one.
    return end if chunk.count(b"{", 0, end) == chunk.count(b"}", 0, end) else 0


def in_stream(body: Mapping[str, object] | bytes) -> Failure:
    """An error inside a stream or body that began with 200."""
    return Failure(status=200, body=text_of(body) if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False))


def _looks_whole(data: bytes) -> bool:
    """An event that surely is no JSON broken off: without parsing it, unless a text in it holds braces."""
    if data.startswith(b"{") and data.endswith(b"}") and data.count(b"{") == data.count(b"}"):
        return True
    return isinstance(parsed(data), dict)


def _unreadable(event: Event) -> Sign | Failure:
    """An event whose data is no JSON object. Rubbish costs nothing; what began as an object was a part of the answer, and when it breaks
    off before it says which, the text would be wrong without a trace."""
    garbled = event.name not in _AUXILIARY and event.data is not None and _BEGUN.match(event.data) is not None
    return GARBLED if garbled else Sign.JUNK


DONE = b"[DONE]"
_AUXILIARY = frozenset({"ping", "keepalive"})
_BEGUN = re.compile(rb'\s*\{\s*"')
NO_DETAILS = Failure(status=200, message="the stream held an error without details")
GARBLED = Failure(status=200, message="malformed_response: an event with content was garbled")
