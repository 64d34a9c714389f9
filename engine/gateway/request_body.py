"""Reads a request's body with its limit and as JSON, or says what is wrong with it. What the fields mean is the dialect's business."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import NoReturn

from engine.gateway.reply import Receive, Refused

BODY_S = 30.0
SLOWEST_BYTES_PER_S = 1000
"""A body may take BODY_S, and longer while it comes at least so fast: a slow line can send much, a caller that dribbles cannot stay."""

MAX_VALUES = 200_000
"""Objects, arrays and what lies in them: ten times what the longest conversations have. A parser takes seconds for the millions that fit
into the limit of bytes, and no other request is served meanwhile."""

FEW_BYTES = 2 * MAX_VALUES
"""A body this short cannot hold more values."""


class CallerGone(Exception):
    """The caller hung up before its request was complete."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


async def read_body(receive: Receive, headers: Mapping[str, str], limit_mb: float, patience_s: float | None) -> bytes:
    """Raises Refused 413, also for a body without a stated length, 408 for one that comes too slowly, 415 for an encoded one, and
    CallerGone. patience_s: BODY_S; None: all of it is here, and no timer is set."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        # Passed on, the header would not fit the body that goes up, which is written anew where the model changes.
        raise Refused(415, "encoding_not_supported", f"The request's body is encoded as {encoding[:40]!r}. Send it uncompressed.")
    limit = int(limit_mb * 1024 * 1024)
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise _too_large(limit_mb)
    parts: list[bytes] = []
    size = 0

    async def more() -> bool:
        nonlocal size
        message = await receive()
        if message["type"] == "http.disconnect":
            raise CallerGone
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit_mb)
        parts.append(part)
        return bool(message.get("more_body"))

    if patience_s is None:
        while await more():
            pass
    else:
        try:
            async with asyncio.timeout(patience_s) as patience:
                begun = asyncio.get_running_loop().time()
                while await more():
                    patience.reschedule(begun + patience_s + size / SLOWEST_BYTES_PER_S)
        except TimeoutError:
            text = f"The request's body came too slowly: {size} bytes in {patience_s + size / SLOWEST_BYTES_PER_S:.0f} s. Send it again."
            raise Refused(408, "request_timeout", text, {"connection": "close"}) from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def parse_object(raw: bytes) -> dict[str, object]:
    """Raises Refused 400."""
    if not raw.strip():
        raise Refused(400, "invalid_json", "The request has no body. Send a JSON object.")
    if len(raw) > FEW_BYTES and _holds_too_much(raw):
        text = f"The request holds more than {MAX_VALUES} JSON values. Send fewer, or long data as one string."
        raise Refused(413, "request_too_large", text)
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


def _holds_too_much(raw: bytes) -> bool:
    """Counts without parsing, which is what costs: each value but an object's or array's first follows a comma. The first look takes the
    commas and braces of texts for values too; only where that is too many, texts are taken out."""
    if _values(raw) <= MAX_VALUES:
        return False
    bare = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    if bare.count(b'"') > 4 * MAX_VALUES:  # a value has a name and a text at most, two quotes each
        return True
    return _values(b"".join(bare.split(b'"')[::2])) > MAX_VALUES


def _values(raw: bytes) -> int:
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")


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
