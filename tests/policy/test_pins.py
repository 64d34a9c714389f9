"""What a session's pin means for a candidate (spec 4.2, `engine.policy.pins`)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.domain.acts import Compact, Pin, Reset, SelectModel, SetOff, Unpin
from engine.domain.sessions import Session
from engine.domain.usage import ModelCooldown, UsageStats
from engine.policy.pins import pin_is_auto, pin_is_user
from tests.policy.transcript import MAIN, T0, World

TWO = ("acme:k1", "acme:k2", "zeta:k1")


def pinned(profile: str, source: str | None = "auto", count: int | None = 0, **more: Any) -> Session:
    return Session(
        auth_profile_override=profile,  # type: ignore[arg-type]
        auth_profile_override_source=source,
        auth_profile_override_compaction_count=count,
        **more,
    )


def cooling(model: str = "big", ms: int = 600_000) -> UsageStats:
    return UsageStats(model_cooldowns={model: ModelCooldown(T0 + ms, "rate_limit", 1)}, error_count=1, last_failure_at=T0 - 1)


def test_the_profile_that_answered_is_kept_no_rotation_per_request_pin_auto() -> None:
    world = World(profiles=TWO)
    for _ in range(5):
        world.now += 1_000
        assert world.run().calls == ["acme/big@acme:k1"]
    assert (world.session.auth_profile_override, world.session.auth_profile_override_source) == ("acme:k1", "auto")


def test_a_preference_rotates_on_failure_and_moves_with_the_answer_pin_auto() -> None:
    world = World(profiles=TWO, session=pinned("acme:k2"))
    assert world.run({"acme/big@acme:k2": 429}).calls == ["acme/big@acme:k2", "acme/big@acme:k1"]
    assert world.session.auth_profile_override == "acme:k1"


def test_a_turn_that_fails_leaves_the_pin_pin_auto() -> None:
    world = World(profiles=TWO, session=pinned("acme:k2"))
    world.run({"*": 503})
    assert world.session == pinned("acme:k2", updated_at=world.session.updated_at)


def test_it_ends_with_a_window_a_reset_and_an_order_without_its_profile_pin_auto() -> None:
    """E11"""
    assert World(profiles=TWO, session=pinned("acme:k2"), usage={"acme:k2": cooling()}).run().calls == ["acme/big@acme:k1"]
    world = World(profiles=TWO, session=pinned("acme:k2"))
    world.act(Reset(MAIN))
    assert world.session.auth_profile_override is None
    world = World(profiles=TWO, session=pinned("acme:k2"), auth={"order": {"acme": ["acme:k1"]}})
    assert world.run().calls == ["acme/big@acme:k1"]
    assert world.session.auth_profile_override == "acme:k1"


def test_after_a_compaction_it_is_chosen_anew_pin_compaction() -> None:
    """E13: an explicit order from its beginning, round robin by its own order; a compaction is no step in a ring."""
    world = World(profiles=TWO, session=pinned("acme:k1"), auth={"order": {"acme": ["acme:k1", "acme:k2"]}})
    world.act(Compact(MAIN))
    assert world.run().calls == ["acme/big@acme:k1"]
    used = {"acme:k1": UsageStats(last_used=T0 - 1), "acme:k2": UsageStats(last_used=T0 - 2)}
    world = World(profiles=TWO, session=pinned("acme:k1"), usage=used)
    world.act(Compact(MAIN))
    assert world.run().calls == ["acme/big@acme:k2"]
    assert world.session.auth_profile_override_compaction_count == 1
    world.now += 1_000
    assert world.run().calls == ["acme/big@acme:k2"]


@pytest.mark.parametrize(
    ("source", "count", "user"), [("user", None, True), ("auto", None, False), (None, None, True), (None, 0, False), (None, 3, False)]
)
def test_a_pin_without_a_source_is_automatic_if_a_compaction_count_is_stored_pin_compaction(
    source: str | None, count: int | None, user: bool
) -> None:
    session = pinned("acme:k1", source, count)
    assert (pin_is_user(session), pin_is_auto(session)) == (user, not user)


def test_a_users_pin_is_the_only_profile_and_the_turn_goes_on_with_the_next_model_pin_user() -> None:
    world = World(profiles=TWO, session=pinned("acme:k2", "user", None))
    assert world.run({"acme/big": 429}).calls == ["acme/big@acme:k2", "zeta/std@zeta:k1"]
    assert world.session.auth_profile_override == "acme:k2"
    # Its cooldown does not lead to another profile: the gate looks at it alone.
    world = World(profiles=TWO, session=pinned("acme:k2", "user", None), usage={"acme:k2": cooling()})
    assert world.run().outcomes["acme/big"] == "skipped gate.primary-probe rate_limit"


def test_a_users_pin_may_name_a_profile_outside_the_order_pin_user() -> None:
    world = World(profiles=TWO, session=pinned("acme:k2", "user", None), auth={"order": {"acme": ["acme:k1"]}})
    assert world.run().calls == ["acme/big@acme:k2"]


def test_a_users_pin_of_a_profile_that_may_not_be_used_counts_as_no_credentials_pin_user() -> None:
    auth = {"profiles": {"acme:k2": {"provider": "acme", "mode": "oauth"}}}
    world = World(profiles=TWO, session=pinned("acme:k2", "user", None), auth=auth)
    assert world.run().outcomes["acme/big"] == "skipped gate.no-credentials no_credentials"


def test_it_holds_until_an_unpin_another_pin_a_reset_or_its_end_pin_user() -> None:
    for end in (Unpin(MAIN), Reset(MAIN), Pin(MAIN, "acme:k1")):  # type: ignore[arg-type]
        world = World(profiles=TWO)
        assert world.act(Pin(MAIN, "acme:k2", reason="incident 7")).ok  # type: ignore[arg-type]
        assert world.run().calls == ["acme/big@acme:k2"]
        assert (world.session.pinned_by, world.session.pin_reason) == ("tester", "incident 7")
        world.act(end)
        assert world.session.auth_profile_override in (None, "acme:k1")
    world = World(profiles=TWO)
    world.act(Pin(MAIN, "acme:k2", until=T0 + 60_000))  # type: ignore[arg-type]
    world.now += 59_999
    assert world.run().calls == ["acme/big@acme:k2"]
    world.now += 1
    assert world.run().calls == ["acme/big@acme:k1"]
    assert (world.session.auth_profile_override_source, world.session.pin_until, world.session.pinned_by) == ("auto", None, None)


@pytest.mark.parametrize("act", [SelectModel(MAIN, "acme/big@acme:k2"), SelectModel(MAIN, "fast@acme:k2")])
def test_a_model_pick_can_bring_its_profile_pin_user(act: SelectModel) -> None:
    world = World(profiles=TWO, defaults={"models": {"acme/big": {"alias": "fast"}}})
    assert world.act(act).ok
    assert world.run().calls == ["acme/big@acme:k2"]
    assert world.session.auth_profile_override_source == "user"


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (Pin(MAIN, "acme:k9"), "no profile acme:k9"),  # type: ignore[arg-type]
        (Pin(MAIN, "acme:k1", until=T0), "in the past"),  # type: ignore[arg-type]
        (SelectModel(MAIN, "acme/big@acme:k9"), "no profile acme:k9"),
        (SelectModel(MAIN, "acme/big@zeta:k1"), "is a profile of zeta"),
        (SelectModel(MAIN, "nope/x"), "nope"),
        (SelectModel(MAIN, "big"), "no alias"),
    ],
)
def test_an_unknown_profile_provider_or_model_is_refused_with_the_reason_pin_missing_pin_user(act: Pin | SelectModel, says: str) -> None:
    world = World(profiles=TWO)
    decided = world.act(act)
    assert not decided.ok
    assert says in decided.message
    assert world.session == Session()


def test_a_date_behind_an_at_sign_belongs_to_the_model_pin_user() -> None:
    world = World(profiles=TWO)
    assert world.act(SelectModel(MAIN, "acme/big@2025-01-01@acme:k2")).ok
    assert str(world.session.override) == "acme/big@2025-01-01"
    assert world.session.auth_profile_override == "acme:k2"


def test_a_pin_on_a_profile_that_is_gone_skips_at_once_and_says_how_to_clear_it_pin_missing() -> None:
    world = World(profiles=TWO, session=pinned("acme:k9", "user", None))
    for _ in range(2):
        turn = world.run({"zeta/std": 503})
        assert turn.outcomes["acme/big"] == "skipped pin.missing pinned_profile_missing"
        assert next(d.rule for d in turn.ended.decisions if d.decision == "skip_candidate") == "pin.missing"
        assert turn.ended.error is not None
        assert "failover unpin" in turn.ended.error.text
        world.now += 60_000
    assert world.session.auth_profile_override == "acme:k9"


def test_candidates_of_another_provider_ignore_the_pin_pin_user_pin_missing() -> None:
    assert World(profiles=TWO, session=pinned("zeta:k9", "user", None)).run().calls == ["acme/big@acme:k1"]
    world = World(profiles=TWO, session=pinned("acme:k2", "user", None))
    assert world.run({"acme/big": 503}).calls[-1] == "zeta/std@zeta:k1"


HEALTH = st.sampled_from(("free", "cooling", "off", "gone"))


@given(st.tuples(HEALTH, HEALTH, HEALTH), st.integers(0, 2))
def test_an_automatic_pin_that_may_not_be_used_leads_where_a_new_session_goes_pin_auto(health: tuple[str, str, str], at: int) -> None:
    """E15: one eligibility function; in any state of health, pinned and unusable means what a fresh session gets."""
    names = ("acme:k1", "acme:k2", "acme:k3")

    def made(session: Session | None) -> World:
        kept = tuple(n for n, h in zip(names, health, strict=True) if h != "gone")
        world = World(
            profiles=(*kept, "zeta:k1"),
            usage={n: cooling() for n, h in zip(names, health, strict=True) if h == "cooling" and n in kept},
            session=session,
        )
        for name, how in zip(names, health, strict=True):
            if how == "off":
                world.act(SetOff(name))
        return world

    turn = made(pinned(names[at])).run()
    if health[at] == "free":
        assert turn.calls == [f"acme/big@{names[at]}"]
    else:
        assert turn.calls == made(None).run().calls
