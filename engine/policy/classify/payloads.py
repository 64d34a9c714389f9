"""Finding the JSON in a foreign text: whole, after a prefix, as a Python repr, or in the frames of an event stream (R3). What its members
mean is read in `bodies`."""

from __future__ import annotations

import ast
import json
import re

_LONG_LIST = 65_536
_decoder = json.JSONDecoder(strict=False)
_CONSTANT = re.compile(r"(?<=[:,\[] )(?:None|True|False)(?=[,}\]])")


def parse_json(text: str) -> tuple[object, str] | None:
    """(value, what stood around it) when a text is JSON, or has a JSON object after a prefix; a Python dict's repr counts as well,
    since SDKs print those. None when there is none."""
    start = next((i for i, c in enumerate(text[:64]) if not c.isspace() and c != "\ufeff"), len(text))
    if text[start : start + 1] == "[" and len(text) > _LONG_LIST:
        # Only the first object of a list counts, so a long list is not parsed to its end.
        first = text.find("{", start, start + _LONG_LIST)
        found = _decode(text, first) if first >= 0 else None
        return (found[0], "") if found else None
    if text[start : start + 1] in ('"', "["):
        found = _decode(text, start)
        if found is not None or text[start : start + 1] == '"':
            return found
    elif text[start : start + 4] in ("null", "true", "fals"):
        return _decode(text, start)
    brace = text.find("{", start)
    if brace < 0:
        return None
    # A list around the first object belongs to it: `prefix [{...}]`.
    before = text[:brace].rstrip()
    if before.endswith("["):
        found = _decode(text, len(before) - 1)
        if found is not None:
            return found
    return _decode(text, brace)


def _decode(text: str, start: int) -> tuple[object, str] | None:
    try:
        value, end = _decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return _decode_repr(text, start)
    around = f"{text[:start]} {text[end : end + 2000]}".strip() if start or end < len(text) else ""
    if isinstance(value, str) and around:
        return None  # a sentence that begins with a quoted word is no JSON
    return value, around


def _decode_repr(text: str, start: int) -> tuple[object, str] | None:
    if text[start : start + 3] not in ("{'e", "{'m", "{'t", "{'c", "{'d", "{'s", "{'o", "[{'"):
        return None
    end = max(text.rfind("}"), text.rfind("]")) + 1
    literal = text[start:end]
    # literal_eval recurses and builds a tree: small and flat literals only.
    if len(literal) > 4096 or literal.count("{") + literal.count("[") > 40:
        return None
    try:
        # Without escapes and double quotes the repr is JSON in other clothes, which is read ten times as fast.
        plain = '"' not in literal and "\\" not in literal
        value = json.loads(_CONSTANT.sub(_as_json, literal.replace("'", '"'))) if plain else ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return value, f"{text[:start]} {text[end:]}".strip()


def _as_json(constant: re.Match[str]) -> str:
    return {"None": "null", "True": "true", "False": "false"}[constant.group()]


def parse_events(text: str) -> object | None:
    """The first error-like event of a server-sent-event stream, else None. Content events are not looked into."""
    if "data:" not in text[:512] and "event:" not in text[:512]:
        return None
    lines = [line for line in text.splitlines() if line.startswith("data:")] if len(text) < 100_000 else _edge_lines(text)
    for line in [*lines[:8], *lines[-8:]]:
        if not any(word in line for word in ("error", "message", "base_resp")):
            continue
        found = _decode(line, 5 + len(line[5:]) - len(line[5:].lstrip()))
        if found and isinstance(found[0], dict) and _error_like(found[0]):
            return found[0]
    return None


def _edge_lines(text: str) -> list[str]:
    return [line for part in (text[:16_384], text[-16_384:]) for line in part.splitlines() if line.startswith("data:")]


def _error_like(event: dict[object, object]) -> bool:
    response = event.get("response")
    return (
        event.get("error") is not None
        or event.get("type") == "error"
        or "base_resp" in event
        or ("message" in event and "code" in event)
        or (isinstance(response, dict) and response.get("error") is not None)
    )
