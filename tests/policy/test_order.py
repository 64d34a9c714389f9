"""The profiles of a provider in the order in which they would be tried (spec 4.1, `engine.policy.order`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from engine.domain.acts import SetOrder
from engine.domain.credentials import ApiKey, Credential, OAuth, Token
from engine.domain.sessions import Session
from engine.domain.usage import ModelCooldown, UsageStats
from engine.policy.order import Order, resolve_order
from engine.policy.states import condition
from tests.policy.transcript import T0, World, key_of, login_of, token_of

FOUR = ("acme:k1", "acme:k2", "acme:k3", "acme:k4")


def order(world: World) -> Order:
    return resolve_order("acme", world.settings, world.look())


def cooling(seconds: int, model: str = "big") -> UsageStats:
    return UsageStats(model_cooldowns={model: ModelCooldown(T0 + seconds * 1000, "rate_limit", 1)}, last_failure_at=T0 - 1)


@pytest.mark.parametrize(
    ("rule", "profiles", "stored", "auth"),
    [
        ("order.stored", ["acme:k3", "acme:k1"], {"acme": ("acme:k3", "acme:k1")}, {"order": {"acme": ["acme:k2"]}}),
        ("order.config", ["acme:k2", "acme:k1"], None, {"order": {"acme": ["acme:k2", "acme:k1", "acme:k2"]}}),
        ("order.configured-profiles", ["acme:k4"], None, {"profiles": {"acme:k4": {"provider": "acme", "mode": "api_key"}}}),
        ("order.stored-profiles", list(FOUR), None, {}),
        ("order.stored", [], {"acme": ()}, {}),
        ("order.config", [], None, {"order": {"acme": []}}),
    ],
)
def test_the_first_source_that_there_is_gives_the_order(
    rule: str, profiles: list[str], stored: Mapping[str, tuple[str, ...]] | None, auth: dict[str, Any]
) -> None:
    """An operator's act beats the file, duplicates are removed, an empty list means no profile."""
    found = order(World(profiles=FOUR, order=stored, auth=auth))
    assert (found.rule, list(found.profiles)) == (rule, profiles)


@pytest.mark.parametrize("auth", [{}, {"order": {"acme": ["acme:typo"]}}])
def test_an_order_of_nothing_but_unknown_ids_is_a_typo_and_all_are_used_order_stored_profiles(auth: dict[str, Any]) -> None:
    stored = None if auth else {"acme": ("acme:gone", "acme:other")}
    found = order(World(profiles=FOUR, order=stored, auth=auth))
    assert (found.rule, found.profiles, found.repaired) == ("order.stored-profiles", FOUR, True)
    world = World(profiles=FOUR, order=stored, auth=auth)
    for answer in ("ok", (404, "model not found")):
        about = [d.detail for d in world.run({"acme/big": answer}, session=str(answer)).ended.decisions if d.candidate_model == "big"]
        assert about[0] == "the explicit order names only profiles that are not stored"


def test_a_profile_outside_the_order_is_never_used_whatever_the_pin_says_order_config() -> None:
    """B18: last-good is a hint, not an admission."""
    good = Session(auth_profile_override="acme:k2", auth_profile_override_source="auto", auth_profile_override_compaction_count=0)  # type: ignore[arg-type]
    world = World(profiles=("acme:k1", "acme:k2", "zeta:k1"), auth={"order": {"acme": ["acme:k1"]}}, session=good)
    turn = world.run({"acme/big": (402, "insufficient credits")})
    assert turn.calls == ["acme/big@acme:k1", "zeta/std@zeta:k1"]


def test_an_explicit_order_keeps_its_sequence_round_robin_does_not_order_config_order_stored_profiles() -> None:
    used = {"acme:k1": UsageStats(last_used=T0 - 10), "acme:k2": UsageStats(last_used=T0 - 20)}
    both: dict[str, Any] = {"profiles": ("acme:k1", "acme:k2", "acme:k3"), "usage": used}
    assert order(World(**both)).profiles == ("acme:k3", "acme:k2", "acme:k1")
    assert order(World(**both, auth={"order": {"acme": ["acme:k1", "acme:k2"]}})).profiles == ("acme:k1", "acme:k2")


def test_logins_go_before_tokens_before_keys_order_stored_profiles() -> None:
    """E14"""
    mixed: dict[str, Credential] = {"acme:t1": token_of("acme:t1"), "acme:o1": login_of("acme:o1")}
    assert order(World(profiles=("acme:k1",), credentials=mixed)).profiles == ("acme:o1", "acme:t1", "acme:k1")


def test_equal_times_go_by_who_was_stamped_first_then_by_stored_order_order_stored_profiles() -> None:
    world = World(profiles=("acme:k1", "acme:k2", "acme:k3"))
    for expected in ("acme:k1", "acme:k2", "acme:k3", "acme:k1"):
        turn = world.run(session=f"new-{expected}-{len(world.memory.sessions)}")
        assert turn.calls == [f"acme/big@{expected}"]


