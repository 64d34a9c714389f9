"""Who may talk to the gateway at all: Host and Origin on every route, so that a web page cannot drive it, and the gateway's own token.
Pure; the operator API checks its own token itself."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from engine.gateway.reply import Refused

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def host_of(value: str) -> str:
    """The name in a Host header: without port, brackets and final dot, lower-case."""
    value = value.strip().lower()
    if value.startswith("["):
        return value[1:].partition("]")[0]
    return value.partition(":")[0].rstrip(".")


class Guard:
    """names: configured ones (`gateway.hosts`) and the configured bound address, besides loopback. token: `gateway.token`, resolved."""

    def __init__(self, names: Iterable[str] = (), token: str | None = None) -> None:
        self._names = LOOPBACK_NAMES | {host_of(name) for name in names}
        self._token = token.encode() if token else None

    def check_origin(self, headers: Mapping[str, str], local_address: str | None) -> None:
        """Raises Refused 403. local_address: of this connection on our side: whoever names it knows where it sends."""
        host = host_of(headers.get("host", ""))
        if not self._known(host, local_address):
            text = f"Host {host[:100]!r} is not one of this gateway's names. Use localhost, or add the name to gateway.hosts."
            raise Refused(403, "host_not_allowed", text)
        origin = headers.get("origin")
        if origin is not None and not self._known(_origin_host(origin), local_address):
            text = "A web page of another origin may not use this gateway. Add its host to gateway.hosts if it may."
            raise Refused(403, "origin_not_allowed", text)

    def check_token(self, headers: Mapping[str, str]) -> None:
        """Raises Refused 401 unless no token is configured, or it comes as bearer, `x-api-key` or `api-key`."""
        if self._token is None:
            return
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        offered = (bearer.strip() if scheme.lower() == "bearer" else "", headers.get("x-api-key", ""), headers.get("api-key", ""))
        if not any(hmac.compare_digest(value.encode("utf-8", "replace"), self._token) for value in offered):
            text = "This gateway asks for its token (gateway.token): send it as Authorization: Bearer, x-api-key or api-key."
            raise Refused(401, "invalid_api_key", text, {"www-authenticate": "Bearer"})

    def _known(self, host: str, local_address: str | None) -> bool:
        return bool(host) and (host in self._names or host == local_address)


def same_token(offered: str | None, token: str | None) -> bool:
    """In constant time; False when either is missing."""
    return bool(offered and token) and hmac.compare_digest((offered or "").encode("utf-8", "replace"), (token or "").encode())


def _origin_host(origin: str) -> str:
    try:
        return (urlsplit(origin).hostname or "").rstrip(".")
    except ValueError:
        return ""
