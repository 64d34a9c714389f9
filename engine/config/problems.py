"""What is wrong with a configuration, said so that a tired person can mend it: the path first, then the reason, then a suggestion.

Values are never repeated unless they are numbers or refs: a secret in the wrong place must not reach a log through its error.
No rule about what is valid is in here; those are in `schema` and `build`.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Loc = tuple[int | str, ...]

SECRET_WORDS = ("key", "apikey", "secret", "clientsecret", "token", "access", "accesstoken", "refresh", "refreshtoken", "password")
REFERENCE_FORMS = "`env:NAME`, `file:PATH` or `keyring:SERVICE/NAME`"
NO_SECRET = f"a secret does not belong in this file, which is copied, shown and committed; name where it lies: {REFERENCE_FORMS}"

_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$-]*")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, at one place of the file."""

    loc: Loc
    text: str

    def __str__(self) -> str:
        return f"{path(self.loc)}: {self.text}"


def path(loc: Loc) -> str:
    """`("auth", "profiles", "acme:k1", "mode")` -> `auth.profiles["acme:k1"].mode`. The whole file is `the file`."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{quoted(part)}]"
    return text or "the file"


def quoted(text: str) -> str:
    """Foreign text between quotes, on one line and not too long."""
    shown = json.dumps(text if len(text) <= 80 else text[:79] + "…", ensure_ascii=False)
    # What json leaves as it is may still turn a line around or break it.
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in shown)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean ...?`, or nothing. Letter case does not count as a difference. Short words must be closer than
    difflib's own measure: `nope` is no `openai`."""
    lowered = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.7)
    return f"; did you mean `{lowered[close[0]]}`?" if close else ""


def unknown_key(key: str, known: Sequence[str]) -> str:
    """The text for a key that the schema does not have. known: the keys that it has at that place."""
    if key.lower().replace("_", "").replace("-", "") in SECRET_WORDS:
        return NO_SECRET + (" (as `keyRef`)" if "keyRef" in known else "")
    hint = did_you_mean(key, known)
    return "unknown key" + (hint or (f"; known here: {', '.join(known)}" if known else ""))


def said(error: ErrorDetails, known: Sequence[str]) -> str:
    """One pydantic error in our words. known: what could stand there, for an unknown key."""
    limits = error.get("ctx", {})
    given = error["input"]
    match error["type"]:
        case "extra_forbidden":
            return unknown_key(str(error["loc"][-1]), known)
        case "missing":
            return "required"
        case "string_type":
            return f"must be a string, not {_kind(given)}"
        case "float_type":
            return f"must be a number, not {_kind(given)}"
        case "int_type" | "int_from_float" | "int_parsing_size":
            return f"must be a whole number, not {_kind(given)}"
        case "string_pattern_mismatch":
            return "may have letters, digits, `.`, `_` and `-`, at most 64, and begins with a letter or a digit"
        case "finite_number":
            return "must be a finite number"
        case "bool_type":
            return f"must be true or false, not {_kind(given)}"
        case "list_type":
            return f"must be a list, not {_kind(given)}"
        case "dict_type" | "model_type" | "model_attributes_type":
            return f"must be an object, not {_kind(given)}"
        case "greater_than":
            return f"must be greater than {_plain(limits['gt'])}, not {given}"
        case "greater_than_equal":
            return f"must be at least {_plain(limits['ge'])}, not {given}"
        case "less_than_equal":
            return f"must be at most {_plain(limits['le'])}"
        case "too_short" | "string_too_short":
            return "must not be empty"
        case "literal_error":
            allowed = str(limits["expected"]).replace("'", "")
            hint = did_you_mean(given, allowed.replace(" or ", ", ").split(", ")) if isinstance(given, str) else ""
            return f"must be {allowed}{hint}"
        case _:
            return error["msg"]


def nulls(value: object, loc: Loc = ()) -> Iterator[Problem]:
    """Every null in the data. A key is there with a value or not there: a third state would be read as either."""
    if value is None:
        yield Problem(loc, "null is no value here; leave the key out")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from nulls(inner, (*loc, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from nulls(inner, (*loc, place))


def _plain(limit: float) -> str:
    return str(int(limit)) if float(limit).is_integer() else f"{limit:g}"


def _kind(value: object) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return f"{value:g}" if abs(value) < 1e15 else "one as large as that"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
