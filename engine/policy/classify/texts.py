"""Foreign text made fit for matching: clipped, one kind of space and apostrophe, lower case, without what merely echoes the
request (R5, R8). No meaning is read here; the patterns in `wordings` rely on what `fold` promises."""

from __future__ import annotations

import re
from dataclasses import dataclass

HEAD, TAIL = 4096, 1024

# Spaces that are not U+0020, typographic quotes, and marks that take no room: one spelling each, so that patterns stay plain.
_SPELLING = str.maketrans(
    {
        **dict.fromkeys("\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
        **dict.fromkeys("\u2018\u2019\u02bc\u201b\uff07", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\uff02", '"'),
        "\uff1a": ":",
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad"),
    }
)
_ODD = re.compile(f"[{''.join(map(chr, _SPELLING))}]")

_QUOTED = r"""(?:'[^']{0,200}'|"[^"]{0,200}"|`[^`]{0,200}`)"""
# Words whose quoted companion is the caller's own (R5). Each: keys of which one must be present, the pattern, what replaces it.
_QUOTED_ECHOES = (
    (
        frozenset({"inva", "unsu", "unex", "unre"}),
        re.compile(
            r"\b((?:invalid|unsupported|unexpected|unrecognized) (?:value|type|parameter|argument|field|property|role|enum|option)s?"
            rf"(?: for [\w.\[\]'`-]{{1,80}})?:? ){_QUOTED}"
        ),
        r"\1x",
    ),
    (frozenset({"got", "rece", "foun"}), re.compile(rf"\b(got|received|found)(:? (?:type )?){_QUOTED}"), r"\1\2x"),
    (frozenset({"stop"}), re.compile(rf"\b(stop(?:[ _]sequences?| strings?)?'?:? ){_QUOTED}"), r"\1x"),
    (
        frozenset({"mode", "tool", "func", "fiel", "para", "prop", "argu"}),
        re.compile(rf"\b((?:models?|tools?|functions?|fields?|parameters?|propert(?:y|ies)|arguments?):? ){_QUOTED}"),
        r"\1x",
    ),
    (
        frozenset({"unex", "one", "type", "vali"}),
        re.compile(rf"{_QUOTED}(?= (?:was|were) unexpected| is not (?:one of|of type|a valid (?!model)|valid under))"),
        "x",
    ),
)
_INPUT_VALUE = re.compile(r"input_value=.*?(?=, input_type=|\]|$)")
_ID_KEYS = frozenset({"id", "ids"})
_IDS = re.compile(r"\b(request|trace|user|correlation|ray|invocation)([ _-]?id)s?['\"]?[:=# ]{1,3}['\"]?(?=[\w-]{0,60}\d)[\w-]{1,80}")
_KEY = re.compile(r"(?<![a-z])[a-z]{1,4}")


@dataclass(frozen=True, slots=True)
class Folded:
    """A text fit for matching. keys: the first four letters of each of its words: a cheap way to say that a pattern cannot match."""

    text: str
    keys: frozenset[str]
    ascii: bool


def clip(raw: str) -> str:
    """The first 4,096 and the last 1,024 characters of a long text: the rest is never read."""
    return raw if len(raw) <= HEAD + TAIL else f"{raw[:HEAD]} \n {raw[-TAIL:]}"


def folded(text: str) -> Folded:
    """Of a text that is folded already, or a part of one."""
    return Folded(text, frozenset(_KEY.findall(text)), text.isascii())


def fold(raw: str) -> Folded:
    """Clipped, lower case, single spaces, straight apostrophes, echoes replaced. Never raises."""
    text = clip(raw)
    if not text.isascii() and _ODD.search(text):
        text = text.translate(_SPELLING)
    plain = folded(" ".join(text.lower().split()))
    return _without_echoes(plain)


def _without_echoes(plain: Folded) -> Folded:
    text = plain.text
    if "input_value=" in text:
        text = _INPUT_VALUE.sub("input_value=x", text)
    if "'" in text or '"' in text or "`" in text:
        for keys, pattern, put in _QUOTED_ECHOES:
            if not keys.isdisjoint(plain.keys):
                text = pattern.sub(put, text)
    if not plain.keys.isdisjoint(_ID_KEYS):
        text = _IDS.sub(r"\1\2", text)
    return plain if text is plain.text or text == plain.text else folded(text)


def shown(raw: str, limit: int = 400) -> str:
    """For people: whitespace folded, control characters and lone surrogates dropped, at most `limit` characters."""
    words = " ".join(raw[: limit * 8].split())
    clean = "".join(c for c in words[: limit * 2] if c.isprintable())
    return clean if len(clean) <= limit else clean[: limit - 1] + "\u2026"
