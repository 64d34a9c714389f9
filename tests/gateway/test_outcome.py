"""The status table of failed turns (spec/gateway.md, "What comes back"), row by row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.domain.turns import TurnOutcome, TurnResult
from engine.gateway.dialects.openai_chat import OpenAIChat
from engine.gateway.outcome import failed_reply
from engine.gateway.reply import Reply
from tests.gateway.fake_engine import NOW, entry, failed, ref, settings

BODY = '{"error":{"message":"no such tool; key sk-secret","type":"invalid_request_error","param":"tools","code":"bad"}}'


def reply(result: TurnResult) -> Reply:
    return failed_reply(result, OpenAIChat(), settings(), NOW, lambda text: text.replace("sk-secret", "***"))


def error(result: TurnResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(reply(result).body)["error"]
    return found


LIMITED = (entry("acme/big", "rate_limit", 429), entry("zeta/std", "overloaded", 529))
BROKE = (entry("acme/big", "billing", 402), entry("zeta/std", "auth", skipped=True))


@pytest.mark.parametrize(
    ("entries", "status", "code"),
    [
        (LIMITED, 429, "all_models_rate_limited"),
        ((entry("acme/big", "rate_limit", skipped=True), entry("zeta/std", "overloaded", skipped=True)), 429, "all_models_rate_limited"),
        (BROKE, 502, "upstream_credentials_exhausted"),
        (
            (entry("acme/big", "no_credentials", skipped=True), entry("zeta/std", "pinned_profile_missing", skipped=True)),
            502,
            "upstream_credentials_exhausted",
        ),
        ((entry("acme/big", "auth_permanent", 401), entry("zeta/std", "billing", skipped=True)), 502, "upstream_credentials_exhausted"),
        ((entry("acme/big", "model_not_found", 404), entry("zeta/std", "unknown_provider", skipped=True)), 404, "model_not_found"),
        (
            (entry("acme/big", "dialect_unsupported", skipped=True), entry("zeta/std", "dialect_unsupported", skipped=True)),
            400,
            "dialect_unsupported",
        ),
        ((entry("acme/big", "rate_limit", 429), entry("zeta/std", "billing", 402)), 503, "all_models_failed"),
        ((entry("acme/big", "timeout", 504), entry("zeta/std", "timeout")), 503, "all_models_failed"),
        ((entry("acme/big", "operator_off", skipped=True), entry("zeta/std", "skip_cache", skipped=True)), 503, "all_models_failed"),
        ((entry("acme/big", "server_error", 500), entry("zeta/std", "rate_limit", 429)), 503, "all_models_failed"),
    ],
)
def test_an_exhausted_chain_has_its_row(entries: tuple, status: int, code: str):
    result = failed("rate_limit", *entries, soonest_s=10)
    assert (reply(result).status, error(result)["code"]) == (status, code)
    assert reply(result).headers["x-should-retry"] == "false"
    assert ("retry-after" in reply(result).headers) is (status == 429)


def test_a_candidate_counts_with_its_last_entry():
    rotated = (entry("acme/big", "timeout", 504), entry("acme/big", "rate_limit", 429), entry("zeta/std", "rate_limit", 429))
    assert reply(failed("rate_limit", *rotated)).status == 429


@pytest.mark.parametrize(
    ("soonest_s", "said", "header"),
    [
        (40, None, "40"),
        (39.001, None, "40"),
        (0.2, None, "1"),
        (-5, None, "1"),
        (None, "17", "17"),
        (None, "soon", "1"),
        (None, None, "1"),
        (40, "9", "40"),
    ],
)
def test_all_rate_limited_says_how_long_in_whole_seconds(soonest_s: float | None, said: str | None, header: str):
    headers = {"retry-after": said} if said is not None else {}
    result = failed("rate_limit", *LIMITED, soonest_s=soonest_s, last_headers=headers)
    assert reply(result).headers["retry-after"] == header
    assert error(result)["retry_after"] == header


def test_mixed_failures_are_told_per_candidate():
    result = failed(None, entry("acme/big", "timeout", 504), entry("zeta/std", "billing", 402))
    assert error(result)["candidates"] == [{"model": "acme/big", "reason": "timeout"}, {"model": "zeta/std", "reason": "billing"}]


@pytest.mark.parametrize("reason", ["format", "context_overflow"])
def test_a_stop_passes_the_upstreams_status_and_its_body_without_secrets(reason: str):
    limited = entry("acme/big", "rate_limit", 429)
    stop = entry("zeta/std", reason, 400)
    result = failed(
        reason, limited, stop, last_body=BODY, last_failure_ref=ref("zeta/std"), last_headers={"request-id": "r1", "server": "x"}
    )
    found = reply(result)
    assert found.status == 400
    assert found.body.decode() == BODY.replace("sk-secret", "***")
    assert found.headers["request-id"] == "r1"
    assert "server" not in found.headers


@pytest.mark.parametrize(("provider", "body"), [("claude", BODY), ("acme", "<html>"), ("acme", '{"detail":"x"}'), ("acme", None)])
def test_a_body_of_another_shape_is_converted(provider: str, body: str | None):
    stop = entry(f"{provider}/m", "format", 422, error="the tools are wrong; key sk-secret")
    found = error(failed("format", stop, chain=[f"{provider}/m"], last_body=body, last_failure_ref=ref(f"{provider}/m")))
    assert (found["code"], found["message"]) == ("format", "the tools are wrong; key ***")


@pytest.mark.parametrize(
    ("reason", "status", "more", "expected"),
    [
        ("rate_limit", 429, {}, 429),
        ("auth", 401, {}, 401),
        ("server_error", 500, {}, 500),
        ("timeout", 524, {}, 524),
        ("timeout", None, {"code": "ETIMEDOUT", "error": "timed out: no first byte within 120 s"}, 504),
        ("timeout", None, {"code": "ECONNREFUSED", "error": "ConnectError: no connection"}, 502),
        ("timeout", None, {"error": "ConnectTimeout: no connection to x:1 within 10 s"}, 502),
        ("overloaded", 200, {}, 502),
        ("timeout", 200, {"error": "finish reason: error"}, 502),
        ("empty_response", None, {}, 502),
        ("unclassified", 307, {}, 502),
    ],
)
def test_a_chain_of_one_reports_its_own_failure(reason: str, status: int | None, more: dict, expected: int):
    result = failed(reason, entry("acme/big", reason, status, **more), chain=["acme/big"], type="AttemptError")
    assert reply(result).status == expected
    assert error(result)["code"] == reason


def test_a_chain_of_one_that_was_limited_says_how_long():
    one = entry("acme/big", "rate_limit", 429)
    assert reply(failed("rate_limit", one, chain=["acme/big"], soonest_s=40)).headers["retry-after"] == "40"
    said = failed("rate_limit", one, chain=["acme/big"], soonest_s=40, last_headers={"retry-after": "7"})
    assert reply(said).headers["retry-after"] == "7"


def test_a_chain_of_one_that_was_skipped_goes_by_its_reason():
    for reason, status in (("rate_limit", 429), ("billing", 502), ("operator_off", 503), ("unknown_provider", 404)):
        assert reply(failed(reason, entry("acme/big", reason, skipped=True), chain=["acme/big"], type="AttemptError")).status == status


def test_a_spent_budget_is_504():
    result = failed("timeout", entry("acme/big", "timeout"), type="BudgetExceeded")
    assert (reply(result).status, error(result)["code"]) == (504, "run_budget_exceeded")


def test_a_stopped_engine_may_be_asked_again():
    found = reply(failed(None, outcome=TurnOutcome.KILLED))
    assert found.status == 503
    assert found.headers["retry-after"] == "1"
    assert "x-should-retry" not in found.headers


def test_errors_hold_a_reason_a_turn_and_no_profile():
    for entries in (LIMITED, BROKE):
        found = reply(failed("rate_limit", *entries, soonest_s=3))
        text = found.body.decode() + json.dumps(dict(found.headers))
        assert "me@home.example" not in text
        assert json.loads(found.body)["error"]["turn"] == "t1"
        assert (found.headers["x-failover-turn"], found.headers["x-failover-reason"]) == ("t1", "rate_limit")
