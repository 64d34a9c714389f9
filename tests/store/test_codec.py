"""Records as they lie in a store, good and bad."""

from __future__ import annotations

import dataclasses

import pytest

from engine.domain.credentials import ApiKey, Token
from engine.domain.ids import MAIN_AGENT
from engine.domain.naming import camel
from engine.domain.sessions import Session
from engine.domain.store import Change, PatchSession, PatchUsage
from engine.domain.usage import ModelCooldown, UsageStats
from store import codec
from store.effects import REFUSED, Revise, effects_of
from tests.store.making import K1, MAIN, login, put, usage

NO_TEXT: dict[str, object] = {
    "compaction_count": 3,
    "live_model_switch_pending": True,
    "updated_at": 4,
    "pin_until": 5,
    "auth_profile_override_compaction_count": 6,
    "fallback_notice_since": 7,
}


def revised(change: Change, held: dict[str, object] | None) -> object:
    effect = effects_of(change)[0]
    assert isinstance(effect, Revise)
    return effect.revise(held)


def test_every_field_of_a_session_comes_back():
    whole = {field.name: NO_TEXT.get(field.name, field.name) for field in dataclasses.fields(Session)}
    record = revised(PatchSession(MAIN, whole), None)
    assert isinstance(record, dict)
    assert {"modelOverrideFallbackOriginProvider", "authProfileOverrideCompactionCount", "pendingNotice"} <= record.keys()
    assert codec.decode_session(record) == (Session(**whole), [])  # type: ignore[arg-type]


def test_every_field_of_a_usage_record_comes_back():
    whole: dict[str, object] = {}
    for field in dataclasses.fields(UsageStats):
        kind = codec.USAGE_KINDS[camel(field.name)][1]
        whole[field.name] = {int: 5, str: "text", dict: {"billing": 1}}[kind]
    whole["model_cooldowns"] = {"org/m:1@2025": ModelCooldown(9, "timeout", 2)}
    record = revised(PatchUsage(MAIN_AGENT, K1, whole), None)
    assert isinstance(record, dict)
    assert record["modelCooldowns"] == {"org/m:1@2025": {"until": 9, "reason": "timeout", "errorCount": 2}}
    assert codec.decode_usage(record) == (UsageStats(**whole), [])  # type: ignore[arg-type]


def test_a_field_of_the_wrong_type_is_left_out_and_named():
    record: dict[str, object] = {
        "providerOverride": 5,
        "updatedAt": "noon",
        "liveModelSwitchPending": 1,
        "pinUntil": True,
        "pinnedBy": "ann",
    }
    made, wrong = codec.decode_session(record)
    assert made == Session(pinned_by="ann")
    assert wrong == ["providerOverride", "updatedAt", "liveModelSwitchPending", "pinUntil"]


def test_half_a_map_is_read_for_its_good_half():
    made, wrong = codec.decode_usage(
        {
            "failureCounts": {"billing": 1, "timeout": "many"},
            "modelCooldowns": {"a": {"until": 5, "reason": "timeout"}, "b": 7},
            "errorCount": float("inf"),
        }
    )
    assert made == UsageStats(failure_counts={"billing": 1}, model_cooldowns={"a": ModelCooldown(5, "timeout", 0)})
    assert wrong == ["failureCounts.timeout", "modelCooldowns.b", "errorCount"]


def test_times_with_a_fraction_are_times():
    assert codec.decode_usage({"lastUsed": 1.7e12})[0].last_used == 1_700_000_000_000


def test_fields_that_nobody_knows_survive_a_patch():
    held: dict[str, object] = {"ours": 1, "errorCount": 1, "modelCooldowns": {"a": {"until": 1, "reason": "timeout", "theirs": 2}}}
    patch = usage(error_count=2, model_cooldowns={"a": ModelCooldown(5, "timeout", 1)})
    assert revised(patch, held) == {
        "ours": 1,
        "errorCount": 2,
        "modelCooldowns": {"a": {"until": 5, "reason": "timeout", "theirs": 2, "errorCount": 1}},
    }


def test_fields_that_nobody_knows_survive_a_new_key_but_not_another_kind_of_credential():
    held: dict[str, object] = {"type": "api_key", "provider": "acme", "key": "old", "label": "theirs"}
    assert revised(put(K1, ApiKey("acme", "new")), held) == {"type": "api_key", "provider": "acme", "key": "new", "label": "theirs"}
    assert revised(put(K1, Token("acme", "t")), held) == {"type": "token", "provider": "acme", "token": "t"}


def test_a_known_field_that_is_absent_now_does_not_linger():
    held: dict[str, object] = {"type": "api_key", "provider": "acme", "key": "old"}
    assert revised(put(K1, ApiKey("acme", key_ref="env:K")), held) == {"type": "api_key", "provider": "acme", "keyRef": "env:K"}


def test_a_login_keeps_what_we_do_not_know_of_it():
    record = codec.encode_credential(login("a1", idToken="x", type="lies"))
    assert record["idToken"] == "x"
    assert record["accountId"] == "acc"
    assert record["type"] == "oauth"


@pytest.mark.parametrize("reference", ["env:ACME", "file:/run/key", "keyring:acme/ops"])
def test_a_key_may_be_a_reference(reference: str):
    assert codec.decode_credential({"type": "api_key", "provider": "Acme", "key": reference}) == ApiKey("acme", "", reference)
    assert codec.decode_credential({"type": "token", "provider": "acme", "token": reference}) == Token("acme", "", None, reference)


@pytest.mark.parametrize("record", [{"type": "api_key", "key": "sk-secret"}, {"type": ["x"], "provider": "acme"}, {"provider": "acme"}])
def test_a_bad_credential_is_named_without_its_secret(record: dict[str, object]):
    if isinstance(record.get("type"), list):
        record = {**record, "type": "other"}
    with pytest.raises(codec.Unreadable) as told:
        codec.decode_credential(record)
    assert "sk-secret" not in str(told.value)


def test_an_expiry_that_is_no_number_can_still_be_compared():
    odd = Token("acme", "t", expires=float("nan"))
    held = codec.encode_credential(odd)
    assert revised(put(K1, Token("acme", "t2"), expect=odd), held) is not REFUSED
    assert revised(put(K1, Token("acme", "t2"), expect=Token("acme", "t")), held) is REFUSED


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "5", b"\xff\xfe", 7, None, "[" * 100_000])
def test_what_is_no_object_is_no_record(text: object):
    assert codec.parse(text) is None
