"""M, the class of what an error says: its codes, then its text, then its details, then the class of the exception (spec "Precedence", R9).
The status has no say here except that it silences bare numbers (R8); `precedence` puts M and the status together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.domain.reasons import FailoverReason as R
from engine.policy.classify import wordings as w
from engine.policy.classify.codes import GENERIC, exception_class, first_known, known
from engine.policy.classify.evidence import Detail, Layer
from engine.policy.classify.families import Family
from engine.policy.classify.payment import judge_402
from engine.policy.classify.providers import Rules, sentences
from engine.policy.classify.statuses import only_a_status
from engine.policy.classify.texts import Folded
from engine.policy.classify.verdict import NOTHING, Classification

# The order of the spec's list "Text, first family that matches".
_BEFORE_402: tuple[Family, ...] = (w.LOCAL, w.IMAGE, w.SESSION_EXPIRED, w.MODEL_NOT_FOUND, w.CONTEXT_OVERFLOW)
_AFTER_402: tuple[Family, ...] = (w.BILLING, w.ENABLE_BILLING, w.PERIODIC, w.RATE_LIMIT)
_AFTER_429: tuple[Family, ...] = (w.OVERLOADED,)
_AUTH: tuple[Family, ...] = (w.AUTH_PERMANENT, w.AUTH)
_LAST: tuple[Family, ...] = (w.FORMAT, w.NO_ERROR_DETAILS, w.TIMEOUT, w.MODEL_GONE)
# What a text understood as our own machine's trouble keeps silent: the class of the exception would say "timeout" (R27).
SILENT = Classification(None, "text.local")


@dataclass(frozen=True, slots=True)
class Meaning:
    """The class of one error. firm: from codes, plain text and details; NOTHING if none, SILENT if understood as no one's failure.
    weak: from a reason phrase, a page or the class of an exception; yields to what the error wraps (R6). overloaded: any code or
    text says so. parts: the class of each code and text, for the rows of the status table that look for one reason in particular."""

    firm: Classification
    weak: Classification
    overloaded: bool
    parts: tuple[Classification, ...]

    def part(self, reason: R) -> Classification | None:
        """The first part that says just that."""
        return next((c for c in self.parts if c.reason is reason), None)


def text_class(folded: Folded, rules: Rules, bare_numbers: bool, api_error: bool) -> Classification:
    """The first family that matches a folded text; SILENT when it is understood and says nothing about the provider."""
    text = folded.text
    if " " not in text or text.startswith("error: "):
        token = text.removeprefix("error: ")
        reason = known(token, rules.codes)
        if reason is not None and reason is not R.SERVER_ERROR:
            return Classification(reason, f"code.{token}")
    for family in _BEFORE_402:
        if family.matches(folded):
            return Classification(family.reason, f"text.{family.name}") if family.reason else SILENT
    if w.HARD_402.in_text(folded):
        return Classification(judge_402(folded), "text.402")
    for family in _AFTER_402:
        if family.matches(folded):
            return _by(family)
    if bare_numbers and w.BARE_429.matches(folded):
        return _by(w.BARE_429)
    for reason, slug in sentences(rules.means, text):
        return Classification(reason, slug)
    for family in (*_AFTER_429, *_AUTH):
        if family.matches(folded):
            return _by(family)
    if bare_numbers and w.BARE_401_403.matches(folded):
        return _by(w.BARE_401_403)
    if w.TRANSPORT.matches(folded):
        return _by(w.TRANSPORT)
    if api_error and w.API_ERROR_HINT.in_text(folded):
        return Classification(R.TIMEOUT, "text.api_error")
    for family in _LAST:
        if family.matches(folded):
            return _by(family)
    return NOTHING


def _by(family: Family) -> Classification:
    return Classification(family.reason, f"text.{family.name}")


def meaning_of(layer: Layer, rules: Rules, status_known: bool) -> Meaning:
    """M of one error, without what it wraps."""
    api_error = "api_error" in layer.codes
    plain: list[Classification] = []
    phrases: list[Classification] = []
    for text in layer.texts:
        (phrases if only_a_status(text.text) else plain).append(text_class(text, rules, not status_known, api_error))
    details = [_detail_class(detail, rules, not status_known, api_error) for detail in layer.details]
    if layer.page is not None and not status_known:
        phrases.append(text_class(layer.page.words, rules, True, False))

    code = first_known(layer.codes, rules.codes)
    coded = Classification(code[0], f"code.{code[1]}") if code else NOTHING
    firm = _firm(coded, plain, details)
    weak = _first(phrases) or NOTHING
    if weak.reason is None and firm.reason is None and firm is not SILENT and layer.exception:
        excepted = exception_class(layer.exception)
        weak = Classification(excepted, "exception") if excepted else weak

    every = (coded, *plain, *details, *phrases)
    return Meaning(
        firm,
        weak,
        overloaded=any(c.reason is R.OVERLOADED for c in every) or any(known(c, rules.codes) is R.OVERLOADED for c in layer.codes),
        parts=every,
    )


def _firm(coded: Classification, plain: list[Classification], details: list[Classification]) -> Classification:
    """R9: a known code goes before the text; overflow on either side wins; billing text beats a generic code."""
    texts = [*plain, *details]
    for found in (coded, *texts):
        if found.reason is R.CONTEXT_OVERFLOW:
            return found
    if coded.reason in GENERIC:
        return next((found for found in texts if found.reason is R.BILLING), coded)
    if coded.reason is not None:
        return coded
    return _first(texts) or (SILENT if SILENT in plain else NOTHING)


def _first(found: list[Classification]) -> Classification | None:
    """The first class that is more than `format`, else the first one."""
    some = [c for c in found if c.reason is not None]
    return next((c for c in some if c.reason is not R.FORMAT), some[0] if some else None)


def _detail_class(detail: Detail, rules: Rules, bare_numbers: bool, api_error: bool) -> Classification:
    code = first_known(detail.codes, rules.codes)
    texts = [text_class(text, rules, bare_numbers, api_error) for text in detail.texts]
    return _firm(Classification(code[0], f"code.{code[1]}") if code else NOTHING, texts, [])


def speaks_of(reason: R, own: Meaning, layer: Layer) -> Classification | None:
    """Whether any text of an error is of the family billing or auth_permanent, whichever family would have come first: the rows 401, 403
    and 404 look for just these."""
    part = own.part(reason)
    if part is not None:
        return part
    families = (w.AUTH_PERMANENT,) if reason is R.AUTH_PERMANENT else (w.BILLING, w.ENABLE_BILLING)
    for text in all_texts(layer):
        for family in families:
            if family.matches(text):
                return _by(family)
    return None


def all_texts(layer: Layer) -> Iterator[Folded]:
    """Every folded text of a layer, the message first."""
    yield from layer.texts
    for detail in layer.details:
        yield from detail.texts
