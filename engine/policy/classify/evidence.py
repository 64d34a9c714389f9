"""From a `Failure` to layers of evidence: what each error in the wrapped chain says, cleaned and folded once, so that `precedence` only
decides. Cycle-safe and at most 25 layers deep (spec "Signal", R7)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.domain.failure import Failure
from engine.policy.classify.bodies import MAX_DETAIL, MAX_DETAILS, Evidence, read_body
from engine.policy.classify.codes import normal_code
from engine.policy.classify.pages import Page, page_in
from engine.policy.classify.payloads import parse_events, parse_json
from engine.policy.classify.statuses import clean_status, error_status, implied_status, says_no_body
from engine.policy.classify.texts import Folded, clip, fold

MAX_LAYERS = 25
_JSON_START = re.compile(r'\s{0,64}(?:\{|\[\s{0,64}[{\["])')


@dataclass(frozen=True, slots=True)
class Detail:
    """A string beside the message, with the codes of its own when it was JSON."""

    texts: tuple[Folded, ...]
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layer:
    """One error of the chain. status: given, else implied. codes: normal codes, then types. exception: the
    lower-case `error_type` as it came. texts: folded, the message first. spoke: there was a message in the sense of the 400/422 row.
    said, code: the first human message and code as they came, for `describe`."""

    status: int | None
    codes: tuple[str, ...]
    exception: str
    texts: tuple[Folded, ...]
    details: tuple[Detail, ...]
    page: Page | None
    spoke: bool
    said: str | None
    code: str | None


def chain_of(failure: Failure) -> list[Failure]:
    """The failure and what it wraps, outermost first, each once, at most 25."""
    chain: list[Failure] = []
    seen: set[int] = set()
    here: Failure | None = failure
    while here is not None and len(chain) < MAX_LAYERS and id(here) not in seen:
        seen.add(id(here))
        chain.append(here)
        here = here.cause
    return chain


class _Reading:
    """Collects one layer."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.headers = headers
        self.found = Evidence()
        self.said: list[tuple[str, Folded]] = []
        self.implied: int | None = None
        self.page: Page | None = None

    def text(self, raw: str | None) -> None:
        """Take a message or a body: a page, an event stream, JSON, JSON after a prefix, or words."""
        if not raw or not raw.strip():
            return
        page = page_in(raw, self.headers)
        if page is not None:
            self._page(raw, page)
            return
        parsed = _parsed(raw)
        if parsed is None:
            self._words(_without_half_word(raw))
            return
        value, around = parsed
        if around and self.implied is None:
            self.implied = implied_status(fold(around).text)
        evidence = read_body(value)
        self._merge(evidence)
        for message in evidence.messages:
            self._words(message)
        if around:
            self._words(around)

    def _words(self, raw: str) -> None:
        page = page_in(raw, {})
        if page is not None:
            self._page(raw, page)
            return
        text = fold(raw)
        if not text.text:
            return
        if self.implied is None:
            self.implied = implied_status(text.text)
        if all(text.text != known.text for _, known in self.said):
            self.said.append((raw, text))

    def _page(self, raw: str, page: Page) -> None:
        self.page = self.page or page
        if self.implied is None:
            before, title = fold(raw[:120].split("<", 1)[0]).text, fold(page.title).text
            self.implied = implied_status(before) or implied_status(title) or implied_status(page.words.text)

    def _merge(self, evidence: Evidence) -> None:
        if self.found.status is None:
            self.found.status = evidence.status
        self.found.codes += evidence.codes
        self.found.types += evidence.types
        self.found.details += evidence.details
        self.found.detail_evidence += evidence.detail_evidence
        self.found.filled = self.found.filled or evidence.filled


def _parsed(raw: str) -> tuple[object, str] | None:
    event = parse_events(raw)
    if event is not None:
        return event, ""
    return parse_json(raw)


def _without_half_word(raw: str) -> str:
    """Truncated JSON: the word at the cut may be half a word, so it is no evidence (R4)."""
    if not _JSON_START.match(raw):
        return raw
    kept = clip(raw).rstrip()
    end = len(kept)
    while end and (kept[end - 1].isalnum() or kept[end - 1] in "_-"):
        end -= 1
    return kept[:end]


def read_layer(failure: Failure) -> Layer:
    """What one error says, without what it wraps."""
    status, status_code = clean_status(failure.status)
    reading = _Reading(failure.headers)
    code = _scalar(failure.code)
    if code is not None:
        reading.implied = error_status(code)
    reading.text(failure.message)
    reading.text(failure.body)
    found = reading.found
    error_type = _scalar(failure.error_type)

    said = [(raw, text) for raw, text in reading.said if not says_no_body(text.text)]
    own_codes = [c for c in (code, status_code) if c is not None and error_status(c) is None] + found.codes
    types = ([error_type] if error_type is not None else []) + found.types
    details = [_detail(raw[:MAX_DETAIL]) for raw in (*failure.details[: MAX_DETAILS * 2], *found.details) if _usable(raw)]
    details += [_parsed_detail(evidence) for evidence in found.detail_evidence]
    return Layer(
        status=status if status is not None else found.status or reading.implied,
        codes=_normal(own_codes + types),
        exception=(error_type or "").strip().lower()[:200],
        texts=tuple(text for _, text in said),
        details=tuple(details[:MAX_DETAILS]),
        page=reading.page,
        spoke=bool(said) or found.filled or reading.page is not None,
        said=_shown(said, reading.page, (*failure.details, *found.details)),
        code=next((c.strip() for c in [*own_codes, *types] if c.strip()), None),
    )


def _shown(said: list[tuple[str, Folded]], page: Page | None, details: tuple[str, ...]) -> str | None:
    if said:
        return said[0][0]
    if page is not None:
        return page.title or "HTML page"
    return next((raw for raw in details if _usable(raw)), None)


def _detail(raw: str) -> Detail:
    parsed = parse_json(raw) if "{" in raw else None
    if parsed is not None and isinstance(parsed[0], (dict, list)):
        return _parsed_detail(read_body(parsed[0]))
    return Detail((fold(raw),))


def _parsed_detail(evidence: Evidence) -> Detail:
    return Detail(tuple(fold(text) for text in (*evidence.messages, *evidence.details)), _normal(evidence.codes + evidence.types))


def _usable(raw: object) -> bool:
    return isinstance(raw, str) and bool(raw.strip()) and page_in(raw, {}) is None


def _scalar(value: object) -> str | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (str, int)):
        text = str(value)[:200] if isinstance(value, str) or abs(value) < 10**12 else ""
        return text.strip() or None
    if isinstance(value, float) and value == value and abs(value) < 1e9 and value == int(value):
        return str(int(value))
    return None


def _normal(codes: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for raw in codes[:24] if (code := normal_code(raw))))
