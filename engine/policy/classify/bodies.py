"""Error bodies: which members of which JSON shape carry the status, the codes and the words (R3). Only members named here are
read, so what a provider echoes from the request or the model is never evidence (R5). What the words mean is decided elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.policy.classify.payloads import parse_json
from engine.policy.classify.statuses import error_status

MAX_DETAILS, MAX_DETAIL = 12, 1000
_MAX_DEPTH = 8
_MAX_CODES = 16

_STATUS_OR_CODE = ("code", "status", "error_code", "errorCode", "Code", "http_code", "http_status", "statusCode", "status_code")
_TYPES = ("type", "__type", "error_type", "errorType")
_MESSAGES = ("message", "Message", "msg", "error_message", "errorMessage", "error_msg", "errmsg", "detail", "error_description", "title")
_INNER = ("innererror", "inner_error", "innerError", "cause")
# Members that hold neither words nor codes of the provider: ids, echoes of the request or of the model, usage.
_ECHOES_AND_IDS = """
    id request_id requestId user_id trace_id session_id object created model provider provider_name input ctx loc url failed_generation
    flagged_input stop stop_sequences prompt messages choices usage param event type headers timestamp path instance success"""
_NEVER_READ = frozenset(_ECHOES_AND_IDS.split())


@dataclass(slots=True)
class Evidence:
    """What a body says, in the order in which it counts. detail_evidence: details that were JSON themselves (R34). filled: some
    member was neither null nor blank (R4)."""

    status: int | None = None
    codes: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    detail_evidence: list[Evidence] = field(default_factory=list)
    filled: bool = False

    def add_code(self, code: object) -> None:
        if isinstance(code, bool) or not isinstance(code, (str, int)):
            return
        text = str(code) if isinstance(code, str) or -1_000_000 < code < 1_000_000_000 else ""
        if text.strip() and len(text) <= 200 and len(self.codes) < _MAX_CODES:
            self.codes.append(text)

    def add_type(self, name: object) -> None:
        if isinstance(name, str) and name.strip() and len(name) <= 200 and len(self.types) < _MAX_CODES:
            self.types.append(name)

    def add_detail(self, text: object) -> None:
        if isinstance(text, str) and text.strip() and len(self.details) < MAX_DETAILS:
            self.details.append(text[:MAX_DETAIL])


def read_body(value: object) -> Evidence:
    """Everything that a parsed body says. Never raises, whatever its depth and size."""
    seen = Evidence(filled=_filled(value))
    _read(value, seen, 0)
    if not seen.messages and isinstance(value, dict) and not (seen.codes or seen.types):
        # An unknown shape: the words of its own members are better than none.
        for key, member in list(value.items())[:40]:
            if key not in _NEVER_READ:
                seen.add_detail(member)
    return seen


def _filled(value: object, depth: int = 0) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    if depth > _MAX_DEPTH:
        return True
    if isinstance(value, dict):
        return any(_filled(v, depth + 1) for k, v in list(value.items())[:64] if not _decoration(k, v))
    if isinstance(value, list):
        return any(_filled(v, depth + 1) for v in value[:64])
    return value is not None


def _decoration(key: object, value: object) -> bool:
    return key in ("request_id", "requestId", "id", "object", "user_id") or (key == "type" and value == "error")


def _read(value: object, seen: Evidence, depth: int) -> None:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, str):
        _read_words(value, seen, depth)
    elif isinstance(value, dict):
        _read_object(value, seen, depth)
    elif isinstance(value, list):
        first = next((item for item in value[:64] if isinstance(item, dict)), None)
        if first is not None:
            _read_object(first, seen, depth + 1)
        else:
            for item in value[:MAX_DETAILS]:
                seen.add_detail(item)


def _read_words(text: str, seen: Evidence, depth: int) -> None:
    if not text.strip():
        return
    if "{" in text:
        found = parse_json(text)
        if found and isinstance(found[0], (dict, list)):
            _read(found[0], seen, depth + 1)
            if found[1]:
                seen.messages.append(found[1])
            return
    seen.messages.append(text)


def _read_object(body: dict[object, object], seen: Evidence, depth: int) -> None:
    error = body.get("error")
    described = any(isinstance(body.get(key), str) for key in ("error_description", "message", "msg"))
    if isinstance(error, str) and described and error.strip() and " " not in error.strip():
        seen.add_code(error.strip())  # RFC 6749: `error` is the code, `error_description` says why
    elif isinstance(error, (dict, list, str)):
        _read(error, seen, depth + 1)
    _read_errors(body.get("errors"), seen, depth)
    response = body.get("response")
    if isinstance(response, dict) and isinstance(response.get("error"), (dict, str)):
        _read(response["error"], seen, depth + 1)
    base = body.get("base_resp")
    if isinstance(base, dict) and base.get("status_code") not in (0, None):
        seen.add_code(f"base_resp:{base.get('status_code')}")
        _read(base.get("status_msg"), seen, depth + 1)
    for key in _STATUS_OR_CODE:
        _read_code(body.get(key), seen)
    for key in _TYPES:
        seen.add_type(body.get(key))
    for key in _MESSAGES:
        member = body.get(key)
        if key == "detail" and isinstance(member, list):
            _read_validation(member, seen)
        elif member is not None:
            _read(member, seen, depth + 1)
    _read_details(body, seen, depth)


def _read_code(value: object, seen: Evidence) -> None:
    if value is None or isinstance(value, bool):
        return
    status = error_status(value)
    if status is None:
        seen.add_code(value)
    elif seen.status is None:
        seen.status = status


def _read_errors(errors: object, seen: Evidence, depth: int) -> None:
    if isinstance(errors, dict):
        _read_object(errors, seen, depth + 1)
    elif isinstance(errors, list) and errors:
        if isinstance(errors[0], dict):
            seen.add_code(errors[0].get("reason"))
        _read(errors[0], seen, depth + 1)


def _read_validation(items: Iterable[object], seen: Evidence) -> None:
    """Pydantic's list: `msg` only; `input`, `ctx` and `loc` are the caller's own words."""
    for item in list(items)[:4]:
        msg = item.get("msg") if isinstance(item, dict) else item
        if isinstance(msg, str) and msg.strip():
            seen.messages.append(msg)


def _read_details(body: dict[object, object], seen: Evidence, depth: int) -> None:
    metadata = body.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(raw, str) and raw.strip():
        found = parse_json(raw) if "{" in raw else None
        if found and isinstance(found[0], (dict, list)):
            seen.detail_evidence.append(read_body(found[0]))
        else:
            seen.add_detail(raw)
    elif isinstance(raw, dict):
        seen.detail_evidence.append(read_body(raw))
    details = body.get("details")
    for item in details[:MAX_DETAILS] if isinstance(details, list) else [details]:
        if isinstance(item, dict):
            seen.add_code(item.get("reason"))
            seen.add_detail(item.get("message"))
        else:
            seen.add_detail(item)
    for key in _INNER:
        inner = body.get(key)
        if isinstance(inner, dict):
            seen.add_code(inner.get("code"))
            seen.add_detail(inner.get("message"))
    for key in ("param", "body"):
        seen.add_detail(body.get(key))
    if depth == 0 and isinstance(body.get("reason"), str):
        seen.add_detail(body.get("reason"))
