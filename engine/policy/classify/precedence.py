"""The precedence of the classifier, in one place: page, dead workspace, provider rules, status table, codes, text. `judge` is the only
function that knows what beats what; everything that it asks is data or a reading of the evidence. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from engine.domain.reasons import FailoverReason as R
from engine.policy.classify import wordings as w
from engine.policy.classify.codes import DEACTIVATED_WORKSPACE, known
from engine.policy.classify.evidence import Layer
from engine.policy.classify.meaning import SILENT, Meaning, all_texts, meaning_of, speaks_of
from engine.policy.classify.payment import judge_402, says_more
from engine.policy.classify.providers import BEDROCK, Rules, bedrock_exception, rules_of, sentences
from engine.policy.classify.statuses import only_a_status
from engine.policy.classify.verdict import NOTHING, Classification

_THROUGH_404 = frozenset({R.CONTEXT_OVERFLOW, R.SESSION_EXPIRED, R.BILLING, R.AUTH_PERMANENT, R.AUTH})
_THROUGH_410 = frozenset({R.SESSION_EXPIRED, R.BILLING, R.AUTH_PERMANENT, R.AUTH})
_EDGE = frozenset({*range(520, 528), 530})
_BARE_BALANCE = "insufficient account balance"


def decide(layers: Sequence[Layer], provider: str) -> Classification:
    """The classification of a chain of errors, outermost first. A wrapper without a class of its own is transparent (R7)."""
    rules = rules_of(provider)
    status_known = any(layer.status is not None for layer in layers)
    inner, status, spoke = NOTHING, None, False
    for layer in reversed(layers):
        own = meaning_of(layer, rules, status_known)
        ruled = _by_provider(layer, own, rules)
        if ruled is None and _transparent(layer, own):
            continue
        status = layer.status if layer.status is not None else status
        spoke = spoke or layer.spoke
        found = judge(layer, own, ruled, status, spoke, inner, rules)
        # A nested class beats a None on top; what is our own machine's trouble stays None.
        inner = found if found.reason is not None or found is SILENT else inner
    return inner if inner.reason is not None else NOTHING


def judge(
    layer: Layer, own: Meaning, ruled: Classification | None, status: int | None, spoke: bool, inner: Classification, rules: Rules
) -> Classification:
    """The precedence itself, for one error. ruled: what only its provider means by it. status: its own or, failing that, the first one
    of what it wraps. spoke: it or what it wraps had a message. inner: the class of what it wraps, as if that stood alone."""
    # 1. A page: not the provider spoke, but something before it.
    if layer.page is not None:
        if layer.page.challenge and (status is None or status < 400 or status == 403):
            return Classification(R.TIMEOUT, "page.challenge")
        if status in (408, 499) or (status is not None and 500 <= status <= 599 and status != 529):
            return Classification(R.TIMEOUT, "page.upstream")
        if status in (401, 403):
            return Classification(R.AUTH, "page.auth")

    # 2. A code that no status may soften.
    if DEACTIVATED_WORKSPACE in layer.codes or inner.family == f"code.{DEACTIVATED_WORKSPACE}":
        return Classification(R.AUTH_PERMANENT, f"code.{DEACTIVATED_WORKSPACE}")

    # 3. The provider's own rules.
    if ruled is not None:
        return ruled

    # M. Overflow on either side wins; a class of the error itself goes before one of its cause; a reason phrase comes last (R6).
    said = _meaning(own, inner)
    if status is None:
        return SILENT if own.firm is SILENT else said

    # 4. The status table.
    row = Classification(None, f"status.{status}")
    match status:
        case 400 | 422:
            if said.reason is not None and said.reason is not R.SERVER_ERROR:
                return said
            return _row(row, R.FORMAT) if spoke else NOTHING
        case 401 | 403:
            for reason in (R.AUTH_PERMANENT, R.BILLING):
                spoken = speaks_of(reason, own, layer) or (inner if inner.reason is reason else None)
                if spoken is not None:
                    return spoken
            return _row(row, R.AUTH)
        case 402:
            return _payment(layer, inner)
        case 404:
            return said if said.reason in _THROUGH_404 else speaks_of(R.BILLING, own, layer) or _row(row, R.MODEL_NOT_FOUND)
        case 407:
            return SILENT  # our own proxy, never the provider's key (R14)
        case 408:
            return _row(row, R.TIMEOUT)
        case 410:
            return said if said.reason in _THROUGH_410 else _row(row, R.TIMEOUT)
        case 413:
            return _too_large(layer, said, inner, rules)
        case 429:
            billing = said.reason is R.BILLING and not (_bare_balance(layer, said) and not rules.balance_bills)
            return said if billing else _row(row, R.RATE_LIMIT)
        case 499 | 503:
            return _overloaded(own, said) or _row(row, R.TIMEOUT)
        case 500 | 502 | 504:
            return _overloaded(own, said) or (said if said.reason is R.SERVER_ERROR else _row(row, R.TIMEOUT))
        case 529:
            return _row(row, R.OVERLOADED)
        case _ if status in _EDGE:
            return _row(row, R.TIMEOUT)
        case _:
            return said  # 5, 6: the codes, then M; both stand in `said` in that order


def _transparent(layer: Layer, own: Meaning) -> bool:
    """No status, code, type, page or class of a text: as if it were not there."""
    silent = own.firm.reason is None and own.firm is not SILENT and own.weak.reason is None
    return silent and layer.status is None and not layer.codes and layer.page is None


def _by_provider(layer: Layer, own: Meaning, rules: Rules) -> Classification | None:
    name = bedrock_exception(layer.codes, tuple(text.text for text in layer.texts), rules.bedrock)
    if name is not None:
        return _bedrock(name, layer, own)
    if rules.decides:
        for text in all_texts(layer):
            for reason, slug in sentences(rules.decides, text.text):
                if reason is not R.BILLING or len(text.text) <= (w.BILLING.loose_limit or 0):
                    return Classification(reason, slug)
    return None


def _row(row: Classification, reason: R) -> Classification:
    return Classification(reason, row.family)


def _meaning(own: Meaning, inner: Classification) -> Classification:
    for found in (own.firm, inner):
        if found.reason is R.CONTEXT_OVERFLOW:
            return found
    ranked = (own.firm, inner, own.weak)
    firm = next((found for found in ranked if found.reason is not None and found.reason is not R.FORMAT), None)
    return firm or next((found for found in ranked if found.reason is not None), NOTHING)


def _bedrock(name: str, layer: Layer, own: Meaning) -> Classification:
    """R30: the exception's name, refined by the text in three places."""
    row = f"provider.bedrock.{name}"
    if name == "validation":
        refined = own.firm if own.firm.reason in (R.CONTEXT_OVERFLOW, R.MODEL_NOT_FOUND) else None
    elif name == "serviceunavailable":
        capacity = any(word in text.text for text in layer.texts for word in ("capacity", "overload", "high demand"))
        refined = Classification(R.OVERLOADED, row) if own.overloaded or capacity else None
    else:
        refined = speaks_of(R.BILLING, own, layer) if BEDROCK[name] is R.AUTH else None
    return refined or Classification(BEDROCK[name], row)


