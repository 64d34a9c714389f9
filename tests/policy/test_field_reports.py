"""Field reports whose repro is a whole scenario, played through `simulate` (the entry stands in each test)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.domain.export import turn_json
from engine.domain.failure import Failure
from engine.policy.classify import classify
from engine.simulation.run import simulate
from tests.policy.transcript import World

SMALL = ("acme/small", "zeta/std")
START = 1_767_603_600_000


def played(providers: dict[str, Any], *steps: dict[str, Any], fallbacks: tuple[str, ...] = SMALL, **more: Any) -> dict[str, Any]:
    world = World(fallbacks=fallbacks)
    keys = {name: {"type": "api_key", "provider": name.partition(":")[0], "key": "made-up"} for name in ("acme:k1", "zeta:k1")}
    found: Any = simulate({"config": world.config, "start": START, "profiles": keys, "providers": providers, "steps": list(steps), **more})
    return found  # type: ignore[no-any-return]


TURN = {"turn": {"session": "main"}}


def turns(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [step["turn"] for step in result["steps"] if "turn" in step]


def said(status: int, message: str, **fields: str) -> dict[str, object]:
    return {"status": status, "body": json.dumps({"error": {"message": message, **fields}})}


@pytest.mark.parametrize(
    ("body", "reason", "disabled"),
    [
        ("subscription quota: weekly usage limit reached, try again later", "rate_limit", False),
        ("insufficient credits", "billing", True),
        ("payment required", "billing", True),
    ],
)
def test_a_402_with_a_periodic_window_is_no_empty_account(body: str, reason: str, disabled: bool) -> None:
    """B04"""
    result = played({"acme/big": said(402, body)}, TURN)
    assert turns(result)[0]["attempts"][0]["reason"] == reason
    assert ("disabledUntil" in result["final"]["usageStats"]["acme:k1"]) is disabled


def test_one_body_means_two_things_for_two_providers() -> None:
    """B05"""
    body = Failure(status=429, body='{"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}')
    assert [str(classify(body, provider).reason) for provider in ("dashscope", "zeta")] == ["rate_limit", "billing"]


def test_a_spending_cap_is_the_accounts_and_its_sibling_is_not_called() -> None:
    """B06"""
    result = played({"acme/big": said(429, "RESOURCE_EXHAUSTED: your project has exceeded its monthly spending cap")}, TURN)
    turn = turns(result)[0]
    assert [c["outcome"] for c in turn["candidates"]] == ["failed", "skipped", "succeeded"]
    assert (turn["candidates"][1]["reason"], turn["upstream_calls"]) == ("billing", 2)


@pytest.mark.parametrize(
    ("status", "page", "reason"),
    [
        (502, "<!doctype html><html><body><h1>429 rate limit billing</h1></body></html>", "timeout"),
        (403, "<!doctype html><html><title>Just a moment...</title><script>challenge-platform</script></html>", "timeout"),
        (403, "<!doctype html><html><body>Forbidden</body></html>", "auth"),
    ],
)
def test_a_page_is_judged_by_what_it_is_and_never_shown_as_one(status: int, page: str, reason: str) -> None:
    """B14"""
    turn = turns(played({"acme/big": {"status": status, "body": page}}, TURN))[0]
    assert turn["attempts"][0]["reason"] == reason
    assert "<" not in str(turn["attempts"]) + str(turn["decisions"]) + str(turn["error"])


def test_a_billing_word_in_an_answer_is_only_a_word() -> None:
    """B08"""
    turn = turns(played({"acme/big": {"text": "HTTP 402 payment required, insufficient credits"}}, TURN))[0]
    assert (turn["outcome"], turn["active"]) == ("ok", "acme/big")


def test_an_empty_account_is_found_full_again_by_its_probe_and_a_restart_changes_nothing() -> None:
    """B01 A15: between probes the fallback serves; a success clears end, reason and counters at once."""
    steps: list[dict[str, Any]] = [TURN, {"advance_s": 200}, {"restart": {}}, TURN, {"advance_s": 101}, TURN]
    one, two, three = turns(result := played({"acme/big": [said(402, "insufficient credits"), "ok"]}, *steps))
    assert [t["active"] for t in (one, two, three)] == ["zeta/std", "zeta/std", "acme/big"]
    assert three["candidates"][0]["rule"] == "gate.billing-throttle"
    assert "disabledUntil" not in result["final"]["usageStats"]["acme:k1"]


def test_a_window_ends_when_its_record_says_so_whatever_restarts_between() -> None:
    """A15 A09 A07"""
    limited = {"acme/big": [said(429, "rate limit"), "ok"]}
    steps: list[dict[str, Any]] = [TURN, {"advance_s": 20}, {"restart": {}}]
    early = turns(played(limited, *steps, {"advance_s": 9}, TURN, fallbacks=("zeta/std",)))[1]
    late = turns(played(limited, *steps, {"advance_s": 11}, TURN, fallbacks=("zeta/std",)))[1]
    assert (early["candidates"][0]["outcome"], late["candidates"][0]["rule"]) == ("skipped", "gate.open")
    climbed = {
        "acme:k1": {"modelCooldowns": {"big": {"until": START - 1, "reason": "rate_limit", "errorCount": 3}}, "lastFailureAt": START - 1}
    }
    result = played({"acme/big": said(429, "rate limit")}, {"restart": {}}, {"advance_s": 25 * 3600}, TURN, usageStats=climbed)
    assert result["final"]["usageStats"]["acme:k1"]["modelCooldowns"]["big"]["errorCount"] == 1


def test_a_failure_by_the_providers_rule_is_stored_with_its_model_like_any_other() -> None:
    """A13: an answer with HTTP 200 that says it is limited; the next turn goes to the sibling."""
    world = World(fallbacks=("acme/small",))
    limited = Failure(status=200, body='{"error": {"code": "rate_limit_exceeded", "message": "slow down"}}')
    turn = world.run({"acme/big": limited})
    assert (turn.ended.attempts[0].reason, turn.calls[-1]) == ("rate_limit", "acme/small@acme:k1")
    assert set(world.usage("acme:k1").model_cooldowns) == {"big"}
    assert world.run(session="next").calls == ["acme/small@acme:k1"]


def test_an_overloaded_provider_costs_the_rate_limits_ladder_nothing() -> None:
    """A10: five overloaded turns, then the first answer is served as if nothing had been."""
    steps: list[dict[str, Any]] = []
    for _ in range(5):
        steps += [{"turn": {"session": "main", "requested": "acme/big"}}, {"advance_s": 301}]
    result = played({"acme/big": [said(529, "overloaded")] * 5 + ["ok"]}, *steps, TURN, fallbacks=("zeta/std",))
    assert [t["active"] for t in turns(result)] == ["zeta/std"] * 5 + ["acme/big"]
    assert "errorCount" not in result["final"]["usageStats"]["acme:k1"]


def test_the_shape_of_a_turn_is_the_public_one() -> None:
    """H01: what `simulate` prints and what the log holds is one record."""
    result = World().run({"acme/big": 503}).ended
    shown = turn_json(result)
    assert shown["decisions"] == [d.to_json() for d in result.decisions]
