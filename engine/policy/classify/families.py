"""Matching a folded text against the families of `wordings`. A pattern is tried only when the words that it needs stand in the
text, and every repetition in a pattern is bounded, so time is linear whatever is sent. What beats what is decided in `precedence`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.domain.reasons import FailoverReason
from engine.policy.classify.texts import Folded

_LETTERS = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class Wording:
    """keys: first four letters of words that must all be in the text. literals: strings that must stand in it. Both are cheap to
    check and spare most patterns."""

    keys: frozenset[str]
    literals: tuple[str, ...]
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Wordings:
    """Several wordings. gate: a text with none of these keys and none of `literals` holds none of them."""

    all: tuple[Wording, ...]
    gate: frozenset[str]
    literals: tuple[str, ...]

    def in_text(self, text: Folded) -> bool:
        """Whether one of the wordings stands in the text."""
        if self.gate.isdisjoint(text.keys) and not (self.literals and any(literal in text.text for literal in self.literals)):
            return False
        for wording in self.all:
            if (
                wording.keys <= text.keys
                and all(literal in text.text for literal in wording.literals)
                and wording.pattern.search(text.text) is not None
            ):
                return True
        return False


# Words that stand in most errors make poor gates.
_COMMON = frozenset({"mode", "not", "erro", "requ", "key", "the", "serv", "toke", "your", "is"})


def _commonness(key: str) -> tuple[bool, int, str]:
    return key in _COMMON, -len(key), key


def any_of(*wordings: Iterable[Wording]) -> Wordings:
    """The wordings as one, with their gate. Each argument is what `say` or `said` returned."""
    flat = tuple(wording for group in wordings for wording in group)
    return Wordings(
        flat,
        frozenset(min(wording.keys, key=_commonness) for wording in flat if wording.keys),
        tuple(dict.fromkeys(wording.literals[0] for wording in flat if not wording.keys)),
    )


@dataclass(frozen=True, slots=True)
class Family:
    """name: shown as `text.<name>`. reason None: the text is understood and says nothing about the provider. unless: wordings that
    take a text out of the family. loose_limit: longer texts are prose, of which only other evidence counts (R12)."""

    name: str
    reason: FailoverReason | None
    wordings: Wordings
    unless: Wordings | None = None
    loose_limit: int | None = None

    def matches(self, text: Folded) -> bool:
        if self.loose_limit is not None and len(text.text) > self.loose_limit:
            return False
        return self.wordings.in_text(text) and not (self.unless is not None and self.unless.in_text(text))


def say(needs: str, pattern: str) -> tuple[Wording, ...]:
    """A wording. needs: alternatives separated by `|`, words that belong together by `+`; `~` marks what is no beginning of a word."""
    compiled = re.compile(pattern)
    return tuple(_wording(alternative, compiled) for alternative in needs.split("|"))


def _wording(needs: str, pattern: re.Pattern[str]) -> Wording:
    keys: set[str] = set()
    literals: list[str] = []
    for atom in needs.split("+"):
        words = [] if atom.startswith("~") else _LETTERS.findall(atom)
        keys.update(word[:4] for word in words)
        if not words:
            literals.append(atom.removeprefix("~"))
    return Wording(frozenset(keys), tuple(literals), pattern)


def said(*literals: str) -> Iterator[Wording]:
    """Wordings that are plain whole words."""
    for literal in literals:
        yield from say(literal, rf"(?<![a-z0-9_]){re.escape(literal)}(?![a-z0-9_])")