def _payment(layer: Layer, inner: Classification) -> Classification:
    """The first text that is more than a reason phrase decides; details do not count here."""
    text = next((text for text in layer.texts if says_more(text)), None)
    if text is None:
        return inner if inner.reason in (R.BILLING, R.RATE_LIMIT) else Classification(R.BILLING, "status.402")
    return Classification(judge_402(text), "status.402")


def _too_large(layer: Layer, said: Classification, inner: Classification, rules: Rules) -> Classification:
    """R13."""
    texts = [*all_texts(layer), *([layer.page.words] if layer.page else [])]
    throttled = any(known(code, rules.codes) is R.RATE_LIMIT for code in layer.codes) or inner.reason is R.RATE_LIMIT
    if throttled or any(w.TOKEN_RATE_LIMIT.in_text(text) for text in texts):
        return Classification(R.RATE_LIMIT, "status.413")
    if said.reason is R.CONTEXT_OVERFLOW:
        return said
    large = any("too large" in text or "too_large" in text for text in (*(text.text for text in texts), *layer.codes))
    return Classification(R.CONTEXT_OVERFLOW, "status.413") if large else NOTHING


def _overloaded(own: Meaning, said: Classification) -> Classification | None:
    if said.reason is R.OVERLOADED:
        return said
    return Classification(R.OVERLOADED, "text.overloaded") if own.overloaded else None


def _bare_balance(layer: Layer, said: Classification) -> bool:
    """The phrase alone, which some providers send for a throttle; a code or type that says billing settles it."""
    if said.family.startswith("code.") or any("billing" in code for code in layer.codes):
        return False
    text = next((text.text for text in layer.texts if not only_a_status(text.text)), "")
    return text.removeprefix("error: ").strip(" .!") == _BARE_BALANCE
