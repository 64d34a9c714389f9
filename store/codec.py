"""The records as they lie in a store: JSON objects with the names of spec 1.1-1.3, and the nouns made of them.
Reads leniently (a field of the wrong type is left out and named), repairs nothing: clamps and half overrides are the engine's."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from engine.domain.credentials import ApiKey, Credential, OAuth, Token
from engine.domain.ids import ProfileId, SessionKey, TurnId, parse_ref
from engine.domain.leases import Lease
from engine.domain.naming import camel
from engine.domain.sessions import Session
from engine.domain.stored_answers import StoredAnswer
from engine.domain.usage import ModelCooldown, OperatorOff, UsageStats

Record = dict[str, object]
REFERENCES = ("env:", "file:", "keyring:")


def _kind(annotation: object) -> type:
    """`int | None` -> int. Annotations are text, because the domain's modules import them from __future__."""
    text = str(annotation)
    return int if text.startswith("int") else bool if text.startswith("bool") else dict if text.startswith("Mapping") else str


SESSION_KINDS: Mapping[str, tuple[str, type]] = {camel(f.name): (f.name, _kind(f.type)) for f in fields(Session)}
USAGE_KINDS: Mapping[str, tuple[str, type]] = {camel(f.name): (f.name, _kind(f.type)) for f in fields(UsageStats)}
USAGE_MAPS = frozenset(name for name, kind in USAGE_KINDS.values() if kind is dict)
CREDENTIAL_FIELDS: Mapping[str, tuple[str, ...]] = {
    "api_key": ("key", "keyRef"),
    "token": ("token", "expires", "keyRef"),
    "oauth": ("access", "refresh", "expires", "email", "accountId", "projectId", "enterpriseUrl"),
}


class Unreadable(ValueError):
    """A record that is no record of its kind. Its text names fields, never values: they may be secrets."""


def _read(value: object, kind: type) -> Any:
    """The value as that kind, None when it is something else."""
    if kind is int:
        if isinstance(value, float) and math.isfinite(value):
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    return value if isinstance(value, kind) else None


def decode_session(record: Mapping[str, object]) -> tuple[Session, list[str]]:
    """The session, and the JSON names of fields that were left out because of their type."""
    found: dict[str, Any] = {}
    wrong: list[str] = []
    for label, value in record.items():
        if value is not None and label in SESSION_KINDS:
            name, kind = SESSION_KINDS[label]
            found[name] = _read(value, kind)
            if found[name] is None:
                wrong.append(label)
                del found[name]
    return Session(**found), wrong


def decode_usage(record: Mapping[str, object]) -> tuple[UsageStats, list[str]]:
    """The profile's record, and the JSON names (`modelCooldowns.<model>`) of what was left out because of its type."""
    found: dict[str, Any] = {}
    wrong: list[str] = []
    for label, value in record.items():
        if value is None or label not in USAGE_KINDS:
            continue
        name, kind = USAGE_KINDS[label]
        held = _read(value, kind)
        if held is None:
            wrong.append(label)
        elif kind is dict:
            entries = {key: _model_cooldown(item) if name == "model_cooldowns" else _read(item, int) for key, item in held.items()}
            wrong.extend(f"{label}.{key}" for key, item in entries.items() if item is None)
            found[name] = {key: item for key, item in entries.items() if item is not None}
        else:
            found[name] = held
    return UsageStats(**found), wrong


def _model_cooldown(item: object) -> ModelCooldown | None:
    if not isinstance(item, dict):
        return None
    until, reason, count = _read(item.get("until"), int), item.get("reason"), _read(item.get("errorCount", 0), int)
    return ModelCooldown(until, reason, count) if until is not None and isinstance(reason, str) and count is not None else None


def encode_model_cooldown(cooldown: ModelCooldown) -> Record:
    return {"until": cooldown.until, "reason": cooldown.reason, "errorCount": cooldown.error_count}


