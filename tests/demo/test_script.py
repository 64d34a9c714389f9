"""The demo's scripts, played without waiting."""

from __future__ import annotations

import pytest

from engine.simulation.demo.cast import CALLERS, KEYS, PLAYERS, config, credentials
from engine.simulation.demo.provider import refusal
from engine.simulation.demo.scenarios import SCENARIOS
from engine.simulation.demo.script import Behaviour, Scenario, Step, applies, behaviour_at
from engine.simulation.demo.tally import Tally

SCRIPT = Scenario(
    "test",
    "",
    100,
    (
        Step(10, "acme/big@acme:k1", Behaviour.RATE_LIMIT, retry_after_s=30),
        Step(20, "acme", Behaviour.OVERLOADED),
        Step(30, "acme:k2", Behaviour.BILLING),
        Step(40, "acme", Behaviour.OK),
    ),
)


def played(policy_s: float, model: str = "big", profile: str = "acme:k1") -> str:
    step = behaviour_at(SCRIPT, policy_s, "acme", model, profile)
    return step.behaviour if step else "ok"


def test_a_step_counts_until_a_later_one_that_applies():
    assert [played(at) for at in (0, 10, 19, 20, 39, 40, 99)] == [
        "ok",
        "rate_limit",
        "rate_limit",
        "overloaded",
        "overloaded",
        "ok",
        "ok",
    ]


def test_a_step_means_only_what_it_names():
    assert played(15, model="small") == "ok"
    assert played(15, profile="acme:k2") == "ok"
    assert played(35, profile="acme:k2") == "billing"
    assert played(35, profile="acme:k1") == "overloaded"


def test_the_script_begins_again_healed():
    assert [played(at) for at in (100, 109, 110, 215)] == ["ok", "ok", "rate_limit", "rate_limit"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_is_in_order_names_who_exists_and_ends_well(name):
    scenario = SCENARIOS[name]
    assert [step.at_s for step in scenario.steps] == sorted(step.at_s for step in scenario.steps)
    everyone = [
        (player.id, model, profile) for player in PLAYERS for model in player.models for profile in KEYS if profile.startswith(player.id)
    ]
    for step in scenario.steps:
        assert any(applies(step.target, *one) for one in everyone), step.target
    for one in everyone:
        assert behaviour_at(scenario, scenario.round_s - 0.001, *one) is None, one
        assert behaviour_at(scenario, 0, *one) is None, one


def test_the_last_step_leaves_time_for_the_primary_probe():
    for scenario in SCENARIOS.values():
        assert scenario.round_s - scenario.steps[-1].at_s >= 300


def test_the_demos_configuration_is_valid_and_holds_no_key():
    from engine.config.load import load_settings

    loaded = load_settings(config({player.id: "http://127.0.0.1:1/v1" for player in PLAYERS}), env={})
    assert loaded.warnings == ()
    assert {caller.model for caller in CALLERS} - {"auto"} <= {f"{p.id}/{m}" for p in PLAYERS for m in p.models}
    assert not any(key in repr(loaded.settings) for key in KEYS.values())
    assert [credential.key for credential in credentials().values()] == list(KEYS.values())


@pytest.mark.parametrize(
    ("behaviour", "status"),
    [
        (Behaviour.RATE_LIMIT, 429),
        (Behaviour.OVERLOADED, 529),
        (Behaviour.BILLING, 402),
        (Behaviour.SERVER_ERROR, 500),
        (Behaviour.BAD_GATEWAY, 502),
    ],
)
def test_each_misbehaviour_answers_as_real_providers_do(behaviour, status):
    answer = refusal(Step(0, "acme", behaviour, retry_after_s=7))
    assert (answer.status_code, answer.headers["retry-after"]) == (status, "7")


def test_the_summary_counts_what_the_events_say():
    tally = Tally()
    for event in (
        {"event": "turn_finished", "outcome": "ok", "active": "acme/big"},
        {"event": "turn_finished", "outcome": "failed", "active": None},
        {"event": "override_set"},
        {"event": "override_set"},
        {"event": "override_rolled_back"},
        {"event": "override_cleared"},
        {"event": "window_opened"},
        {"event": "window_closed"},
        {"event": "notice", "text": "↪️ Model Fallback: zeta/std (selected acme/big; rate limit)"},
        {"event": "notice", "text": "↪️ Model Fallback cleared: acme/big (was zeta/std)"},
    ):
        tally.add(event)
    summary = tally.summary(at=1, scenario="outage", speed=60, seconds=25)
    told = {name: summary[name] for name in ("turns", "ok", "failed", "fallbacks", "recoveries", "notices", "notices_cleared", "served")}
    assert told == {
        "turns": 2,
        "ok": 1,
        "failed": 1,
        "fallbacks": 1,
        "recoveries": 1,
        "notices": 1,
        "notices_cleared": 1,
        "served": {"acme/big": 1},
    }
    assert summary["event"] == "summary"
