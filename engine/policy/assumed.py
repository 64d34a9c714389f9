"""A failure that somebody only assumes, as the provider's answer it would be: what-if judges it by the same classifier as a real one.
No rule of failover is here."""

from __future__ import annotations

from collections.abc import Mapping

from engine.domain.failure import Failure
from engine.domain.foresight import Fails

_BY_REASON: Mapping[str, Failure] = {
    "rate_limit": Failure(status=429, body='{"error":{"message":"rate limit exceeded","type":"rate_limit_error"}}'),
    "overloaded": Failure(status=529, body='{"error":{"message":"Overloaded","type":"overloaded_error"}}'),
    "billing": Failure(status=402, body='{"error":{"message":"credit balance is too low","type":"billing_error"}}'),
    "auth": Failure(status=401, body='{"error":{"message":"invalid x-api-key","type":"authentication_error"}}'),
    "auth_permanent": Failure(status=401, body='{"error":{"message":"this API key has been revoked","code":"api_key_revoked"}}'),
    "timeout": Failure(error_type="TimeoutError", message="the request timed out"),
    "server_error": Failure(status=500, body='{"error":{"message":"internal server error"}}'),
}
REASONS = tuple(_BY_REASON)


def failure_of(assumed: Fails) -> Failure | None:
    """None: the reason is not one that an answer can be made of."""
    headers = {"retry-after": str(assumed.wait_s)} if assumed.wait_s is not None else {}
    if assumed.status is not None:
        return Failure(status=assumed.status, headers=headers)
    found = _BY_REASON.get(assumed.reason or "")
    if found is None:
        return None
    return Failure(found.status, found.code, found.error_type, found.message, found.body, headers=headers)
