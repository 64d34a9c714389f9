"""Which model a turn starts from, and whether it may fall back (spec section 2, `engine.policy.selection`)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.domain.acts import SelectModel
from engine.domain.sessions import NOTICE_FIELDS, OWNED_FIELDS, Session
from engine.domain.turns import RunKind
from tests.policy.transcript import MAIN, T0, World

STRICT: tuple[str, ...] = ()
AUTO = Session(
    provider_override="zeta",
    model_override="std",
    model_override_source="auto",
    model_override_fallback_origin_provider="acme",
    model_override_fallback_origin_model="big",
    auth_profile_override="zeta:k1",  # type: ignore[arg-type]
    auth_profile_override_source="auto",
    auth_profile_override_compaction_count=0,
    fallback_notice_selected_model="acme/big",
    fallback_notice_active_model="zeta/std",
    fallback_notice_reason="timeout",
    fallback_notice_since=T0 - 60_000,
)
USER = Session(provider_override="nova", model_override="std", model_override_source="user")
LEGACY = Session(provider_override="nova", model_override="std")
AGENTS = {
    "string": "nova/own",
    "object": {"primary": "nova/own"},
    "strict": {"primary": "nova/own", "fallbacks": []},
    "listed": {"primary": "nova/own", "fallbacks": ["zeta/own"]},
    "only-list": {"fallbacks": ["zeta/own"]},
}


def world(session: Session | None = None, **more: Any) -> World:
    profiles = ("acme:k1", "zeta:k1", "nova:k1")
    return World(fallbacks=("zeta/std", "kilo/std"), profiles=profiles, session=session, agents=AGENTS, **more)


DEFAULT = ["acme/big", "zeta/std", "kilo/std"]


@pytest.mark.parametrize(
    ("rule", "chain", "request_"),
    [
        ("selection.configured-default", DEFAULT, {}),
        ("selection.requested", ["nova/x", "zeta/std", "kilo/std", "acme/big"], {"requested": "nova/x"}),
        ("selection.requested", ["zeta/std", "kilo/std", "acme/big"], {"requested": "zeta/std"}),
        ("selection.requested", ["nova/x"], {"requested": "nova/x", "fallbacks": STRICT}),
        ("selection.requested", ["nova/x", "nova/y"], {"requested": "nova/x", "fallbacks": ("nova/y",)}),
        ("selection.requested", ["nova/own"], {"requested": "nova/own", "agent": "strict"}),
        ("selection.requested", ["nova/x", "nova/own"], {"requested": "nova/x", "agent": "strict"}),
        ("selection.requested", ["nova/x", "zeta/own", "nova/own"], {"requested": "nova/x", "agent": "listed"}),
        ("selection.agent-primary", ["nova/own"], {"agent": "string"}),
        ("selection.agent-primary", ["nova/own"], {"agent": "object"}),
        ("selection.agent-fallbacks", ["nova/own"], {"agent": "strict"}),
        ("selection.agent-fallbacks", ["nova/own", "zeta/own"], {"agent": "listed"}),
        ("selection.agent-fallbacks", ["acme/big", "zeta/own"], {"agent": "only-list"}),
        ("selection.configured-default", DEFAULT, {"agent": "nobody"}),
        ("selection.one-off", ["nova/x"], {"one_off": "nova/x"}),
        ("selection.one-off", ["nova/x", "zeta/std"], {"one_off": "nova/x", "fallbacks": ("zeta/std",)}),
        ("selection.cron-model", ["nova/x", "zeta/std", "kilo/std", "acme/big"], {"kind": RunKind.CRON, "cron_model": "nova/x"}),
        ("selection.cron-model", ["nova/x"], {"kind": RunKind.CRON, "cron_model": "nova/x", "fallbacks": STRICT}),
        # "Configured fallbacks" of a cron model are the default's, its last resort is the agent's own primary.
        (
            "selection.cron-model",
            ["nova/x", "zeta/std", "kilo/std", "nova/own"],
            {"kind": RunKind.CRON, "cron_model": "nova/x", "agent": "listed"},
        ),
        ("selection.cron-default", DEFAULT, {"kind": RunKind.CRON}),
        ("selection.cron-default", ["nova/own", "zeta/own"], {"kind": RunKind.CRON, "agent": "listed"}),
        ("selection.cron-default", ["nova/own"], {"kind": RunKind.CRON, "agent": "string"}),
        ("selection.cron-default", ["acme/big", "nova/x"], {"kind": RunKind.CRON, "fallbacks": ("nova/x",)}),
        ("selection.per-run", DEFAULT, {"image": True}),
    ],
)
def test_each_row_of_the_table_gives_its_model_and_its_list(rule: str, chain: list[str], request_: dict[str, Any]) -> None:
    """D04 D05"""
    turn = world().run(**request_).ended
    assert (turn.selection, [str(ref) for ref in turn.chain]) == (rule, chain)


@pytest.mark.parametrize(
    ("session", "rule", "chain"),
    [
        (USER, "selection.user", ["nova/std"]),
        (LEGACY, "selection.legacy", ["nova/std"]),
        (AUTO, "selection.auto", ["zeta/std", "kilo/std", "acme/big"]),
    ],
)
@pytest.mark.parametrize("requested", [None, "acme/big"])
def test_the_sessions_choice_goes_before_what_the_application_names_selection_user_selection_legacy_selection_auto(
    session: Session, rule: str, chain: list[str], requested: str | None
) -> None:
    made = world(session)
    made.memory.primary_marks[(MAIN, made.settings.primary)] = T0
    turn = made.run(requested=requested).ended
    assert (turn.selection, [str(ref) for ref in turn.chain]) == (rule, chain)


@pytest.mark.parametrize("request_", [{"one_off": "nova/x"}, {"kind": RunKind.CRON}, {"image": True}, {"kind": RunKind.HEARTBEAT}])
@pytest.mark.parametrize("session", [USER, LEGACY, AUTO])
def test_a_run_with_its_own_model_leaves_the_session_as_it_was_selection_per_run(session: Session, request_: dict[str, Any]) -> None:
    """E10: neither override nor pin, notice or probe mark, also when a fallback answers; health counts as always."""
    made = world(session, defaults={"heartbeat": {"model": "nova/x"}, "imageModel": {"primary": "nova/x", "fallbacks": ["zeta/std"]}})
    turn = made.run({"nova/x": 503, "acme/big": 503}, **request_).ended
    assert made.memory.session(MAIN) == session
    assert turn.notices == ()
    assert not made.memory.primary_marks
    failed = turn.attempts[0].profile
    assert failed is not None
    assert made.usage(failed).model_cooldowns
    assert made.usage(failed).last_used == T0


def test_a_heartbeat_model_starts_there_for_this_run_only_selection_heartbeat() -> None:
    turn = world(USER, defaults={"heartbeat": {"model": "kilo/std"}}).run(kind=RunKind.HEARTBEAT).ended
    assert (turn.selection, [str(ref) for ref in turn.chain]) == ("selection.heartbeat", ["kilo/std", "zeta/std", "acme/big"])


def test_image_runs_have_a_chain_of_their_own_and_ignore_the_sessions_override_selection_per_run() -> None:
    images = {"imageModel": {"primary": "nova/see", "fallbacks": ["zeta/see"]}}
    for request_, chain in (
        ({}, ["nova/see", "zeta/see"]),
        ({"requested": "acme/see"}, ["acme/see", "zeta/see", "nova/see"]),
        ({"requested": "acme/see", "fallbacks": STRICT}, ["acme/see"]),
        ({"one_off": "acme/see"}, ["acme/see"]),
    ):
        turn = world(USER, defaults=images).run(image=True, **request_).ended
        assert [str(ref) for ref in turn.chain] == chain
    # Without image models of their own they have the usual chain, still not the session's.
    assert [str(ref) for ref in world(USER).run(image=True).ended.chain] == DEFAULT


STALE = [
    pytest.param({"model_override_fallback_origin_model": "other"}, id="another primary"),
    pytest.param({"model_override_fallback_origin_model": None}, id="half an origin"),
    pytest.param({"model_override_fallback_origin_provider": None, "model_override_fallback_origin_model": None}, id="no origin"),
]


def changed(session: Session, **fields: Any) -> Session:
    values = {name: getattr(session, name) for name in Session.__dataclass_fields__}
    return Session(**{**values, **fields})


@pytest.mark.parametrize("fields", STALE)
@pytest.mark.parametrize("kind", [RunKind.CHAT, RunKind.HEARTBEAT])
def test_an_override_from_elsewhere_is_cleared_without_a_word_selection_stale_origin_selection_heartbeat_clears_stale(
    fields: dict[str, Any], kind: RunKind
) -> None:
    """E09 K01: with its pin and its notice state; the turn reports the row that then applies."""
    made = world(changed(AUTO, **fields))
    turn = made.run(kind=kind).ended
    assert (turn.selection, str(turn.active), turn.notices) == ("selection.configured-default", "acme/big", ())
    assert made.session.override is None
    assert made.session.auth_profile_override == "acme:k1"
    assert [getattr(made.session, name) for name in NOTICE_FIELDS] == [None] * 4


def test_the_repair_names_its_rule_selection_stale_origin_selection_heartbeat_clears_stale_selection_half_entry() -> None:
    stale = changed(AUTO, model_override_fallback_origin_model="other")
    half = Session(provider_override="zeta", model_override_source="auto")
    for session, kind, rule in (
        (stale, RunKind.CHAT, "selection.stale-origin"),
        (stale, RunKind.HEARTBEAT, "selection.heartbeat-clears-stale"),
        (half, RunKind.CHAT, "selection.half-entry"),
    ):
        assert world(session).turn(kind=kind).walk.selected.repaired_by == rule


def test_a_heartbeat_leaves_user_choices_and_valid_fallbacks_alone_selection_heartbeat_clears_stale() -> None:
    """E09"""
    pinned = changed(USER, auth_profile_override="nova:k1", auth_profile_override_source="user")
    for session in (USER, LEGACY, pinned, AUTO):
        made = world(session)
        made.memory.primary_marks[(MAIN, made.settings.primary)] = T0
        made.run(kind=RunKind.HEARTBEAT)
        assert [getattr(made.session, n) for n in OWNED_FIELDS[:3]] == [getattr(session, n) for n in OWNED_FIELDS[:3]]
    made = world(changed(pinned, model_override=None))
    made.run(kind=RunKind.HEARTBEAT)
    assert made.session.auth_profile_override == "nova:k1"


def test_a_request_for_another_model_ends_the_fallback_of_the_old_one_selection_stale_origin() -> None:
    made = world(AUTO)
    turn = made.run(requested="nova/x").ended
    assert (turn.selection, str(turn.active), turn.notices) == ("selection.requested", "nova/x", ())
    assert made.session.override is None


@pytest.mark.parametrize(
    "half",
    [
        Session(provider_override="zeta", model_override_source="auto"),
        Session(model_override="std", model_override_source="user"),
        Session(model_override="std"),
        Session(provider_override="", model_override="std", model_override_source="auto"),
    ],
)
def test_half_an_override_is_none_and_is_repaired_selection_half_entry(half: Session) -> None:
    """E06"""
    made = world(half)
    turn = made.run().ended
    assert (turn.selection, str(turn.active)) == ("selection.configured-default", "acme/big")
    assert [getattr(made.session, name) for name in OWNED_FIELDS[:3]] == [None, None, None]


def test_an_override_without_a_source_but_with_an_origin_is_automatic_selection_auto_selection_legacy() -> None:
    made = world(changed(AUTO, model_override_source=None))
    made.memory.primary_marks[(MAIN, made.settings.primary)] = T0
    assert made.run().ended.selection == "selection.auto"
    assert world(LEGACY).run({"*": 503}).ended.selection == "selection.legacy"


def test_a_user_who_picks_the_default_has_picked_selection_default_pick_selection_user() -> None:
    """E07: strict, and nothing is written over it."""
    made = world()
    assert made.act(SelectModel(MAIN, "acme/big")).ok
    turn = made.run({"acme/big": 503})
    assert (turn.calls, turn.ended.selection) == (["acme/big@acme:k1"], "selection.user")
    assert made.session.model_override_source == "user"


def test_a_model_pick_and_its_end_forget_the_fallback_without_a_cleared_notice_selection_user() -> None:
    for pick, left in (("nova/std", "nova/std"), ("default", None)):
        made = world(AUTO)
        assert made.act(SelectModel(MAIN, pick)).ok
        assert made.session.live_model_switch_pending
        assert (str(made.session.override) if made.session.override else None, made.session.origin) == (left, None)
        assert made.session.auth_profile_override is None
        assert [getattr(made.session, name) for name in NOTICE_FIELDS] == [None] * 4
        assert made.run().ended.notices == ()


def test_a_turns_own_list_replaces_the_policys_and_writes_only_the_notice_state_selection_user() -> None:
    """I10"""
    made = world(USER)
    turn = made.run({"nova/std": 503}, fallbacks=("zeta/std",))
    assert turn.calls == ["nova/std@nova:k1", "zeta/std@zeta:k1"]
    assert turn.ended.notices == ("↪️ Model Fallback: zeta/std (selected nova/std; timeout)",)
    kept = {name for name in Session.__dataclass_fields__ if getattr(made.session, name) != getattr(USER, name)}
    assert kept <= {*NOTICE_FIELDS, "updated_at"}


def test_a_turn_with_its_own_list_makes_no_primary_probe_override_probe() -> None:
    made = world(AUTO)
    assert made.run(fallbacks=("nova/std",)).calls == ["zeta/std@zeta:k1"]
    assert made.run().calls == ["acme/big@acme:k1"]
