"""What each `Change` does to the records, once for every store: which table, which key, and a pure function from the record
as it is to the record as it shall be. No SQL, no files; a store runs the function inside its own transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Final, Literal, assert_never

from engine.domain.credentials import Credential
from engine.domain.ids import AgentId, TurnId
from engine.domain.leases import Lease, Trial
from engine.domain.naming import camel
from engine.domain.sessions import Session
from engine.domain.store import (
    AppendAudit,
    AppendDecision,
    AppendFeed,
    Change,
    ClaimLease,
    DropLease,
    DropSession,
    PatchSession,
    PatchUsage,
    PutAnswer,
    PutCredential,
    PutOff,
    PutOrder,
    RemoveCredential,
)
from engine.domain.usage import ModelCooldown
from store.codec import (
    CREDENTIAL_FIELDS,
    SESSION_KINDS,
    USAGE_KINDS,
    USAGE_MAPS,
    Record,
    Unreadable,
    decode_credential,
    decode_lease,
    decode_session,
    encode_answer,
    encode_credential,
    encode_lease,
    encode_model_cooldown,
    encode_off,
    encode_order,
    same_credential,
)

KeyedTable = Literal["sessions", "operator_off", "credentials", "usage_stats", "profile_order", "stored_answers", "leases"]
LogTable = Literal["decisions", "feed", "audit"]


class Answer(Enum):
    REFUSED = "not_applied"


REFUSED: Final = Answer.REFUSED
"""The record does not hold what the change expects: nothing is written, the change answers False."""


@dataclass(frozen=True, slots=True)
class Revise:
    """revise: the record or None -> the new record, None to remove it, or REFUSED. It may run again on a fresh record."""

    table: KeyedTable
    key: str
    revise: Callable[[Record | None], Record | Literal[Answer.REFUSED] | None]


@dataclass(frozen=True, slots=True)
class Append:
    table: LogTable
    record: Mapping[str, object]


Effect = Revise | Append

_SESSION_NAMES = {name for name, _ in SESSION_KINDS.values()}
_USAGE_NAMES = {name for name, _ in USAGE_KINDS.values()}
_SESSION_DEFAULTS = {f.name: f.default for f in fields(Session)}


def home_of(change: Change) -> AgentId | None:
    """Whose file the change belongs to: an agent's, or None for the shared one. No change belongs to two."""
    return change.agent if isinstance(change, PatchUsage | PutCredential | RemoveCredential | PutOrder) else None


def effects_of(change: Change) -> tuple[Effect, ...]:
    """In order; after a refused one the rest is left out. Raises ValueError for a field that the noun does not have."""
    match change:
        case PatchSession():
            _known(change.fields, _SESSION_NAMES)
            _known(change.expect or {}, _SESSION_NAMES)
            return (Revise("sessions", change.session, lambda held: _patched_session(held, change)),)
        case DropSession():
            return (Revise("sessions", change.session, _removed),)
        case PatchUsage():
            _known(change.fields, _USAGE_NAMES)
            return (Revise("usage_stats", change.profile, lambda held: _patched_usage(held, change.fields)),)
        case PutCredential():
            return (Revise("credentials", change.profile, lambda held: _put_credential(held, change)),)
        case RemoveCredential():
            return (Revise("credentials", change.profile, _removed), Revise("usage_stats", change.profile, lambda _: None))
        case PutOrder():
            order = None if change.profiles is None else encode_order(change.profiles)
            return (Revise("profile_order", change.provider, lambda _: order),)
        case PutOff():
            off = None if change.off is None else encode_off(change.off)
            return (Revise("operator_off", change.target, lambda _: off),)
        case PutAnswer():
            answer = None if change.answer is None else encode_answer(change.answer)
            return (Revise("stored_answers", change.id, lambda _: answer),)
        case ClaimLease():
            return (Revise("leases", _trial_key(change.lease.trial), lambda held: _claimed(held, change)),)
        case DropLease():
            return (Revise("leases", _trial_key(change.trial), lambda held: _given_back(held, change.holder)),)
        case AppendDecision():
            return (Append("decisions", change.record),)
        case AppendFeed():
            return (Append("feed", change.record),)
        case AppendAudit():
            return (Append("audit", change.record),)
        case _:
            assert_never(change)


def _known(patch: Mapping[str, object], names: set[str]) -> None:
    if unknown := patch.keys() - names:
        raise ValueError(f"no such field: {', '.join(sorted(unknown))}")


def _removed(held: Record | None) -> Literal[Answer.REFUSED] | None:
    return REFUSED if held is None else None


def _patched_session(held: Record | None, change: PatchSession) -> Record | Literal[Answer.REFUSED]:
    record = dict(held or {})
    if change.expect is not None:
        session, _ = decode_session(record)
        for name, value in change.expect.items():
            if getattr(session, name) != (_SESSION_DEFAULTS[name] if value is None else value):
                return REFUSED
    for name, value in change.fields.items():
        _set(record, camel(name), value)
    return record


def _patched_usage(held: Record | None, patch: Mapping[str, object]) -> Record:
    record = dict(held or {})
    for name, value in patch.items():
        label = camel(name)
        if name in USAGE_MAPS and value is not None:
            before = record.get(label)
            entries: Record = dict(before) if isinstance(before, dict) else {}
            for key, item in _mapping(value).items():
                _set(entries, key, _cooldown(entries.get(key), item) if name == "model_cooldowns" and item is not None else item)
            record[label] = entries
        else:
            _set(record, label, value)
    return record


def _cooldown(before: object, item: object) -> Record:
    """A ModelCooldown, or a mapping with its names in either case; fields that only the record knows stay."""
    fresh = encode_model_cooldown(item) if isinstance(item, ModelCooldown) else {camel(key): value for key, value in _mapping(item).items()}
    return {**before, **fresh} if isinstance(before, dict) else fresh


def _put_credential(held: Record | None, change: PutCredential) -> Record | Literal[Answer.REFUSED]:
    if change.expect is not None and not _holds(held, change.expect):
        return REFUSED
    fresh = encode_credential(change.credential)
    if held is None or (held.get("type"), held.get("provider")) != (fresh["type"], fresh["provider"]):
        return fresh
    # A login keeps what we do not know of it; what we know is as given, absent fields included.
    ours = {"type", "provider", *CREDENTIAL_FIELDS[change.credential.type]}
    return {**{label: value for label, value in held.items() if label not in ours}, **fresh}


def _holds(held: Record | None, expected: Credential) -> bool:
    try:
        return held is not None and same_credential(decode_credential(held), expected)
    except Unreadable:
        return False


def _trial_key(trial: Trial) -> str:
    # Both halves are foreign text: no mere separator keeps them apart.
    return json.dumps(trial)


def _held_by(held: Record | None) -> Lease | None:
    try:
        return decode_lease(held) if held is not None else None
    except Unreadable:
        return None


def _claimed(held: Record | None, change: ClaimLease) -> Record | Literal[Answer.REFUSED]:
    lease = _held_by(held)
    if lease is not None and lease.holder != change.lease.holder and lease.until > change.now:
        return REFUSED
    return encode_lease(change.lease)


def _given_back(held: Record | None, holder: TurnId) -> Literal[Answer.REFUSED] | None:
    lease = _held_by(held)
    return REFUSED if lease is None or lease.holder != holder else None


def _set(record: Record, label: str, value: object) -> None:
    if value is None:
        record.pop(label, None)
    elif isinstance(value, str) and type(value) is not str:
        record[label] = str(value)  # an enum's word: memory must hold what a file would
    else:
        record[label] = value


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ValueError("a map of a usage record is patched with a map")
    return value
