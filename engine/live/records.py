"""Session keys and their records (spec/gateway.md, "Which session it belongs to"): `<key>` and, for each model that requests name,
`<key>#<ref>`. An operator's act on `<key>` is for all of them, later ones too. Derived sessions live here and in memory only: bounded,
one hour. Which key a request has is the gateway's business."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from engine.domain.ids import ModelRef, SessionKey, parse_ref
from engine.domain.sessions import Session
from engine.live.memory import Memory
from engine.policy.pins import PIN_FIELDS, USER_PIN_FIELDS, pin_is_user
from engine.policy.selection import is_explicit

DERIVED_MS = 60 * 60_000
MAX_DERIVED = 4_096
DERIVED = "derived:"
MAX_KEY = 200
"""Characters of a key (spec/gateway.md), without the model of its record."""
_SELECTION = ("provider_override", "model_override", "model_override_source")


def split_record(key: SessionKey) -> tuple[SessionKey, ModelRef | None]:
    """`chat#zeta/std` -> (`chat`, zeta/std); a key without a ref behind its last `#` is its own base."""
    base, mark, ref = key.rpartition("#")
    named = parse_ref(ref) if mark and base else None
    return (SessionKey(base), named) if named is not None else (key, None)


def unfit_key(key: str) -> str | None:
    """Why no request can ever have this key: an act on it would leave a record that nobody can reach. None: one can. Whether a derived
    key is still known is `DerivedSessions`' to say."""
    if not key.strip():
        return "the session has no name: write the key that `failover sessions` shows"
    if not key.isprintable() or len(split_record(SessionKey(key))[0]) > MAX_KEY:
        return f"no session can have that name: a key is at most {MAX_KEY} printable characters"
    return None


def records_of(memory: Memory, key: SessionKey) -> list[SessionKey]:
    """The records that an act on `key` is for: itself and, if it is a base, those of its models."""
    prefix = f"{key}#"
    return [key, *(found for found in memory.sessions if found.startswith(prefix) and split_record(found)[0] == key)]


def inherited(base: Session, now: int) -> dict[str, object]:
    """What a record that begins now takes from its base: a user's selection and a user's pin."""
    fields: dict[str, object] = {}
    if is_explicit(base):
        fields.update({name: getattr(base, name) for name in _SELECTION})
    if pin_is_user(base, now):
        fields.update({name: getattr(base, name) for name in (*PIN_FIELDS, *USER_PIN_FIELDS)})
    return {name: value for name, value in fields.items() if value is not None}


class DerivedSessions:
    """forget: drops what else is kept of a session."""

    def __init__(self, memory: Memory, forget: Callable[[SessionKey], None]) -> None:
        self._memory = memory
        self._forget = forget
        self._seen: OrderedDict[str, tuple[str, int]] = OrderedDict()
        self._of_caller: dict[str, dict[SessionKey, None]] = {}

    def note(self, key: SessionKey, caller: str, now: int) -> None:
        """The session is derived and was used now. caller: the name under which its row stands."""
        self._seen[key] = (caller, now)
        self._seen.move_to_end(key)
        sessions = self._of_caller.setdefault(caller, {})
        sessions.pop(key, None)
        sessions[key] = None
        while len(self._seen) > MAX_DERIVED:
            self._drop(next(iter(self._seen)))

    def expire(self, now: int) -> None:
        while self._seen and now - next(iter(self._seen.values()))[1] >= DERIVED_MS:
            self._drop(next(iter(self._seen)))

    def caller(self, key: str) -> str | None:
        """None: not a derived session."""
        seen = self._seen.get(key)
        return seen[0] if seen is not None else None

    def of_caller(self, name: str) -> list[SessionKey]:
        """The sessions behind the row of that name, newest last; none if it is no caller's."""
        return list(self._of_caller.get(name, ()))

    def newest(self, key: SessionKey) -> SessionKey:
        """What a key from the screen means: a caller's newest session, or the key itself."""
        sessions = self._of_caller.get(key)
        return next(reversed(sessions)) if sessions else key

    def __contains__(self, key: str) -> bool:
        return key in self._seen

    def _drop(self, key: str) -> None:
        caller, _ = self._seen.pop(key)
        self._of_caller[caller].pop(SessionKey(key), None)
        if not self._of_caller[caller]:
            del self._of_caller[caller]
        self._memory.sessions.pop(SessionKey(key), None)
        self._memory.drop_marks(SessionKey(key))
        self._forget(SessionKey(key))
