"""What only one provider means by a code or a sentence (spec "Provider rules", R30-R34). To add a provider, add a table here and
nothing anywhere else. `decides` goes before the status; `means` and `codes` join the class of the message and pass the status table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from engine.domain.reasons import FailoverReason as R


@dataclass(frozen=True, slots=True)
class Sentence:
    """stem: a literal that the pattern needs, checked first because that is cheap. slug: shown as the family."""

    slug: str
    stem: str
    pattern: re.Pattern[str]
    reason: R


@dataclass(frozen=True, slots=True)
class ProviderTable:
    """ids: what a word of the provider's id begins with. balance_bills: the bare "insufficient account balance" on a 429 is about
    money here, elsewhere it is a throttle."""

    name: str
    ids: tuple[str, ...]
    decides: tuple[Sentence, ...] = ()
    means: tuple[Sentence, ...] = ()
    codes: Mapping[str, R] = field(default_factory=dict)
    balance_bills: bool = False


def _say(slug: str, stem: str, pattern: str, reason: R) -> Sentence:
    return Sentence(slug, stem, re.compile(pattern), reason)


TABLES: tuple[ProviderTable, ...] = (
    ProviderTable(
        "openrouter",
        ("openrouter",),
        decides=(
            _say("key-limit", "key limit", r"\bkey limit (?:has been |was )?(?:exceeded|reached|hit)\b", R.BILLING),
            _say("key-budget", "budget limit", r"\bapi key budget limit (?:has been )?(?:exceeded|reached|hit)\b", R.BILLING),
        ),
        means=(_say("returned-error", "provider returned error", r"\bprovider returned error\b", R.TIMEOUT),),
    ),
    ProviderTable(
        "together",
        ("together",),
        decides=(_say("concurrency", "concurrency limit", r"\bconcurrency limit (?:has been |was )?breached\b", R.RATE_LIMIT),),
    ),
    ProviderTable(
        "ollama",
        ("ollama",),
        decides=(_say("stream-ended", "final response", r"\bstream ended without a final response\b", R.SERVER_ERROR),),
        means=(
            _say("busy", "server busy", r"\bserver busy\b", R.OVERLOADED),
            _say("busy", "pending requests", r"\bmaximum pending requests\b", R.OVERLOADED),
        ),
    ),
    ProviderTable(
        "xai",
        ("xai",),
        decides=(
            _say("credits", "credits", r"\bused all (?:of )?(?:your |its )?(?:available |remaining )?credits\b", R.BILLING),
            _say("spending-limit", "spend", r"\bmonthly spend(?:ing)? limit\b", R.BILLING),
        ),
        balance_bills=True,
    ),
    ProviderTable("moonshot", ("moonshot", "kimi"), balance_bills=True),
    ProviderTable(
        "dashscope",
        ("qwen", "dashscope", "alibaba", "bailian"),
        codes={"insufficient_quota": R.RATE_LIMIT},
    ),
    ProviderTable(
        "zai",
        ("zai", "z-ai", "z.ai", "zhipu", "bigmodel", "glm"),
        codes={
            **dict.fromkeys(("1113", "1309"), R.BILLING),
            "1261": R.CONTEXT_OVERFLOW,
            **dict.fromkeys(("1000", "1001", "1002", "1003", "1004"), R.AUTH),
            **dict.fromkeys(("1302", "1305", "1308", "1310"), R.RATE_LIMIT),
        },
    ),
)

# MiniMax's `base_resp` is a shape of its own, so its numbers mean the same behind any proxy.
MINIMAX: Mapping[str, R] = {
    "base_resp:1008": R.BILLING,
    "base_resp:1004": R.AUTH,
    "base_resp:2049": R.AUTH,
    "base_resp:1002": R.RATE_LIMIT,
    "base_resp:2056": R.RATE_LIMIT,
    "base_resp:1001": R.TIMEOUT,
    "base_resp:2013": R.FORMAT,
}

# Bedrock's exception names decide before the status (R30). They are unique, so any provider will do.
BEDROCK: Mapping[str, R] = {
    "throttling": R.RATE_LIMIT,
    "servicequotaexceeded": R.RATE_LIMIT,
    "toomanyrequests": R.RATE_LIMIT,
    "modelnotready": R.OVERLOADED,
    "modeltimeout": R.TIMEOUT,
    "modelstreamerror": R.TIMEOUT,
    "modelerror": R.TIMEOUT,
    "internalserver": R.TIMEOUT,
    "serviceunavailable": R.TIMEOUT,
    "accessdenied": R.AUTH,
    "unrecognizedclient": R.AUTH,
    "expiredtoken": R.AUTH,
    "invalidsignature": R.AUTH,
    "resourcenotfound": R.MODEL_NOT_FOUND,
    "validation": R.FORMAT,
}
_BEDROCK_NAMES = "|".join(BEDROCK)
_BEDROCK_LOOSE = re.compile(rf"\b({_BEDROCK_NAMES})exception\b")
_BEDROCK_STRICT = re.compile(rf"\(({_BEDROCK_NAMES})exception\)|^(?:[\w.]{{1,80}}[#:] ?)?({_BEDROCK_NAMES})exception(?=:|$)")


@dataclass(frozen=True, slots=True)
class Rules:
    """The tables of one provider id, merged."""

    decides: tuple[tuple[str, Sentence], ...]
    means: tuple[tuple[str, Sentence], ...]
    codes: Mapping[str, R]
    balance_bills: bool
    bedrock: bool


@lru_cache(maxsize=256)
def rules_of(provider: str) -> Rules:
    """The rules of a provider id. A table's id matches at the start of a word: `xai` in `my-xai`, not in `maxai`."""
    name = provider[:200].lower()
    tables = [table for table in TABLES if any(_begins_word(name, word) for word in table.ids)]
    codes = dict(MINIMAX)
    for table in tables:
        codes.update(table.codes)
    return Rules(
        tuple((table.name, sentence) for table in tables for sentence in table.decides),
        tuple((table.name, sentence) for table in tables for sentence in table.means),
        codes,
        any(table.balance_bills for table in tables),
        _begins_word(name, "bedrock"),
    )


def _begins_word(name: str, word: str) -> bool:
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}", name) is not None


def sentences(rules: tuple[tuple[str, Sentence], ...], text: str) -> Iterator[tuple[R, str]]:
    """(reason, family) of each of the provider's sentences that a folded text holds."""
    for name, sentence in rules:
        if sentence.stem in text and sentence.pattern.search(text):
            yield sentence.reason, f"provider.{name}.{sentence.slug}"


def bedrock_exception(codes: tuple[str, ...], texts: tuple[str, ...], bedrock: bool) -> str | None:
    """The name (lower case, without `exception`) of a Bedrock exception in normal codes or folded texts. Elsewhere than on Bedrock
    only a full name counts, and in a text only where an SDK puts it."""
    for code in codes:
        if code.endswith("exception") and code[:-9] in BEDROCK:
            return code[:-9]
        if bedrock and code in BEDROCK:
            return code
    for text in texts:
        if "exception" in text:
            found = (_BEDROCK_LOOSE if bedrock else _BEDROCK_STRICT).search(text)
            if found:
                return found.group(found.lastindex or 0)
    return None