def decode_credential(record: Mapping[str, object]) -> Credential:
    """A `key` or `token` that is a reference (`env:NAME`) becomes `key_ref`. Raises Unreadable."""
    provider, kind = record.get("provider"), record.get("type")
    if not isinstance(provider, str) or not provider:
        raise Unreadable("no provider")
    if kind not in CREDENTIAL_FIELDS:
        raise Unreadable("its type is none of api_key, token, oauth")
    if kind == "oauth":
        known = {"type", "provider", *CREDENTIAL_FIELDS["oauth"]}
        return OAuth(
            provider.lower(),
            _text(record, "access"),
            _text(record, "refresh"),
            record.get("expires"),
            _text(record, "email") or None,
            _text(record, "accountId") or None,
            _text(record, "projectId") or None,
            _text(record, "enterpriseUrl") or None,
            {name: value for name, value in record.items() if name not in known},
        )
    secret, reference = _text(record, "key" if kind == "api_key" else "token"), _text(record, "keyRef") or None
    if reference is None and secret.startswith(REFERENCES):
        secret, reference = "", secret
    if kind == "api_key":
        return ApiKey(provider.lower(), secret, reference)
    return Token(provider.lower(), secret, record.get("expires"), reference)


def encode_credential(credential: Credential) -> Record:
    """The record of spec 1.1; absent fields are left out."""
    record: Record = {"type": credential.type, "provider": credential.provider}
    if isinstance(credential, OAuth):
        record = {**credential.extra, **record}
    for label in CREDENTIAL_FIELDS[credential.type]:
        value = getattr(credential, "key_ref" if label == "keyRef" else _snake(label))
        if value is not None and value != "":
            record[label] = value
    return record


def same_credential(one: Credential, other: Credential) -> bool:
    """Equal as stored: compared as text, because an `expires` that is no number need not equal itself."""
    return dump(encode_credential(one), sort=True) == dump(encode_credential(other), sort=True)


def decode_off(target: str, record: Mapping[str, object]) -> OperatorOff:
    """Raises Unreadable."""
    since, reason = _read(record.get("since"), int), record.get("reason")
    if since is None:
        raise Unreadable("no time in `since`")
    return OperatorOff(target, since, _text(record, "by"), reason if isinstance(reason, str) else None)


def encode_off(off: OperatorOff) -> Record:
    return {"since": off.since, "by": off.by, **({"reason": off.reason} if off.reason is not None else {})}


def decode_answer(record: Mapping[str, object]) -> StoredAnswer:
    """Raises Unreadable."""
    ref, at, profile = parse_ref(_text(record, "ref")), _read(record.get("at"), int), record.get("profile")
    if ref is None or at is None:
        raise Unreadable("no model in `ref`, or no time in `at`")
    return StoredAnswer(ref, ProfileId(profile) if isinstance(profile, str) else None, SessionKey(_text(record, "session")), at)


def encode_answer(answer: StoredAnswer) -> Record:
    profile = {"profile": str(answer.profile)} if answer.profile is not None else {}
    return {"ref": str(answer.ref), "session": str(answer.session), "at": answer.at, **profile}


def decode_lease(record: Mapping[str, object]) -> Lease:
    """Raises Unreadable."""
    until = _read(record.get("until"), int)
    if until is None:
        raise Unreadable("no time in `until`")
    return Lease(ProfileId(_text(record, "profile")), _text(record, "model"), TurnId(_text(record, "holder")), until)


def encode_lease(lease: Lease) -> Record:
    return {"profile": str(lease.profile), "model": lease.model, "holder": str(lease.holder), "until": lease.until}


def decode_order(record: Mapping[str, object]) -> tuple[ProfileId, ...]:
    """Raises Unreadable."""
    profiles = record.get("profiles")
    if not isinstance(profiles, list) or not all(isinstance(profile, str) for profile in profiles):
        raise Unreadable("no list of profile ids")
    return tuple(ProfileId(profile) for profile in profiles)


def encode_order(profiles: tuple[ProfileId, ...]) -> Record:
    return {"profiles": list(profiles)}


def dump(record: Mapping[str, object], *, sort: bool = False) -> str:
    """JSON in ASCII: foreign text may hold halves of surrogate pairs, which no UTF-8 file takes."""
    return json.dumps(record, separators=(",", ":"), sort_keys=sort)


def parse(text: object) -> Record | None:
    """The object that the text holds, None when it holds anything else."""
    try:
        record = json.loads(text) if isinstance(text, str | bytes) else None
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _text(record: Mapping[str, object], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _snake(label: str) -> str:
    return {"accountId": "account_id", "projectId": "project_id", "enterpriseUrl": "enterprise_url"}.get(label, label)