def test_a_profile_is_stamped_when_its_attempt_starts_so_new_sessions_spread_order_stored_profiles() -> None:
    """E14: ten turns begin before any has ended."""
    world = World(profiles=("acme:k1", "acme:k2"))
    turns = []
    for n in range(10):
        world.now += 1
        turns.append(world.turn(f"s{n}"))
    called = [turn.calls[0].partition("@")[2] for turn in turns]
    assert (called.count("acme:k1"), called.count("acme:k2")) == (5, 5)


def test_profiles_in_a_window_that_applies_go_last_soonest_free_first_order_windowed_last() -> None:
    world = World(profiles=FOUR, usage={"acme:k1": cooling(90), "acme:k2": cooling(30), "acme:k3": cooling(90, "small")})
    turn = world.run({"acme/big": (401, "invalid api key")})
    assert turn.calls == ["acme/big@acme:k3", "acme/big@acme:k4"]
    # When all are cooling the soonest to be free is the one to ask.
    world = World(profiles=("acme:k1", "acme:k2"), fallbacks=(), usage={"acme:k1": cooling(90), "acme:k2": cooling(60)})
    world.now += 40_000
    assert world.run().calls == ["acme/big@acme:k2"]


@pytest.mark.parametrize(
    ("credential", "mode", "code"),
    [
        (ApiKey("zeta", key="x"), None, "provider_mismatch"),
        (ApiKey("acme", key=""), None, "missing_credential"),
        (OAuth("acme"), None, "missing_credential"),
        (Token("acme", token=""), None, "missing_credential"),
        (key_of("acme:p"), "oauth", "mode_mismatch"),
        (login_of("acme:p"), "token", "mode_mismatch"),
        (token_of("acme:p", expires=T0), None, "expired"),
        (token_of("acme:p", expires=T0 - 1), None, "expired"),
        (token_of("acme:p", expires=0), None, "invalid_expires"),
        (token_of("acme:p", expires=math.nan), None, "invalid_expires"),
        (token_of("acme:p", expires=math.inf), None, "invalid_expires"),
        (token_of("acme:p", expires="soon"), None, "invalid_expires"),
        (token_of("acme:p", expires=True), None, "invalid_expires"),
        (None, "api_key", "profile_missing"),
    ],
)
def test_who_may_not_be_used_drops_out_with_a_reason_code(credential: Credential | None, mode: str | None, code: str) -> None:
    """`order.configured-profiles`; G05: the state word of the console comes from the same function."""
    auth: dict[str, Any] = {"order": {"acme": ["acme:p", "acme:k1"]}}
    if mode is not None:
        auth["profiles"] = {"acme:p": {"provider": "acme", "mode": mode}}
    world = World(profiles=("acme:k1",), credentials={"acme:p": credential} if credential is not None else None, auth=auth)
    found = order(world)
    assert (found.profiles, dict(found.dropped)) == (("acme:k1",), {"acme:p": code})
    assert str(condition("acme:p", world.settings, world.look()).state) != "ready" or code == "provider_mismatch"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("credential", "mode"),
    [
        (token_of("acme:p"), "oauth"),
        (token_of("acme:p", expires=T0 + 1), None),
        (login_of("acme:p", expires_in_ms=-1), None),
        (OAuth("acme", access="", refresh="made-up"), None),
        (OAuth("acme", access="made-up", refresh=""), None),
    ],
)
def test_these_stay_eligible_order_stored_profiles(credential: Credential, mode: str | None) -> None:
    """A configured login accepts a stored token; an expired login is refreshed, not dropped."""
    auth = {"profiles": {"acme:p": {"provider": "acme", "mode": mode}}} if mode is not None else {}
    assert order(World(profiles=(), credentials={"acme:p": credential}, auth=auth)).profiles == ("acme:p",)


def test_no_profile_at_all_is_not_the_same_as_all_cooling_gate_no_credentials() -> None:
    """D14"""
    without = World(profiles=("zeta:k1",)).run()
    assert without.outcomes["acme/big"] == "skipped gate.no-credentials no_credentials"
    assert World(usage={"acme:k1": cooling(600)}).run().outcomes["acme/big"] == "skipped gate.primary-probe rate_limit"


def test_a_local_server_needs_no_profile_and_is_the_last_resort_gate_open() -> None:
    """D13"""
    turn = World(fallbacks=("kilo/std",), usage={"acme:k1": cooling(600)}).run()
    assert turn.calls == ["kilo/std"]


def test_an_operators_order_counts_at_once_and_its_end_brings_the_files_back_order_stored() -> None:
    world = World(profiles=FOUR, auth={"order": {"acme": ["acme:k1"]}})
    world.act(SetOrder("acme", ("acme:k4", "acme:k2")))  # type: ignore[arg-type]
    assert order(world).profiles == ("acme:k4", "acme:k2")
    world.act(SetOrder("acme", None))
    assert order(world).profiles == ("acme:k1",)
