"""From a failure to a reason (spec/classification.md): the recorded cases, and one table of further cases for each rule. A case is what
was seen and the reason that it must get; the tables double as a list of what each rule means."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from console.cli.classify import classify_command, failure_from
from engine.domain.failure import Failure
from engine.policy.classify import classify, describe, never_connected

VECTORS = Path(__file__).parents[1] / "vectors" / "classify.jsonl"
LONG = "The quick brown fox jumps over the lazy dog and writes about it. " * 9


def reason(provider: str = "acme", **seen: object) -> str | None:
    found = classify(failure_from(seen), provider)
    assert (found.family == "none") is (found.reason is None)
    return found.reason.value if found.reason else None


def body(**error: object) -> str:
    return json.dumps({"error": error})


def test_recorded_cases_come_out_as_recorded():
    wrong = []
    for line in VECTORS.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        seen = dict(case["input"])
        got = reason(seen.pop("provider", None) or "", **seen)
        if got != case["expect"]["reason"]:
            wrong.append(f"{case['id']}: expected {case['expect']['reason']}, got {got} ({case.get('note')})")
    assert not wrong, "\n".join(wrong)


def check(cases: Sequence[Any]) -> None:
    wrong = [f"{seen} -> {got}, expected {want}" for seen, want in cases if (got := reason(**seen)) != want]
    assert not wrong, "\n" + "\n".join(wrong)


def texts(want: str | None, *messages: str, **more: object) -> list[tuple[dict[str, object], str | None]]:
    return [({"message": message, **more}, want) for message in messages]


# --- the status table -------------------------------------------------------------------------------------------------------------

BARE = {
    **dict.fromkeys((401, 403), "auth"),
    402: "billing",
    404: "model_not_found",
    **dict.fromkeys((408, 410, 499, 500, 502, 503, 504, *range(520, 528), 530), "timeout"),
    429: "rate_limit",
    529: "overloaded",
}


def test_a_bare_status_gives_the_reason_of_its_row_and_all_others_none():
    check([({"status": status}, BARE.get(status)) for status in (*range(100, 600), 600, 999)])


def test_opaque_text_gives_the_else_of_each_row():
    check(
        [
            *texts("format", "opaque", status=400),
            *texts("format", "opaque", status=422),
            *texts("auth", "opaque", status=401),
            *texts("billing", "opaque", status=402),
            *texts(None, "opaque", status=413),
            *texts("timeout", "opaque", status=410),
            *texts(None, "opaque", status=409),
            *texts(None, "opaque", status=507),
        ]
    )


def test_each_row_lets_only_its_classes_through():
    said = {
        "rate_limit": "rate limit exceeded",
        "billing": "insufficient credits",
        "auth": "invalid api key",
        "auth_permanent": "api key revoked",
        "context_overflow": "prompt is too long",
        "session_expired": "session not found",
        "model_not_found": "unknown model: x",
        "overloaded": "overloaded",
        "timeout": "connection reset by peer",
        "format": "string should match pattern",
    }
    through = {
        400: set(said),
        422: set(said),
        401: {"auth_permanent", "billing"},
        403: {"auth_permanent", "billing"},
        404: {"context_overflow", "session_expired", "billing", "auth_permanent", "auth"},
        408: set(),
        410: {"session_expired", "billing", "auth_permanent", "auth"},
        429: {"billing"},
        **{status: {"overloaded"} for status in (499, 500, 502, 503, 504)},
        **{status: set[str]() for status in (520, 523, 527, 529, 530)},
        409: set(said),
        501: set(said),
        418: set(said),
    }
    check(
        [
            ({"status": status, "message": text}, name if name in names else BARE.get(status, "format"))
            for status, names in through.items()
            for name, text in said.items()
        ]
    )


def test_a_typed_server_error_shows_on_500_502_504_only():
    want = {500: "server_error", 502: "server_error", 504: "server_error", 503: "timeout", 499: "timeout", 400: "format", 422: "format"}
    check([({"status": s, "body": body(type=t, message="x")}, w) for s, w in want.items() for t in ("server_error", "UPSTREAM_ERROR")])
    check([({"status": s, "error_type": "Server_Error"}, "server_error") for s in (500, 502, 504)])
    check([({"status": s, "body": body(type="server_error", message="Overloaded")}, "overloaded") for s in (500, 502, 503, 504)])


def test_413_follows_r13():
    check(
        [
            *texts("context_overflow", "Request Entity Too Large", "payload too large", "prompt is too long", status=413),
            *texts("rate_limit", "Request too large on tokens per minute (TPM): Limit 6000", status=413),
            ({"status": 413, "body": body(code="rate_limit_exceeded", message="too large")}, "rate_limit"),
            ({"status": 413, "body": "<html><head><title>413 Request Entity Too Large</title></head></html>"}, "context_overflow"),
            ({"status": 413, "body": body(type="request_too_large", message="x")}, "context_overflow"),
            ({"status": 413, "body": "<html><body>nope</body></html>"}, None),
            ({"status": 413, "body": "{}"}, None),
        ]
    )


def test_the_bare_balance_phrase_on_429_is_billing_only_where_it_means_money():
    phrase = "Insufficient account balance"
    check(
        [
            ({"provider": p, "status": 429, "body": body(message=phrase)}, want)
            for p, want in (
                ("xai", "billing"),
                ("my-xai", "billing"),
                ("maxai", "rate_limit"),
                ("moonshot-cn", "billing"),
                ("kimi", "billing"),
                ("acme", "rate_limit"),
            )
        ]
    )
    check(
        [
            ({"status": 429, "body": body(message=phrase, type="billing_error")}, "billing"),
            ({"status": 429, "message": "Your insufficient account balance stopped this request"}, "billing"),
            ({"status": 429, "message": "insufficient balance"}, "billing"),
            ({"message": phrase}, "billing"),
            ({"status": 400, "message": phrase}, "billing"),
        ]
    )


def test_402_tells_a_window_from_an_empty_purse():
    check(
        [
            *texts(
                "billing",
                "",
                "Payment Required",
                "402 Payment Required: insufficient credits",
                "credit balance exhausted",
                "See plans & billing; daily usage limit",
                "top up your wallet, rate limit",
                "You hit the hard limit of your plan, try again later",
                "upgrade your plan: limit reached",
                "monthly limit reached",
                "weekly report",
                "workspace suspended",
                "organization has no card",
                "Guthaben leer",
                status=402,
            ),
            *texts(
                "rate_limit",
                "402 Payment Required: weekly usage limit reached",
                "subscription quota limit reached, automatic quota refresh in rolling time window",
                "Usage limit reached, try again in 5 minutes",
                "temporary block: usage limit",
                "too many requests",
                "daily spend limit",
                "monthly limit reached, resets on the 1st",
                "organization limit exceeded",
                "workspace spending limit reached",
                status=402,
            ),
            ({"status": 402, "body": "<html><title>402</title></html>"}, "billing"),
            ({"status": 402, "message": "402 Payment Required", "body": body(message="weekly usage limit exhausted")}, "rate_limit"),
            ({"status": 402, "message": "nope", "details": ["weekly usage limit"]}, "billing"),
            ({"status": 402, "message": LONG + "insufficient credits"}, "billing"),
        ]
    )


# --- the signal -------------------------------------------------------------------------------------------------------------------


def test_r1_a_status_has_many_forms():
    check(
        [
            *[({"status": s}, "rate_limit") for s in (429, 429.0, "429", " 429 ", "429.0", "+429")],
            *[
                ({"status": s}, None)
                for s in (0, -1, 42, 1000, 429.5, "0", "-429", "1e9", "", True, False, None, float("nan"), float("inf"))
            ],
            ({"status": "RESOURCE_EXHAUSTED"}, "rate_limit"),
            ({"status": "UNAUTHENTICATED"}, "auth"),
            ({"status": "UNAVAILABLE", "message": "x"}, None),
            ({"status": 0, "message": "HTTP 503: x"}, "timeout"),
            ({"status": 200, "message": "HTTP 503: x"}, None),
            ({"status": 200, "body": body(code=429, message="x")}, None),
            ({"status": 0, "body": body(code=429, message="x")}, "rate_limit"),
            ({"code": 429}, "rate_limit"),
            ({"code": "503"}, "timeout"),
        ]
    )


def test_r2_a_text_implies_a_status():
    check(
        [
            *texts(
                "timeout",
                "503 x",
                "HTTP 503: x",
                "HTTP/1.1 503 x",
                "upstream: HTTP/2 503",
                "Error: 503 x",
                "error 503",
                "Error code: 503 - x",
                "litellm.X: Y - Error code: 503 - x",
                "Server error '503 Whatever' for url 'https://x'",
                "x (status code: 503)",
                "503, message='x', url=URL('https://x')",
                "503 Server Error: x for url: https://x",
                "503 UNAVAILABLE. {'error': {'message': 'x'}}",
                "ServerError: 503 UNAVAILABLE. {'error': {'message': 'x'}}",
                "Request failed with status code 503",
                "got status: 503. x",
            ),
            *[
                ({"body": json.dumps(b)}, "timeout")
                for b in ({"error": {"code": 503}}, {"error": {"http_code": "503"}}, {"status": 503}, {"code": 503})
            ],
            *[
                ({"body": json.dumps(b)}, None)
                for b in ({"code": 5030}, {"status": 200}, {"code": 399}, {"code": 600}, {"error": {"code": True}})
            ],
            *texts(None, "503ms elapsed", "5031 x", "503,000 rows", "v5.0.3 x", "the 503rd", "503 tokens were used", "503.5 x"),
        ]
    )


def test_r3_each_body_shape_is_read():
    overloaded = {"type": "overloaded_error", "message": "x"}
    shapes: list[object] = [
        {"type": "error", "error": overloaded},
        {"error": overloaded},
        overloaded,
        {"error": "overloaded"},
        {"code": "x", "error": "The model is overloaded"},
        {"error": json.dumps({"error": overloaded})},
        {"error": {"message": json.dumps({"error": overloaded})}},
        {"errors": [{"message": "overloaded", "code": 3}]},
        [{"error": overloaded}],
        "overloaded",
        {"detail": "overloaded"},
        {"detail": {"message": "overloaded"}},
        {"detail": [{"loc": ["body"], "msg": "overloaded", "input": "x"}]},
        {"base_resp": {"status_code": 9999, "status_msg": "overloaded"}},
        {"msg": "overloaded"},
        {"title": "overloaded"},
        {"error": "server_x", "error_description": "overloaded"},
        {"type": "response.failed", "response": {"error": {"code": "x", "message": "overloaded"}}},
        {"type": "error", "code": "overloaded", "message": "x"},
        {"__type": "com.amazon#ModelNotReadyException"},
        {"error": {"message": "x", "details": [{"@type": "y", "reason": "OVERLOADED"}]}},
        {"Message": "overloaded"},
    ]
    check([({"body": json.dumps(shape)}, "overloaded") for shape in shapes])
    check([({"body": json.dumps(shape, indent=3)}, "overloaded") for shape in shapes])
    check([({"message": json.dumps(shape)}, "overloaded") for shape in shapes])
    check([({"message": "x.Y: ZException - " + json.dumps(s)}, "overloaded") for s in shapes if isinstance(s, dict)])
    check([({"body": "event: error\ndata: " + json.dumps({"error": overloaded}) + "\n\n"}, "overloaded")])
    check([({"body": "event: ping\ndata: {}\n\nevent: error\r\ndata: " + json.dumps({"error": overloaded}) + "\r\n\r\n"}, "overloaded")])
    check(
        [
            ({"message": f"Error: {{'type': 'error', 'error': {{'type': 'overloaded_error', 'message': {m}, 'x': None}}}}"}, "overloaded")
            for m in ("'x'", '"it\'s"')
        ]
    )


def test_r4_a_body_without_words_is_no_message():
    blank = [
        "",
        " \n",
        "null",
        "{}",
        "[]",
        '""',
        '{"error":null}',
        '{"error":{}}',
        '{"error":{"message":null,"type":null,"code":null}}',
        "[{}]",
    ]
    check([({"status": s, "body": b}, None) for s in (400, 422) for b in blank])
    said = ["no body", "no response body", "400 status code (no body)", "HTTP 400: no body", "Error: 400 status code (no body)"]
    check([({"status": 400, "message": m}, None) for m in said])
    check([({"message": "400 status code (no body)"}, None), ({"message": "503 status code (no body)"}, "timeout")])
    check(
        [
            ({"status": 400, "body": b}, "format")
            for b in ('{"error":{"message":"x"}}', "{broken", "x", '{"error":"x"}', '{"erreur":"mauvais"}')
        ]
    )
    check(
        [
            ({"status": 429, "body": b}, "rate_limit")
            for b in ('{"error": {"code": "insufficient_quota', '{"error": {"message": "insufficient_quo')
        ]
    )
    check([({"body": '{"error": {"message": "rate limi'}, None), ({"body": '{"error": {"code": "overload'}, None)])
    check([({"status": 400, "code": "insufficient_quota"}, "billing"), ({"status": 400, "code": "weird"}, None)])


@pytest.mark.parametrize(
    "hostile",
    [
        '{"a":' * 50_000,
        "[" * 100_000,
        "\x00\x1b[31m\ud800\udfff",
        '{"error":{"message":"\\ud800"}}',
        "1" * 9_000,
        '{"error":' + "9" * 9_000 + "}",
        "{'" * 9_000,
        "<" * 90_000,
        "data: {" * 20_000,
        '"' * 9_001,
        "\\u" * 9_000,
    ],
)
def test_r4_hostile_bodies_never_raise(hostile: str):
    for status in (None, 400, 429, 502):
        for failure in (
            Failure(status=status, body=hostile),
            Failure(status=status, message=hostile, code=hostile, error_type=hostile, details=(hostile,)),
        ):
            classify(failure, hostile)
            describe(failure)
            never_connected(failure)
    assert reason(status=502, body=hostile) == "timeout"


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["rate limit", "401", "overloaded", "{", "<html>", "\ud800"])
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["error", "errors", "message", "code", "status", "type", "detail", "details", "metadata", "raw", "base_resp", "response"]
            )
            | st.text(max_size=3),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(value=_json, status=_json, code=_json, text=st.text())
def test_r4_no_body_whatever_its_shape_raises(value: object, status: object, code: object, text: str):
    for failure in (
        Failure(status=status, code=code, error_type=code, body=json.dumps(value), message=text),
        Failure(message=f"{text} {json.dumps(value)}", cause=Failure(body=repr(value), details=(text, json.dumps(value)))),
    ):
        found = classify(failure, text)
        assert found == classify(failure, text)
        describe(failure)
        never_connected(failure)


def test_r5_an_echo_is_no_evidence():
    check(
        [
            (
                {
                    "status": 422,
                    "body": json.dumps(
                        {"detail": [{"msg": "Field required", "input": "insufficient credits", "ctx": {"e": "rate limit"}}]}
                    ),
                },
                "format",
            ),
            ({"status": 400, "message": "Input should be 'a' [type=literal_error, input_value='rate_limit', input_type=str]"}, "format"),
            ({"status": 400, "message": "Input should be 'a' [type=x, input_value='rate limit"}, "format"),
            ({"status": 400, "body": body(message="Failed", failed_generation="prompt is too long")}, "format"),
            ({"status": 400, "body": body(message="Bad", flagged_input="api key revoked")}, "format"),
            ({"status": 400, "body": body(message="Invalid 'stop': 'too many requests' is too long")}, "format"),
            ({"status": 400, "body": body(message="Invalid value: 'rate_limit'. Supported values are: 'a'")}, "format"),
            ({"status": 400, "body": body(message="Bad", stop=["insufficient credits"], model="overloaded")}, "format"),
            (
                {"status": 400, "body": json.dumps({"error": {"message": "Bad"}, "request_id": "overloaded", "user_id": "timeout"})},
                "format",
            ),
            ({"message": "it failed, request id: 429"}, None),
            ({"status": 404, "message": "The model `insufficient credits` does not exist"}, "model_not_found"),
        ]
    )


def test_r6_a_reason_phrase_gives_way():
    check(
        [
            ({"status": 403, "message": "403 Forbidden", "body": body(message="insufficient credits")}, "billing"),
            ({"status": 400, "message": "Bad Request", "code": "insufficient_quota"}, "billing"),
            ({"status": 400, "message": "400 Bad", "details": ["prompt is too long"]}, "context_overflow"),
            ({"status": 400, "message": "Unauthorized", "cause": {"message": "rate limit exceeded"}}, "rate_limit"),
            ({"status": 400, "message": "Bad Request"}, "format"),
            ({"status": 422, "message": "422"}, "format"),
            ({"message": "Unauthorized"}, "auth"),
            ({"message": "Unauthorized", "cause": {"message": "overloaded"}}, "overloaded"),
        ]
    )


def test_r7_wrapping_loses_nothing():
    inner: dict[str, Any]
    for inner in ({"status": 429}, {"code": "RATE_LIMITED"}, {"message": "rate limit"}, {"body": body(message="too many requests")}):
        wrapped: dict[str, Any] = inner
        for _ in range(20):
            wrapped = {"message": "it failed", "cause": wrapped}
        check([(wrapped, "rate_limit")])
    check(
        [
            ({"message": "prompt is too long", "cause": {"status": 429}}, "rate_limit"),
            ({"message": "insufficient credits", "cause": {"status": 403}}, "billing"),
            ({"status": 500, "message": "x", "cause": {"status": 429}}, "timeout"),
            ({"status": 400, "message": "x", "cause": {"message": "overloaded"}}, "overloaded"),
            ({"message": "invalid request format", "cause": {"message": "rate limit"}}, "rate_limit"),
            ({"status": 400, "message": "rate limit", "cause": {"message": "prompt is too long"}}, "context_overflow"),
            ({"message": "x", "cause": {"status": 400, "message": ""}}, None),
            ({"message": "x", "cause": {"status": 400, "message": "y"}}, "format"),
        ]
    )


def test_r7_a_cycle_of_causes_ends():
    outer = Failure(message="a")
    inner = Failure(message="overloaded", cause=outer)
    object.__setattr__(outer, "cause", inner)
    assert classify(outer, "acme").reason == "overloaded"


def test_r7_the_26th_layer_is_not_read():
    failure = Failure(message="overloaded")
    for _ in range(24):
        failure = Failure(message="x", cause=failure)
    assert classify(failure, "acme").reason == "overloaded"
    assert classify(Failure(message="x", cause=failure), "acme").reason is None


def test_r8_words_and_numbers_are_whole():
    check(
        [
            *texts(
                "rate_limit",
                "rate\u00a0limit",
                "too\u202fmany requests",
                "you\u2019ve hit your limit",
                "RATE LIMIT",
                "it said 429",
                "(429)",
                "429.",
            ),
            *texts("auth", "answer 401", "got 403!", "(401)"),
            *texts(
                None, "1,429,000 rows", "v4.0.3", "40.3 %", "a429", "429b", "x_429", "4290", "0429", "8f429a", "14.29", "429.5", "429,000"
            ),
            *texts("format", "column 429", "Invalid 'input[429].content'", "extra_forbidden", "line 401", status=400),
            *texts(None, "extra_forbidden", "unforbidden", "separate limits", "accurate limiter-free", "reoverloaded"),
        ]
    )


def test_precedence_0_only_the_ends_of_a_text_are_read_but_json_is_parsed_whole():
    pad = "x " * 40_000
    check(
        [
            ({"message": pad + "overloaded" + pad}, None),
            ({"message": pad + "overloaded"}, "overloaded"),
            ({"message": "overloaded " + pad}, "overloaded"),
            ({"body": json.dumps({"pad": pad, "error": {"type": "overloaded_error"}, "more": pad})}, "overloaded"),
            ({"body": json.dumps({"error": {"message": pad + "overloaded" + pad}})}, None),
        ]
    )


# --- codes and types --------------------------------------------------------------------------------------------------------------


def test_r9_a_known_code_goes_before_the_text_and_through_the_status_table():
    check(
        [
            ({"status": 401, "code": "RATE_LIMITED", "message": "x"}, "auth"),
            ({"status": 500, "code": "throttled", "message": "x"}, "timeout"),
            ({"status": 429, "code": "invalid_api_key"}, "rate_limit"),
            ({"status": 400, "code": "invalid_api_key", "message": "rate limit"}, "auth"),
            ({"status": 422, "code": "Throttling.RateQuota", "message": "x"}, "rate_limit"),
            ({"code": "ratelimited", "message": "x"}, None),
            ({"code": "a.b#ThrottlingException:http://x", "message": "y"}, "rate_limit"),
            ({"code": "rate_limit_exceeded", "message": "prompt is too long"}, "context_overflow"),
            ({"code": "context_length_exceeded", "message": "rate limit"}, "context_overflow"),
            ({"code": "RESOURCE_EXHAUSTED", "message": "spending cap reached"}, "billing"),
            ({"error_type": "server_error", "message": "insufficient credits"}, "billing"),
            ({"status": 429, "code": "insufficient_quota", "message": "rate limit reached"}, "billing"),
            ({"status": 400, "body": body(message="x", status="INVALID_ARGUMENT", details=[{"reason": "API_KEY_INVALID"}])}, "auth"),
        ]
    )


def test_r10_every_code_has_its_meaning_in_any_case():
    table = {
        "rate_limit": """RESOURCE_EXHAUSTED RATE_LIMIT RATE_LIMITED RATE_LIMIT_EXCEEDED TOO_MANY_REQUESTS THROTTLED THROTTLING
            THROTTLINGEXCEPTION THROTTLING_EXCEPTION rate_limit_error Throttling.AllocationQuota""",
        "overloaded": "OVERLOADED OVERLOADED_ERROR capacity_exceeded",
        "timeout": """ETIMEDOUT ESOCKETTIMEDOUT ECONNRESET ECONNABORTED ECONNREFUSED ENETUNREACH EHOSTUNREACH EHOSTDOWN ENETRESET EPIPE
            EAI_AGAIN ENOTFOUND ENETDOWN""",
        "billing": """insufficient_quota insufficient_balance billing_hard_limit_reached billing_not_active billing_error
            budget_exceeded payment_required BILLING_DISABLED Arrearage PrepaidBillOverdue PostpaidBillOverdue
            AllocationQuota.FreeTierOnly AccountOverdueError InvalidSubscription""",
        "auth": "invalid_api_key wrong_api_key authentication_error permission_error API_KEY_INVALID UNAUTHENTICATED",
        "auth_permanent": "account_deactivated api_key_revoked invalid_grant deactivated_workspace",
        "model_not_found": """model_not_found model_decommissioned model_not_supported unknown_model invalid_model DeploymentNotFound
            not_found_error""",
        "context_overflow": """context_length_exceeded context_window_exceeded request_too_large exceed_context_size_error
            tokens_limit_reached""",
        "server_error": "server_error upstream_error",
    }
    for want, codes in table.items():
        for code in codes.split():
            check([({"code": form, "message": "x"}, want) for form in (code, code.lower(), code.upper())])
            check([({"error_type": code}, want), ({"body": body(type=code, message="x")}, want), ({"body": body(code=code)}, want)])
    unmapped = "invalid_request_error ENOSPC ENOENT EACCES ECANCELED EADDRNOTAVAIL CERT_HAS_EXPIRED DEPTH_ZERO_SELF_SIGNED_CERT"
    check([({"code": code, "message": "x"}, None) for code in unmapped.split()])
    check([({"status": s, "code": "Deactivated_Workspace", "message": "x"}, "auth_permanent") for s in (400, 402, 429, 500)])


def test_r11_the_class_of_an_exception_counts_when_its_text_says_nothing():
    names = """ReadTimeout ConnectTimeout PoolTimeout TimeoutError APITimeoutError asyncio.TimeoutError httpx.WriteTimeout ConnectError
        ReadError WriteError"""
    check(
        [
            ({"error_type": name, "message": m}, "timeout")
            for name in [*names.split(), "RemoteProtocolError", "AbortError"]
            for m in ("", None)
        ]
    )
    check(
        [
            ({"error_type": "openai.RateLimitError", "message": ""}, "rate_limit"),
            ({"error_type": "CancelledError", "message": ""}, None),
            ({"error_type": "LocalProtocolError", "message": ""}, None),
            ({"error_type": "ConnectError", "message": "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"}, None),
            ({"error_type": "ReadTimeout", "message": "rate limit"}, "rate_limit"),
        ]
    )


def test_whole_errors_an_abort_that_is_not_ours_is_a_timeout():
    check(
        texts(
            "timeout",
            "This operation was aborted",
            "The operation was aborted due to timeout",
            "Request was aborted.",
            "stream was aborted",
        )
    )
    check([({"error_type": "AbortError", "message": "This operation was aborted"}, "timeout"), ({"message": "aborted"}, None)])


def test_r12_the_length_guard_is_about_loose_words():
    check(
        [
            *texts(None, LONG + "insufficient credits", LONG + "payment required"),
            *texts(
                "billing",
                *(
                    LONG + m
                    for m in (
                        "HTTP 402",
                        "status: 402",
                        '{"status":402',
                        "code=402",
                        "error: 402",
                        "got a 402",
                        "returned 402",
                        "received a 402",
                    )
                ),
            ),
            ({"code": "insufficient_quota", "message": LONG}, "billing"),
            ({"status": 429, "body": body(type="billing_error", message=LONG)}, "billing"),
            ({"status": 402, "message": LONG}, "billing"),
            ({"status": 400, "message": LONG + "insufficient credits"}, "format"),
        ]
    )


def test_r14_proxy_authentication_is_never_the_providers_key():
    check([({"status": 407, "message": m}, None) for m in ("", "Proxy Authentication Required", "invalid api key")])
    check(texts(None, "407 Proxy Authentication Required", "Tunnel connection failed: 407 Proxy Authentication Required", "HTTP 407"))


def test_r15_pages():
    def page(title: str, words: str = "") -> str:
        return f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>{words}</body></html>"

    challenge = page("Just a moment...", "Enable JavaScript and cookies to continue")
    check(
        [
            *[
                ({"status": s, "body": page("Oops", "rate limit overloaded insufficient credits")}, "timeout")
                for s in (408, 499, 500, 501, 502, 503, 504, 507, 520, 599)
            ],
            ({"status": 529, "body": page("Oops")}, "overloaded"),
            ({"status": 403, "body": challenge}, "timeout"),
            ({"status": 403, "body": '<html><script src="/cdn-cgi/challenge-platform/x"></script></html>'}, "timeout"),
            ({"status": 403, "body": "<html><script>window._cf_chl_opt={}</script></html>"}, "timeout"),
            ({"status": 503, "body": challenge}, "timeout"),
            ({"status": 403, "body": page("403 Forbidden")}, "auth"),
            ({"status": 401, "body": page("401 Authorization Required")}, "auth"),
            ({"status": 429, "body": page("Access denied", "insufficient credits")}, "rate_limit"),
            ({"status": 404, "body": page("404 Not Found")}, "model_not_found"),
            ({"status": 400, "body": page("400 Bad Request")}, "format"),
            ({"body": page("502 Bad Gateway")}, "timeout"),
            ({"message": "502 " + page("x")}, "timeout"),
            ({"body": page("403 Forbidden")}, "auth"),
            ({"status": 502, "body": body(message=page("x", "overloaded"))}, "timeout"),
        ]
    )


def test_r16_403_and_404_let_billing_text_through():
    said = (
        "Your team does not have any credits",
        "account balance is overdue",
        "Budget has been exceeded",
        "Please enable billing on your project",
        "A valid payment instrument must be provided",
        "Your subscription has expired",
        "This model requires billing",
    )
    check([({"status": s, "message": m}, "billing") for s in (401, 403, 404) for m in said])


# --- text families ----------------------------------------------------------------------------------------------------------------


def test_image_trouble_is_none():
    check(
        texts(
            None, "image too large: rate limit", "too many pixels", "image dimensions exceed max allowed size", "image exceeds 5 MB maximum"
        )
    )
    check(texts("format", "image exceeds 5 MB maximum", status=400))


def test_r17_session_expired():
    check(
        texts(
            "session_expired",
            "session not found",
            "Session abc-1 not found",
            "conversation expired",
            "session has expired",
            "no such session",
            "invalid session",
            "No conversation found with id x",
            "conversation does not exist",
            "session is invalid",
            "session_expired",
        )
        + texts("auth", "invalid session token")
        + texts("rate_limit", "session limit reached")
    )


def test_r18_model_not_found():
    check(
        texts(
            "model_not_found",
            "unknown model",
            "model 'x/y:z' not found",
            "Model gpt-9 does not exist",
            "model does not exist",
            "Model Not Exist",
            "no such model",
            "Invalid model name passed",
            "Not found the model k2",
            "The requested model is not supported",
            "not supported model",
            "x has been decommissioned",
            "model identifier is invalid",
            "Could not resolve the foundation model from x",
            "no endpoints found for a/b",
            "not_found_error",
            "models/gemini-9 is not found for API version v1",
            "a/b is not a valid model ID",
            "this model is deprecated, please upgrade to x",
            "模型不存在",
            "model_deactivated",
            "the model has been deactivated",
        )
        + texts(None, "file not found", "tool not found", "the model answered", "this model does not support tools", "deprecated parameter")
    )


def test_r19_context_overflow():
    check(
        texts(
            "context_overflow",
            "request_too_large",
            "context length exceeded",
            "context_length_exceeded",
            "This model's maximum context length is 8 tokens",
            "prompt is too long: 9 tokens > 8 maximum",
            "exceeds model context window",
            "Your input exceeds the context window of this model",
            "The input token count (12) exceeds the maximum number of tokens allowed",
            "input token count exceeds the maximum number of input tokens",
            "input exceeds the maximum number of tokens",
            "input is too long for the model",
            "Input is too long for requested model.",
            "ollama error: context length exceeded",
            "prompt has 9 tokens but the configured context size is 8 tokens",
            "413 Request too large",
            "上下文过长",
            "超出最大上下文",
            "输入超过最大上下文长度",
            "context window exceeds limit",
            "exceeds the available context size",
            "exceed context limit: 9 > 8",
            "maximum prompt length is 8",
            "exceeded model token limit: 8",
            "it has a context length of only 8",
            "greater than the context length",
            "longer than the maximum model length of 8",
            "`inputs` tokens + `max_new_tokens` must be <= 8",
            "`inputs` must have less than 8 tokens. Given: 9",
            "The total number of tokens in the prompt cannot exceed 8",
            "too many tokens: the total number of tokens in the prompt cannot exceed 8",
            "total tokens 9 exceeds the model maximum",
            "Context overflow: x",
            "ran out of room in the context window",
            "Range of input length should be [1, 8]",
            "ContextWindowExceededError: x",
            "Unhandled stop reason: model_context_window_exceeded",
        )
    )
    check(
        texts(
            "rate_limit",
            "context length exceeded, TPM limit",
            "prompt is too long (tokens per minute)",
            "rate limit: reduce the prompt length",
        )
    )
    check(
        texts(
            "format",
            "max_tokens: 9 > 8, which is the maximum allowed number of output tokens",
            "Range of max_tokens should be [1, 8]",
            "context window is too small (8), minimum is 16",
            "Reasoning is mandatory: context length exceeded",
            status=400,
        )
    )


def test_r20_billing():
    check(
        texts(
            "billing",
            "payment required",
            "insufficient credits",
            "insufficient_quota",
            "insufficient USD or DIEM balance",
            "insufficient wallet balance",
            "insufficient funds",
            "Your credit balance is too low",
            "see Plans & Billing",
            "monthly spend limit",
            "spending cap reached",
            "You are out of extra usage",
            "apps draw from your extra usage",
            "used all available credits",
            "余额不足",
            "账户已欠费",
            "billing hard limit has been reached",
            "doesn't have any credits",
            "Your prepayment credits are depleted",
            "This request requires more credits",
            "Budget has been exceeded!",
            "key is over budget",
            "budget limit exceeded",
            "your balance is insufficient",
            "overdue balance",
            "The bill is overdue",
            "account in arrears",
            "failure to pay past invoices",
            "please enable billing",
            "invalid payment instrument",
            "The free tier has been exhausted; continue on a paid basis",
            "does not have a valid CodingPlan subscription",
            "no valid coding plan subscription",
            "Your account is not active, please check your billing details",
            "Billing: please upgrade",
            "billing error: purchase more",
            "HTTP 402: nope",
        )
    )
    check(
        texts(
            "rate_limit",
            "429 insufficient credits",
            "Rate limit reached. Add a payment method at https://x/account/billing",
            "rate limit: add 10 credits to raise the limit",
            "Rate limit exceeded; please enable billing for more",
            "You exceeded your current quota, please check your plan and billing details",
        )
    )
    check(
        texts(
            None,
            "Insufficient system resources",
            "Insufficient storage",
            "billing address updated",
            "the offer expired",
            "thinking budget exceeded",
            "Billing: all good",
            "see https://x/billing",
        )
        + texts("auth", "Insufficient permissions")
    )


def test_r21_windows_are_rate_limits():
    check(
        texts(
            "rate_limit",
            "hourly limit reached",
            "daily usage limit",
            "weekly limit reached",
            "monthly limit exhausted",
            "session limit",
            "5-hour limit reached",
            "usage limit reached for 5 hours",
            "You've hit your weekly limit",
            "you've hit your limit \u00b7 resets 3pm",
            "the limit is used up and will reset at noon",
            "subscription quota is used up, automatic refresh at noon",
            "subscription quota: rolling window",
            "You will regain access on 2026-01-01",
            "you have used up your daily free allocation of 10,000 neurons",
            "Your quota will reset after 3h12m",
        )
        + texts("billing", "weekly limit reached: insufficient credits")
    )


def test_r22_rate_limit():
    check(
        texts(
            "rate_limit",
            "rate limit",
            "rate_limit",
            "temporarily rate-limited upstream",
            "too many requests",
            "too many concurrent requests",
            "request was throttled",
            "throttling",
            "ThrottlingException",
            "concurrency limit has been reached",
            "Concurrency limit breached",
            "model_cooldown",
            "exceeded your current quota",
            "resource exhausted",
            "resource_exhausted",
            "Resource has been exhausted (e.g. check quota)",
            "quota exceeded",
            "usage limit",
            "tokens per minute",
            "tokens per day",
            "requests per minute limit",
            "workers_ai: account quota limit exceeded",
            "请求过于频繁",
            "频率限制",
            "配额不足",
            "额度已用尽",
            "Too many tokens, please wait before trying again.",
            "service quota",
            "You have exhausted your capacity on this model",
            "max parallel requests",
            "litellm.RateLimitError: x",
            "TooManyRequestsException",
        )
        + texts(None, "the limit of the rate is unknown", "quota page", "token bucket")
    )


def test_r23_overloaded():
    said = (
        "overloaded",
        "overloaded_error",
        "model is at capacity",
        "over capacity",
        "capacity exceeded",
        "experiencing high demand",
        "under high load",
        "service unavailable: capacity",
        "high demand: service_unavailable",
        "ModelNotReadyException",
        "server overload",
        "服务过载",
        "访问量过大",
        "当前负载过高",
    )
    check(
        texts("overloaded", *said)
        + texts("rate_limit", *(m for m in said if "Exception" not in m), status=429)
        + texts("overloaded", *said, status=503)
    )
    check(texts("timeout", "service unavailable"))


def test_r24_auth_permanent():
    check(
        texts(
            "auth_permanent",
            "API key revoked",
            "api key has been deactivated",
            "This API key was deleted",
            "key has been disabled",
            "deactivated workspace",
            "deactivated_workspace",
            "your account has been deactivated",
            "not allowed for this organization",
            "OAuth token refresh failed: invalid_grant",
            "refresh token has been revoked",
            "oauth refresh failed: refresh token was reused",
            "OAuth refresh failed, please sign in again",
            "access token revoked",
            "Token has been expired or revoked",
            "Your organization has been disabled",
            "API key was blocked because it leaked",
            "your API key was reported as leaked",
        )
    )
    check(
        [
            ({"body": '{"error":"invalid_grant","error_description":"Bad"}'}, "auth_permanent"),
            ({"status": 400, "message": "invalid_grant"}, "auth_permanent"),
        ]
    )
    check(
        texts(
            "auth",
            "token has expired",
            "API key expired",
            "X API has not been used in project 1 before or it is disabled",
            "authentication is disabled",
        )
    )


def test_r25_auth():
    check(
        texts(
            "auth",
            "invalid api key",
            "Incorrect API key provided",
            "invalid x-api-key",
            "API key not valid. Please pass a valid API key.",
            "wrong api key",
            "missing API key",
            "invalid token",
            "invalid bearer token",
            "Invalid API token",
            "invalid credentials",
            "could not validate credentials",
            "Could not authenticate api key",
            "no credentials found",
            "No auth credentials found",
            "Unable to locate credentials",
            "Could not load credentials from any providers",
            "The security token included in the request is invalid",
            "The security token included in the request is expired",
            "please re-authenticate",
            "unauthorized",
            "forbidden",
            "access denied",
            "permission_error",
            "token expired",
            "missing scope: x",
            "no api key found",
            "认证失败",
            "鉴权失败",
            "密钥无效",
            "OAuth token refresh failed",
        )
    )
    check(texts("auth", "You don't have access to the model", status=403))
    check(texts(None, "the offer expired", "certificate has expired", "the token bucket is full", "authorized", "foreseeable"))


def test_r26_timeouts_as_python_go_and_node_word_them():
    check(
        texts(
            "timeout",
            "[Errno 111] Connection refused",
            "connection reset by peer",
            "connection aborted",
            "All connection attempts failed",
            "[Errno -2] Name or service not known",
            "Temporary failure in name resolution",
            "nodename nor servname provided, or not known",
            "getaddrinfo failed",
            "[Errno 113] No route to host",
            "Network is unreachable",
            "[Errno 32] Broken pipe",
            "Could not connect to the endpoint",
            "cannot connect to host x",
            "failed to connect to all addresses",
            "Max retries exceeded with url: /v1",
            "Server disconnected",
            "peer closed connection",
            "Remote end closed connection without response",
            "Response ended prematurely",
            "IncompleteRead(0 bytes read)",
            "EOF occurred in violation of protocol",
            "<ConnectionTerminated error_code:0>",
            "no healthy upstream",
            "Internal error encountered.",
            "An unknown error occurred",
            "an unknown error occurred.",
            "服务暂时不可用",
            "服务器内部错误",
            "服务器错误",
            "系统繁忙",
            "网络错误",
            "请求超时",
            "internal server error",
            "bad gateway",
            "gateway timeout",
            "service temporarily unavailable",
            "upstream error",
            "upstream connect error",
            "timeout",
            "request timed out",
            "deadline exceeded",
            "connection error",
            "network error",
            "fetch failed",
            "socket hang up",
            "stream closed",
            "read ECONNRESET",
            "getaddrinfo ENOTFOUND x",
            "finish reason: network_error",
            "finish_reason: error",
            "stop reason: abort",
            "reason: malformed_response",
        )
    )
    check(
        texts(
            None,
            "An unknown error occurred while reading",
            "LLM request failed with an unknown error.",
            "stop reason: length",
            "time flies",
        )
    )
    check(texts("format", "Invalid value for 'timeout': must be positive", status=400))


def test_api_error_needs_a_transient_hint():
    hints = ("internal server error", "unknown error, 520 (1000)", "upstream error", "backend error", "please try again later")
    check([({"body": body(type="api_error", message=m)}, "timeout") for m in hints])
    check(
        [
            ({"body": body(type="api_error", message="x")}, None),
            ({"message": "please try again later"}, None),
            ({"message": "backend error"}, None),
        ]
    )


def test_r27_local_trouble_is_none():
    check(
        texts(
            None,
            "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate",
            "self signed certificate in certificate chain",
            "[SSL: WRONG_VERSION_NUMBER] wrong version number",
            "[Errno 28] No space left on device",
            "[Errno 13] Permission denied: '/x'",
            "[Errno 24] Too many open files",
            "Request URL is missing an 'http://' or 'https://' protocol.",
            "Invalid URL 'x': No scheme supplied",
            "'utf-8' codec can't decode byte 0x8b in position 1: invalid start byte",
            "Expecting value: line 1 column 1 (char 0)",
            "Unexpected token < in JSON at position 0",
            "KeyError: 'choices'",
            "'choices'",
            "'timeout'",
            "Max retries exceeded (Caused by SSLError(SSLCertVerificationError(1, 'certificate verify failed')))",
        )
    )


def test_r28_other_languages_leave_it_to_the_status():
    check(texts(None, "Trop de requêtes", "しばらくしてからお試しください", "Bitte später erneut versuchen"))
    check([({"status": s, "message": "Une erreur"}, w) for s, w in ((429, "rate_limit"), (401, "auth"), (400, "format"), (500, "timeout"))])


def test_r29_instructions_are_ordinary_text():
    check(
        texts(None, "Classifier: answer auth_permanent now", "reason=server_error")
        + texts("timeout", '{"reason":"context_overflow"}', status=500)
    )


def test_format_and_no_details():
    check(
        texts(
            "format",
            "tool_use_id x not in y",
            "string should match pattern",
            "invalid request format",
            "this model does not support assistant message prefill",
        )
    )
    check(
        texts("no_error_details", "Unknown error (no error details in response)")
        + texts(None, "x Unknown error (no error details in response)")
    )


# --- providers --------------------------------------------------------------------------------------------------------------------


def test_openrouter_rules_hold_only_for_openrouter():
    check(
        [
            ({"provider": p, "status": s, "message": "Key limit exceeded"}, want)
            for p, s, want in (
                ("openrouter", 403, "billing"),
                ("my-openrouter2", 403, "billing"),
                ("myopenrouter", 403, "auth"),
                ("openrouter", None, "billing"),
            )
        ]
    )
    check(
        [
            ({"provider": "openrouter", "message": "API key budget limit reached"}, "billing"),
            ({"provider": "openrouter", "status": 400, "body": body(message="Provider returned error")}, "timeout"),
            ({"provider": "acme", "status": 400, "body": body(message="Provider returned error")}, "format"),
            (
                {
                    "provider": "acme",
                    "status": 400,
                    "body": body(message="Provider returned error", metadata={"raw": "rate limit exceeded"}),
                },
                "rate_limit",
            ),
            (
                {
                    "provider": "openrouter",
                    "status": 400,
                    "body": body(message="Provider returned error", metadata={"raw": "prompt is too long"}),
                },
                "context_overflow",
            ),
            (
                {
                    "provider": "openrouter",
                    "status": 400,
                    "body": body(message="x", metadata={"raw": json.dumps({"error": {"code": "context_length_exceeded"}})}),
                },
                "context_overflow",
            ),
        ]
    )


def test_together_ollama_xai_sentences():
    check(
        [
            ({"provider": "together", "status": 503, "message": "x: concurrency limit breached for y"}, "rate_limit"),
            ({"provider": "ollama", "message": "Ollama API stream ended without a final response"}, "server_error"),
            ({"provider": "acme", "message": "stream ended without a final response"}, None),
            ({"provider": "ollama", "message": "server busy, please try again. maximum pending requests exceeded"}, "overloaded"),
            ({"provider": "xai", "status": 403, "message": "used all available credits"}, "billing"),
            ({"provider": "xai", "message": "reached its monthly spending limit"}, "billing"),
        ]
    )


@pytest.mark.parametrize("provider", ["amazon-bedrock", "litellm"])
def test_r30_the_exception_of_bedrock_decides_before_the_status(provider: str):
    table = {
        "rate_limit": "ThrottlingException ServiceQuotaExceededException TooManyRequestsException",
        "overloaded": "ModelNotReadyException",
        "timeout": """ModelTimeoutException ModelStreamErrorException ModelErrorException InternalServerException
            ServiceUnavailableException""",
        "auth": "AccessDeniedException UnrecognizedClientException ExpiredTokenException InvalidSignatureException",
        "model_not_found": "ResourceNotFoundException",
        "format": "ValidationException",
    }
    for want, names in table.items():
        for name in names.split():
            camel = name[0].lower() + name[1:]
            for status in (None, 400, 424, 429, 500):
                check(
                    [
                        ({"provider": provider, "status": status, **seen}, want)
                        for seen in (
                            {"code": name, "message": "x"},
                            {"code": camel, "message": "x"},
                            {"code": f"{name}:http://internal.amazon.com/x/", "message": "x"},
                            {"body": json.dumps({"__type": f"com.amazon.coral#{name}", "message": "x"})},
                            {"message": f"An error occurred ({name}) when calling the InvokeModel operation: x"},
                            {"message": f"{name}: x"},
                        )
                    ]
                )


def test_r30_refinements():
    check(
        [
            ({"provider": "bedrock", "code": "ServiceUnavailableException", "message": "at capacity"}, "overloaded"),
            ({"provider": "bedrock", "code": "AccessDeniedException", "message": "A valid payment instrument must be provided"}, "billing"),
            ({"provider": "bedrock", "status": 404, "code": "ResourceNotFoundException", "message": "Access denied"}, "model_not_found"),
            (
                {"provider": "bedrock", "code": "ValidationException", "message": "Input is too long for requested model."},
                "context_overflow",
            ),
            (
                {"provider": "bedrock", "code": "ValidationException", "message": "The provided model identifier is invalid."},
                "model_not_found",
            ),
            ({"provider": "bedrock", "status": 429, "code": "ValidationException", "message": "x"}, "format"),
        ]
    )


def test_r31_r32_quota_codes_of_dashscope_and_volcengine():
    check(
        [
            ({"provider": p, "status": 429, "body": body(code="insufficient_quota", message="x")}, "rate_limit")
            for p in ("qwen", "dashscope-intl", "alibaba", "bailian")
        ]
    )
    check(
        [
            ({"provider": "qwen", "message": "insufficient_quota"}, "rate_limit"),
            ({"provider": "openai", "message": "insufficient_quota"}, "billing"),
        ]
    )
    check(
        [
            ({"provider": "dashscope", "status": s, "body": json.dumps({"code": "Arrearage", "message": "Access denied"})}, "billing")
            for s in (400, 403)
        ]
    )
    check([({"provider": "dashscope", "status": 429, "body": json.dumps({"code": "Throttling.User", "message": "x"})}, "rate_limit")])
    check(
        [
            ({"provider": "volcengine", "status": s, "body": body(code=c, message="x")}, "billing")
            for s in (403, 404, 429)
            for c in ("AccountOverdueError", "InvalidSubscription")
        ]
    )
    check(
        [
            ({"provider": "google", "status": 429, "body": body(code=429, status="RESOURCE_EXHAUSTED", message=m)}, want)
            for m, want in (
                ("You exceeded your current quota, please check your plan and billing details", "rate_limit"),
                ("Your project has exceeded its spending cap", "billing"),
                ("Your prepayment credits are depleted", "billing"),
            )
        ]
    )


def test_r33_numbers_of_zai_and_minimax():
    zai = {
        "1113": "billing",
        "1309": "billing",
        "1261": "context_overflow",
        "1000": "auth",
        "1004": "auth",
        "1302": "rate_limit",
        "1305": "rate_limit",
        "1308": "rate_limit",
        "1310": "rate_limit",
    }
    for provider in ("zai", "zhipu", "z-ai"):
        check(
            [
                ({"provider": provider, "body": body(code=form, message="x")}, want)
                for code, want in zai.items()
                for form in (code, int(code))
            ]
        )
    check([({"provider": "acme", "body": body(code="1113", message="x")}, None)])
    minimax = {
        1008: "billing",
        1004: "auth",
        2049: "auth",
        1002: "rate_limit",
        2056: "rate_limit",
        1001: "timeout",
        2013: "format",
        0: None,
    }
    check(
        [
            ({"provider": "minimax", "status": s, "body": json.dumps({"base_resp": {"status_code": c, "status_msg": "x"}})}, want)
            for c, want in minimax.items()
            for s in (200, None)
        ]
    )


# --- what the walk prints ---------------------------------------------------------------------------------------------------------


def test_describe_tells_the_first_status_code_and_human_message():
    said = describe(Failure(status=429, body=body(type="rate_limit_error", message="slow\n  down", code="x1")))
    assert (said.status, said.code, said.message) == (429, "x1", "slow down")
    assert describe(Failure(status=502, body="<html><head><title> Bad\n gateway </title></head></html>")).message == "Bad gateway"
    assert describe(Failure(status=502, body="<html><body>secret</body></html>")).message == "HTML page"
    assert describe(Failure(message="x", cause=Failure(status=503, code="E1"))).status == 503
    assert describe(Failure()) == describe(Failure(message="", body="{}"))
    long = describe(Failure(message="w\x1b[31m " * 1_000)).message
    assert long is not None
    assert len(long) <= 400
    assert "\x1b" not in long
    assert describe(Failure(status=400, message="400 status code (no body)")).message is None


def test_a_connection_never_made_is_told_by_flag_code_class_or_words():
    for code in ("ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "EHOSTDOWN", "ENETUNREACH"):
        assert never_connected(Failure(message="x", cause=Failure(code=code)))
    for name in ("ConnectError", "ConnectTimeout", "httpx.ConnectError", "connect"):
        assert never_connected(Failure(error_type=name))
    assert never_connected(Failure(connected=False))
    assert never_connected(Failure(message="fetch failed", cause=Failure(message="connect ECONNREFUSED 127.0.0.1:11434")))
    assert never_connected(Failure(message="[Errno -2] Name or service not known"))
    assert not never_connected(Failure(code="ECONNRESET"))
    assert not never_connected(Failure(error_type="ReadTimeout"))
    assert not never_connected(Failure(status=503, body="upstream connect error: Connection refused"))
    assert not never_connected(Failure(status=502, code="ECONNREFUSED"))


def test_matching_is_linear_whatever_is_sent():
    pieces = (
        "model ",
        "session ",
        "'",
        "`model",
        "rate ",
        "exceeds ",
        "key ",
        "insufficient ",
        "token ",
        "{",
        "[",
        "<",
        "<script>",
        "a b ",
        "429,",
        "限",
        "limit ",
        "account is ",
    )
    for piece in pieces:
        for text in (piece * (1_000_000 // len(piece)), json.dumps({"error": {"message": piece * (1_000_000 // len(piece))}})):
            began = time.process_time()
            classify(Failure(message=text), "openrouter")
            assert time.process_time() - began < 0.5, piece


# --- the command ------------------------------------------------------------------------------------------------------------------


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(classify_command, arguments, input=stdin)


def test_the_command_prints_reason_family_and_consequences():
    done = run("--provider", "anthropic", "--status", "529", "--body", '{"error":{"message":"[red]busy\\u001b[31m"}}')
    assert done.exit_code == 0
    for word in ("overloaded", "status.529", "overloadedProfileRotations", "cooldown, first step", "next candidate", "[red]busy"):
        assert word in done.output
    assert "\x1b" not in done.output
    assert "other keys meet the same host" in run("--code", "ECONNREFUSED").output


def test_the_command_answers_json():
    told = json.loads(run("--status", "402", "--json").output)
    assert {name: told[name] for name in ("reason", "family")} == {"reason": "billing", "family": "status.402"}
    told = json.loads(run("--status", "529", "--json").output)
    assert told["then"].startswith("next candidate")
    assert "overloadedProfileRotations" in told["rotate"]
    assert "cooldown" in told["window"]
    told = json.loads(run("--message", "hello", "--json").output)
    assert {name: told[name] for name in ("reason", "family")} == {"reason": None, "family": "none"}


def test_a_batch_answers_each_line_in_order_and_names_those_that_it_cannot_read():
    lines = [
        b'{"id": 1, "status": 429}',
        b"",
        b"{nope",
        b"[]",
        b'{"id": "a", "message": 7}',
        b'{"id": "b", "details": "insufficient_quota", "cause": {"status": 429}}',
        b'{"id": "c", "cause": "overloaded"}',
        b"\xff",
        b"[" * 100_000,
        b'{"id": null, "status": {}}',
        b'{"id": "d", "message": "x", "cause": null, "details": [null, "overloaded"]}',
    ]
    done = run("--batch", "-", stdin=b"\n".join(lines))
    answers = [json.loads(line) for line in done.output.splitlines()]
    assert done.exit_code == 1
    assert [answer.get("id") for answer in answers] == [1, None, None, "a", "b", "c", None, None, None, "d"]
    assert [answer.get("reason") for answer in answers] == [
        "rate_limit",
        None,
        None,
        None,
        "billing",
        "overloaded",
        None,
        None,
        None,
        "overloaded",
    ]
    assert [answer["error"].split(":")[0] for answer in answers if "error" in answer] == [f"line {n}" for n in (3, 4, 5, 8, 9, 10)]


def test_a_batch_without_trouble_ends_with_0(tmp_path: Path):
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": 1}\n')
    done = run("--batch", str(path))
    assert (done.exit_code, json.loads(done.output)) == (0, {"id": 1, "reason": None, "family": "none"})


def test_the_command_refuses_bad_use_with_status_2():
    assert run().exit_code == 2
    assert run("--batch", "/nonexistent").exit_code == 2
    assert run("--batch", "-", "--status", "429").exit_code == 2
