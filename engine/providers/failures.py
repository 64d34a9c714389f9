"""What went wrong on the way to a provider, as a `Failure` for the classifier. Only facts: what a failure means is `engine.policy`'s
business, and who cancelled is known to whoever holds the token, never guessed here."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Mapping

import httpx

from engine.domain.failure import Failure

_NAMES = {socket.EAI_NONAME: "ENOTFOUND", socket.EAI_AGAIN: "EAI_AGAIN"}
_BROKEN_OFF = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


def http_failure(status: int, headers: Mapping[str, str], body: str) -> Failure:
    """An answer that is an error. A redirect is one, too: following it would hand the key to another host."""
    if 300 <= status < 400:
        return Failure(
            status=status, body=body or None, message="the provider answered with a redirect; check its baseUrl", headers=headers
        )
    return Failure(status=status, body=body or None, headers=headers)


def connection_failure(error: httpx.TransportError, status: int | None = None) -> Failure:
    """A call without an answer, or (with `status`) without its end. `connected` is False when the connection was never made; a
    certificate or protocol error is not that (spec/failover.md section 5)."""
    cause = error.__cause__
    if isinstance(error, httpx.ConnectTimeout):
        return Failure(error_type="ConnectTimeout", message=f"ConnectTimeout: {error}", connected=False)
    if isinstance(error, httpx.ConnectError):
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, _BROKEN_OFF):
            return Failure(error_type=type(cause).__name__, message=str(cause))
        if not isinstance(cause, OSError):
            return Failure(message=f"bad URL: {error}")
        return Failure(code=_code(cause), error_type="ConnectError", message=f"ConnectError: {error}", connected=False)
    if isinstance(error, httpx.ReadTimeout):
        return Failure(status=status, code="ETIMEDOUT", error_type="ReadTimeout", message=f"timed out: {error}")
    return Failure(status=status, code=_code(cause), error_type=type(error).__name__, message=f"{type(error).__name__}: {error}")


def _code(error: BaseException | None) -> str | None:
    if isinstance(error, socket.gaierror):
        return _NAMES.get(error.errno or 0, "ENOTFOUND")
    if not isinstance(error, OSError):
        return None
    return errno.errorcode.get(error.errno) if error.errno is not None else None
