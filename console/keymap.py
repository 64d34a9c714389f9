"""The operator's own keys (`console.keys` of the configuration): which key does what in the end, and what is wrong with what was written.

Needs no Textual: `failover config check` says it without a screen. Which actions there are is `console.actions`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from console.actions import ACTIONS, Action, key_name

_NAMED = frozenset(
    ("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete", "backspace", "enter", "escape", "tab", "space")
) | {f"f{number}" for number in range(1, 25)}
_MODIFIERS = frozenset(("ctrl", "alt", "shift", "super", "hyper", "meta"))
_SHORT = {"slash": "/", "backslash": "\\", "at": "@", "minus": "-", "plus": "+", "underscore": "_"}
_IDS = tuple(action.id for action in ACTIONS)


@dataclass(slots=True)
class _Resolved:
    actions: dict[str, Action] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)


def resolve(keymap: Mapping[str, str] | None = None) -> dict[str, Action]:
    """The actions by id with the keys that they have in the end. An own key wins over one that was there from the start, the first of two
    own ones over the second; what is no key is left out, and an action for which nothing is left keeps what nobody took."""
    return _resolved(keymap or {}).actions


def complaints(keymap: Mapping[str, str] | None = None) -> list[str]:
    """What is wrong with a keymap, each with the next step; empty when nothing is."""
    return _resolved(keymap or {}).complaints


def textual_keymap(actions: Mapping[str, Action]) -> dict[str, str]:
    """What differs from the registry, in the form that Textual takes."""
    # Textual ignores an empty entry: an action that lost its keys gets one that no terminal sends.
    return {a.id: ",".join(actions[a.id].keys) or "none" for a in ACTIONS if actions[a.id].keys != a.keys}


def pressed(key: str, character: str | None, *, ascii_only: bool = False) -> str | None:
    """What a key that came from the terminal is called; None for what nobody presses on purpose: noise, a modifier alone."""
    if character is not None and character.isprintable() and character != " ":
        return character if character.isascii() or not ascii_only else key
    *modifiers, last = key.split("+")
    known = last in _NAMED or (len(last) == 1 and last.isalnum())
    return key_name(key, ascii_only=ascii_only) if known and set(modifiers) <= _MODIFIERS else None


def _resolved(keymap: Mapping[str, str]) -> _Resolved:
    out = _Resolved()
    out.complaints += [_no_action(name) for name in keymap if name not in _IDS]
    own = {name: _own_keys(name, keymap[name], out.complaints) for name in _IDS if name in keymap}
    owner: dict[str, str] = {}
    for name, keys in own.items():
        for key in keys:
            if owner.setdefault(key, name) != name:
                out.complaints.append(
                    f"console.keys: {key_name(key)} is given to {owner[key]} and to {name}; it does {owner[key]}: give {name} another key"
                )
    for action in ACTIONS:
        wanted = own.get(action.id) or action.keys
        keys = tuple(key for key in wanted if owner.get(key, action.id) == action.id)
        lost = [key for key in wanted if key not in keys and action.id not in own]
        for key in lost:
            has = (
                f"has {' '.join(map(key_name, keys))} still"
                if keys
                else f"has no key now: give it one, or do {action.label} by the palette"
            )
            out.complaints.append(f"console.keys: {key_name(key)} does {owner[key]} now; {action.id} {has}")
        out.actions[action.id] = replace(action, keys=keys)
    return out


def _own_keys(name: str, said: str, wrong: list[str]) -> tuple[str, ...]:
    keys: list[str] = []
    for word in (part.strip() for part in said.split(",")):
        if not word:
            continue
        if _is_key(word):
            keys.append(_short(word))
        else:
            wrong.append(f"console.keys.{name}: {word!r} is no key; {_spelling(word)}")
    if not keys:
        wrong.append(f"console.keys.{name}: no key is left of {said!r}, so {name} keeps its own")
    return tuple(dict.fromkeys(keys))


def _is_key(word: str) -> bool:
    *modifiers, last = word.split("+") if len(word) > 1 else [word]
    return set(modifiers) <= _MODIFIERS and (len(last) == 1 or last in _NAMED or _character(last) is not None)


def _character(name: str) -> str | None:
    """`exclamation_mark` -> `!`, in the words of Unicode, which Textual uses with few exceptions."""
    if name in _SHORT:
        return _SHORT[name]
    try:
        return unicodedata.lookup(name.replace("_", " ").upper())
    except KeyError:
        return None


def _short(word: str) -> str:
    """A character by itself rather than by its name. Not the comma, which parts the keys."""
    found = None if len(word) == 1 or word in _NAMED or "+" in word else _character(word)
    return found if found is not None and found != "," else word


def _spelling(word: str) -> str:
    guess = re.sub(r"(?i)^<?(?:c-|ctrl-|control[-+]|\^)(.)>?$", r"ctrl+\1", word)
    guess = re.sub(r"(?i)^(?:shift[-+])([a-z])$", lambda found: found[1].upper(), guess)
    guess = guess if len(guess) == 1 else guess.lower().replace("-", "+")
    if guess != word and _is_key(guess):
        return f"write {guess}"
    near = get_close_matches(guess, [*_NAMED], 1)
    return f"write {near[0]}" if near else "write a character, or one such as enter, pageup, f5, ctrl+r, shift+up"


def _no_action(name: str) -> str:
    near = get_close_matches(name.replace("-", "_").lower(), _IDS, 1)
    hint = f"did you mean {near[0]}?" if near else "the palette shows the id of each action"
    return f"console.keys: no action is called {name!r}; {hint}"
