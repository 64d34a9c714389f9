"""HTTP statuses as they really arrive: numbers, strings, words in a sentence (R1, R2), and texts that are nothing but a status
(R4 "no body", R6 reason phrases). What a status means is decided in `precedence`."""

from __future__ import annotations

import re
from http import HTTPStatus

_NUMERIC = re.compile(r"\s*[+-]?\d{1,20}(?:\.\d{0,20})?\s*", re.ASCII)

# A leading number that counts something is not a status ("402 tokens were processed").
_COUNTS = (
    r"(?! ?(?:tokens?|rows?|bytes|[kmg]b|ms|milliseconds?|sec(?:ond)?s?|min(?:ute)?s?|hours?|days?|items?|messages|records?|files?"
    r"|char(?:acter)?s?|words?|lines?|users?|pages?|images?|times|percent)\b)"
)
WHOLE = r"(?!\w|%|[.,]\d|-\w)" + _COUNTS

_LEADING = re.compile(
    r"(?:error(?: code)?[: ]{1,2})?(?:http(?:/\d(?:\.\d)?)?[ :]{0,2}|(?:got )?status(?: code)?[:= ]{1,2})?\(?([45]\d\d)" + WHOLE, re.ASCII
)
_THREE = re.compile(r"[45]\d\d(?!\d)", re.ASCII)
_ANNOUNCED = ("error", "status", "http/", ", message=")  # one of these stands in every form of `_ANYWHERE`
_ANYWHERE = re.compile(
    r"\berror code: ([45]\d\d) ?-|\b(?:client|server) error '([45]\d\d)\b|\(status code: ([45]\d\d)\)|\bhttp/\d(?:\.\d)? ([45]\d\d)\b"
    r"|\b([45]\d\d), message=|\b([45]\d\d) (?:client|server) error: |\b([45]\d\d) [a-z_]{2,40}\.(?: \{|$)"
    r"|\bgot status: ([45]\d\d)\b|\bstatus(?: code)?:? ([45]\d\d)\b|\berror \(([45]\d\d)\)",
    re.ASCII,
)

_NO_BODY = re.compile(r"(?:status code )?\(?no (?:response )?body\)?(?: response)?\.?")
_BEFORE_WORDS = re.compile(r"(?:error[: ]{1,2})?(?:http(?:/\d(?:\.\d)?)?[ :]{0,2})?(?:\d{3}\b[ :-]{0,3})?", re.ASCII)

_PHRASES = frozenset(status.phrase.lower() for status in HTTPStatus if status >= 400) | {
    "bad",
    "authorization required",
    "request entity too large",
    "request too large",
    "payload too large",
    "content too large",
    "unprocessable content",
    "client closed request",
    "gateway time-out",
    "request time-out",
    "service temporarily unavailable",
    "server error",
    "error",
}


def clean_status(value: object) -> tuple[int | None, str | None]:
    """(status, code) of what stood in a `status` field: 100-999 in any numeric form is a status, other numbers are none,
    any other string is a code (R1)."""
    if isinstance(value, bool) or value is None:
        return None, None
    if isinstance(value, str):
        if not value.strip():
            return None, None
        if not _NUMERIC.fullmatch(value):
            return implied_status(" ".join(value[:200].lower().split())), value.strip()
        value = float(value)
    if isinstance(value, (int, float)) and 100 <= value <= 999 and value == int(value):
        return int(value), None
    return None, None


def error_status(value: object) -> int | None:
    """A status that a body may imply: a number, or its digits, of 400-599 (R2)."""
    if isinstance(value, str) and len(value) > 12:
        return None
    status, code = clean_status(value)
    return status if status is not None and code is None and 400 <= status <= 599 else None


def implied_status(text: str) -> int | None:
    """The status that a folded text states, by the wordings of the usual clients (R2)."""
    lead = _LEADING.match(text)
    if lead:
        return int(lead.group(1))
    if not any(word in text for word in _ANNOUNCED) or not _THREE.search(text):
        return None
    found = _ANYWHERE.search(text)
    return int(found.group(found.lastindex or 0)) if found else None


def says_no_body(text: str) -> bool:
    """A folded text by which a client says that there was no text (R4)."""
    lead = _BEFORE_WORDS.match(text)
    return bool(_NO_BODY.fullmatch(text, lead.end() if lead else 0) or _NO_BODY.fullmatch(text))


def only_a_status(text: str) -> bool:
    """A folded text that is a status number and/or a reason phrase and nothing more (R6)."""
    if len(text) > 60:
        return False
    lead = _BEFORE_WORDS.match(text)
    rest = text[lead.end() if lead else 0 :].strip(" .:!-")
    return not rest or rest in _PHRASES
