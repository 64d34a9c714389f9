"""The words of the operator API as bytes: snapshots, previews, acts and results in JSON, for the server and for its clients.
Shared by both ends so that a name is spelled once. No routes, no HTTP library and no rule of failover belong here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeVar, cast, get_args
from urllib.parse import quote, unquote

from pydantic import TypeAdapter, ValidationError

from engine.domain.acts import Act, ActResult
from engine.domain.errors import FailoverError, UsageError
from engine.domain.foresight import AssumedAct, Assumption, At, Fails, Moves, SessionDetail, WhatIf
from engine.domain.snapshot import Preview, SessionView, Snapshot

INSTANCE_HEADER = "x-failover-instance"
"""Which gateway answered: compared with `gateway.json` before a token is sent, and on every answer after that."""

BY_HEADER = "x-failover-by"
"""Who acts (OS user and terminal), percent-encoded; for the audit record."""

MAX_BY = 120

T = TypeVar("T")

_EXAMPLE = 'send an object such as {"act": "unpin", "session": "main"}'

_ACTS: Mapping[str, type] = {next(str(f.default) for f in fields(kind) if f.name == "act"): kind for kind in get_args(Act)}


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    # Made at first use: a command that only acts needs no schema of a snapshot.
    return TypeAdapter(kind)


def dump(value: Snapshot | SessionView | Preview | ActResult | Act | WhatIf | Moves | SessionDetail) -> bytes:
    """The value as JSON, snake_case, exactly its fields."""
    kind: Any = type(value)
    return _adapter(kind).dump_json(value)


def load(kind: type[T], text: bytes) -> T:
    """The inverse of `dump` for a value of that kind. Raises ValueError on anything else; fields of a newer gateway are ignored."""
    of: Any = kind
    found: T = _adapter(of).validate_json(text)
    return found


def dump_question(session: str | None, assumptions: Sequence[Assumption]) -> bytes:
    """What `what_if` and `moves` are asked with."""
    listed = [json.loads(_dumped(one)) for one in assumptions]
    return json.dumps({"session": session, "assumptions": listed}).encode()


def _dumped(one: Any) -> bytes:
    kind: Any = type(one)
    return _adapter(kind).dump_json(one)


def load_question(text: bytes) -> tuple[str | None, list[Assumption]]:
    """The inverse. Raises UsageError that says which assumption does not fit."""
    try:
        given = json.loads(text)
        session, listed = given.get("session"), given["assumptions"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError("The question is not understood", next_step='send {"session": KEY, "assumptions": [...]}') from None
    if not (session is None or isinstance(session, str)) or not isinstance(listed, list):
        raise UsageError("The question is not understood", "session: a key; assumptions: a list")
    return session, [_assumption(place, one) for place, one in enumerate(listed)]


def _assumption(place: int, one: object) -> Assumption:
    where = f"assumptions[{place}]"
    if not isinstance(one, dict):
        raise UsageError("An assumption is not a JSON object", f"{where}: it is {_kind_of(one)}")
    kind = {"fails": Fails, "at": At}.get(str(one.get("assume")))
    if kind is not None:
        try:
            found: Assumption = _adapter(kind).validate_json(json.dumps(one), strict=True)
        except ValidationError as wrong:
            lines = "\n".join(f"{where}.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in wrong.errors(include_url=False))
            raise UsageError("An assumption does not fit", lines) from None
        return found
    act = load_act(json.dumps(one).encode())
    if not isinstance(act, get_args(AssumedAct)):
        raise UsageError("That act cannot be assumed", f"{where}: {act.act} needs a real call")
    return cast(Assumption, act)


def load_act(text: bytes) -> Act:
    """`{"act": "pin", "session": ..., ...}` as its record. Raises UsageError that names the path; nothing is guessed or coerced."""
    try:
        given = json.loads(text)
    except ValueError:
        raise UsageError("The act is not JSON", next_step=_EXAMPLE) from None
    if not isinstance(given, dict):
        raise UsageError("The act is not a JSON object", f"it is {_kind_of(given)}", _EXAMPLE)
    name = given.get("act")
    kind = _ACTS.get(name) if isinstance(name, str) else None
    if kind is None:
        said = "act: is missing" if name is None else f"act: {json.dumps(name)[:60]} is not one of {', '.join(_ACTS)}"
        raise UsageError("Unknown act", said, _suggest(name, _ACTS))
    known = {f.name: f for f in fields(kind)}
    unknown = [key for key in given if key not in known]
    missing = [f.name for f in known.values() if f.default is MISSING and f.name not in given]
    if unknown or missing:
        problems = [f"{key}: {name} has no such field" for key in unknown] + [f"{key}: is missing" for key in missing]
        advice = (unknown and _suggest(unknown[0], known)) or f"its fields are {', '.join(known)}"
        raise UsageError(f"The act {name} does not fit", "\n".join(problems), advice)
    try:
        act: Act = _adapter(kind).validate_json(json.dumps(given), strict=True)
    except ValidationError as wrong:
        lines = "\n".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in wrong.errors(include_url=False))
        raise UsageError(f"The act {name} does not fit", lines) from None
    return act


def dump_error(error: FailoverError) -> bytes:
    """An error of ours as its three sentences; `load_error` is the inverse."""
    said = {"title": error.title, "happened": error.happened, "next": error.next_step, "exit_status": error.exit_status}
    return json.dumps({"error": said}, ensure_ascii=False).encode()


def load_error(text: bytes) -> FailoverError | None:
    """The error that the other side told, or None when the body is not of ours."""
    try:
        said = json.loads(text)["error"]
        kind = UsageError if said["exit_status"] == 2 else FailoverError
        return kind(str(said["title"]), str(said["happened"]), str(said["next"]))
    except (ValueError, KeyError, TypeError):
        return None


def dump_by(by: str) -> str:
    """Any name as a header value."""
    return quote(by[:MAX_BY], safe=" ()@:/.,+-_")


def load_by(header: str | None) -> str:
    """Who acts, as the audit record keeps it: printable, bounded. An unnamed caller is known by the token that it used."""
    name = "".join(c for c in unquote(header or "") if c.isprintable()).strip()[:MAX_BY]
    return name or "operator token"


def _kind_of(value: object) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), "something else")


def _suggest(word: object, known: Mapping[str, object]) -> str:
    close = get_close_matches(word, known, n=1) if isinstance(word, str) else []
    return f"did you mean {close[0]}?" if close else ""
