"""Reads a request's body with its limit and as JSON, or says what is wrong with it. What the fields mean is the dialect's business."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NoReturn

from engine.gateway.reply import Receive, Refused


class CallerGone(Exception):
    """The caller hung up before its request was complete."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


async def read_body(receive: Receive, headers: Mapping[str, str], limit_mb: float) -> bytes:
    """Raises Refused 413, also for a body without a stated length, 415 for an encoded one, and CallerGone."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        # Passed on, the header would not fit the body that goes up, which is written anew where the model changes.
        raise Refused(415, "encoding_not_supported", f"The request's body is encoded as {encoding[:40]!r}. Send it uncompressed.")
    limit = int(limit_mb * 1024 * 1024)
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise _too_large(limit_mb)
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit_mb)
        return body
    parts: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise CallerGone
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit_mb)
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def parse_object(raw: bytes) -> dict[str, object]:
    """Raises Refused 400."""
    if not raw.strip():
        raise Refused(400, "invalid_json", "The request has no body. Send a JSON object.")
    try:
        text = _text(raw)
        value = _DECODER.decode(text.removeprefix("\ufeff"))
    except RecursionError:
        raise Refused(400, "invalid_json", "The request's JSON is nested too deeply. Flatten it.") from None
    except ValueError as error:
        # The one error of the parser that speaks of Python instead of JSON.
        what = "it holds a number of thousands of digits" if "integer string conversion" in str(error) else error
        raise Refused(400, "invalid_json", f"The request is not valid JSON: {what}. Send a JSON object.") from None
    if not isinstance(value, dict):
        raise Refused(400, "invalid_json", f"The request is a JSON {_kind(value)}. Send a JSON object.")
    return value


def _text(raw: bytes) -> str:
    try:
        return raw.decode(json.detect_encoding(raw), "surrogatepass")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 at byte {error.start}") from None


def _kind(value: object) -> str:
    names = {list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")


def _too_large(limit_mb: float) -> Refused:
    text = f"The request is larger than {limit_mb:g} MB. Send less, or raise gateway.bodyLimitMb."
    return Refused(413, "request_too_large", text)
