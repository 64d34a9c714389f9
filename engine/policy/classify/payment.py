"""The 402 rules: "payment required" is sent both for an empty purse and for a plan's window that refills by itself (spec "402")."""

from __future__ import annotations

import re

from engine.domain.reasons import FailoverReason as R
from engine.policy.classify.texts import Folded, folded
from engine.policy.classify.wordings import BILLING_402, ENABLE_BILLING, RATE_LIMIT

_WRAPPER = re.compile(r"(?:error[: -]{1,3})?(?:(?:http[ /]?[\d.]{0,3} ?)?402(?: payment required)?|payment required)(?:[: -]{1,4}|$)")
_SELF_REFILL = re.compile(r"\bsubscription quota\b.{0,160}(?:\bautomatic(?:ally)? (?:quota )?refresh|\brolling (?:time )?window)")
_BILLING = (
    "insufficient credits",
    "insufficient quota",
    "insufficient_quota",
    "insufficient balance",
    "credit balance",
    "plans & billing",
    "add more credits",
    "top up",
    "hard limit",
)
_PLAN = ("upgrade your plan", "upgrade plan", "current plan")
_RETRY = ("try again", "retry", "temporar", "cooldown")
_RETRY_LIMIT = ("usage limit", "rate limit", "organization usage")
_PERIOD = ("daily", "weekly", "monthly")
_SCOPE = ("organization", "organisation", "workspace")
_REACHED = ("billing period", "exceeded", "reached", "exhausted")


def judge_402(said: Folded) -> R:
    """billing or rate_limit, of a folded text that came with a 402 or speaks of one."""
    lead = _WRAPPER.match(said.text)
    words = said.text[lead.end() :].strip() if lead else said.text
    if not words:
        return R.BILLING
    if _SELF_REFILL.search(words):
        return R.RATE_LIMIT
    rest = folded(words) if lead else said
    if _speaks_of_money(rest):
        return R.BILLING
    if RATE_LIMIT.matches(rest) or _window(words):
        return R.RATE_LIMIT
    return R.BILLING


def says_more(said: Folded) -> bool:
    """Whether a text of a 402 has a word beyond the status and its reason phrase."""
    lead = _WRAPPER.match(said.text)
    return bool(said.text[lead.end() :].strip(" .!") if lead else said.text)


def _any(words: str, hints: tuple[str, ...]) -> bool:
    return any(hint in words for hint in hints)


def _speaks_of_money(text: Folded) -> bool:
    words = text.text
    return _any(words, _BILLING) or (_any(words, _PLAN) and "limit" in words) or BILLING_402.matches(text) or ENABLE_BILLING.matches(text)


def _window(words: str) -> bool:
    spending = "spend limit" in words or "spending limit" in words
    period = _any(words, _PERIOD)
    return (
        (_any(words, _RETRY) and _any(words, _RETRY_LIMIT))
        or (period and ("usage limit" in words or spending))
        or (period and "limit" in words and "reset" in words)
        or (_any(words, _SCOPE) and "limit" in words and (spending or _any(words, _REACHED)))
    )
