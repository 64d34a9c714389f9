"""Puts the candidate's model into a request body and leaves every other byte as the application sent it: numbers, spacing, key order,
fields that we have never heard of. No other field is touched here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_MODEL = re.compile(rb'"model"\s*:\s*("(?:[^"\\]|\\.)*"|null)')


def with_model(raw: bytes, body: Mapping[str, object], model: str) -> bytes:
    """`raw` with `model` as its top-level `model`. body: the same, parsed. Encoded anew only when the bytes could be misread."""
    value = json.dumps(model).encode()
    if "model" not in body:
        opening = raw.find(b"{")
        if body and opening >= 0 and not raw[:opening].strip(b" \t\r\n"):
            return raw[: opening + 1] + b'"model":' + value + b"," + raw[opening + 1 :]
    # Exactly one key of that name in the whole body, and no letter of it spelled as an escape anywhere: so it is the top-level one.
    elif raw.count(b'"model"') == 1 and b"\\u006" not in raw:
        found = _MODEL.search(raw)
        if found is not None:
            return raw[: found.start(1)] + value + raw[found.end(1) :]
    return json.dumps({**body, "model": model}).encode()
