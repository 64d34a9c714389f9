"""The border for headers, both ways: credentials of the caller never go upstream."""

from __future__ import annotations

import pytest

from engine.providers.headers import comes_down, goes_up

# fmt: off
NEVER = [
    "authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "cookie2", "set-cookie",
    "x-auth-token", "x-portkey-api-key", "host", "connection", "transfer-encoding", "content-length", "accept-encoding",
    "x-failover-operator", "x-failover-session", "x-forwarded-for", "forwarded", "origin", "cf-access-client-secret",
    "x-amz-security-token", "openai-organization", "openai-project", "x-litellm-apikey", "x-my-password",
]
# fmt: on

# fmt: off
PROVIDERS = [
    "anthropic-version", "anthropic-beta", "openai-beta", "user-agent", "x-stainless-lang", "http-referer", "x-title",
    "traceparent", "idempotency-key",
]
# fmt: on


@pytest.mark.parametrize(
    "name",
    NEVER,
)
def test_credentials_and_connection_headers_of_the_caller_never_go_up(name: str):
    assert not goes_up(name)


@pytest.mark.parametrize("name", PROVIDERS)
def test_what_the_provider_needs_goes_up(name: str):
    assert goes_up(name)


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("x-ratelimit-remaining-requests", True),
        ("anthropic-ratelimit-tokens-reset", True),
        ("request-id", True),
        ("x-request-id", True),
        ("retry-after", True),
        ("set-cookie", False),
        ("server", False),
        ("content-encoding", False),
        ("openai-organization", False),
    ],
)
def test_only_limits_and_ids_of_the_provider_come_down(name: str, passes: bool):
    assert comes_down(name) is passes
