"""What-if as people type it: `openai:work gets 429; at 14:30; clear anthropic:me`. From words to assumptions, and nothing more: whether
they can be assumed, and what follows, the engine says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from console.view.moments import moment
from engine.domain.acts import Clear, Pin, SelectModel, SetOff, SetOn, Unpin
from engine.domain.foresight import Assumption, At, Fails
from engine.domain.ids import ProfileId, SessionKey
from engine.policy.assumed import REASONS

EXAMPLES = (
    "openai:work gets 429",
    "anthropic gets overloaded",
    "at 14:30",
    "in 10m",
    "clear anthropic:me",
    "off openai",
    "pin anthropic:backup",
    "model google/gemini-3-pro",
)
_ACT_WORDS = ("clear", "off", "on", "pin", "unpin", "model")
_FAILS = re.compile(
    r"(?P<target>\S+)\s+(?:(?:gets?|answers?|fails(?: with)?|returns?|is)\s+)?(?:a\s+)?(?P<what>\d{3}|[a-z_]+)"
    r"(?:\s+(?:retry(?:-after)?|wait|for)\s+(?P<wait>\d{1,6})s?)?(?:\s+now)?\Z"
)


@dataclass(frozen=True, slots=True)
class Place:
    """What `this` means, and when it is now. profile: the one under the cursor."""

    session: SessionKey
    now: int
    profile: str | None = None
    utc: bool = False


def parse(text: str, place: Place) -> tuple[Assumption, ...]:
    """Parts are separated by `;`, `,` or `and`. Raises ValueError that says which part is not understood and how one may look."""
    parts = [part.strip() for part in re.split(r"[;,]|\band\b", text) if part.strip()]
    return tuple(_one(part, place) for part in parts)


def _one(text: str, place: Place) -> Assumption:
    words = text.split()
    while words and words[0].casefold() in ("if", "i", "we", "assume", "that"):
        words.pop(0)
    if not words:
        raise _unclear(text)
    first, rest = words[0].casefold(), words[1:]
    if first in ("at", "in") and rest:
        return At(moment(" ".join(rest), place.now, utc=place.utc))
    if first in ("cleared", "pinned", "take", "put"):
        raise _unclear(text)
    if first in _ACT_WORDS:
        return _act(first, rest, text, place)
    if len(words) == 2 and words[1].casefold() in ("off", "on", "cleared"):
        return _act(words[1].casefold().removesuffix("ed"), words[:1], text, place)
    found = _FAILS.match(" ".join(words))
    if found is None:
        raise _unclear(text)
    target = _target(found["target"], place)
    wait = int(found["wait"]) if found["wait"] else None
    if found["what"].isdecimal():
        status = int(found["what"])
        if not 400 <= status <= 599:
            raise ValueError(f"HTTP {status} is no failure: 400 to 599 are")
        return Fails(target, status=status, wait_s=wait)
    if found["what"] not in REASONS:
        raise ValueError(f"{found['what'][:30]!r} is no reason: there is {', '.join(REASONS)}, or an HTTP status")
    return Fails(target, reason=found["what"], wait_s=wait)


def _act(word: str, rest: list[str], text: str, place: Place) -> Assumption:
    if word == "unpin" and not rest:
        return Unpin(place.session)
    if len(rest) != 1:
        raise _unclear(text)
    target = _target(rest[0], place)
    match word:
        case "clear":
            return Clear(ProfileId(target))
        case "off":
            return SetOff(target)
        case "on":
            return SetOn(target)
        case "pin":
            return Pin(place.session, ProfileId(target))
        case "model":
            return SelectModel(place.session, target)
    raise _unclear(text)


def _target(word: str, place: Place) -> str:
    if word.casefold() not in ("this", "it"):
        return word
    if place.profile is None:
        raise ValueError("`this` is the profile under the cursor, and the cursor is on none: name it")
    return place.profile


def _unclear(text: str) -> ValueError:
    return ValueError(f"{text[:60]!r} is not understood; write for example: {'; '.join(EXAMPLES[:5])}")
