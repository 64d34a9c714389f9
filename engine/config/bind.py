"""Who may connect: binding anything but loopback needs a token (spec/gateway.md, Safety). Only the decision; sockets are the gateway's."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from engine.config.references import resolve
from engine.domain.errors import StartError
from engine.domain.settings import GatewaySettings


def is_loopback(host: str) -> bool:
    """True if only this machine can reach a socket bound to `host`. The empty host and `0.0.0.0` are everybody."""
    bare = host.strip("[]").partition("%")[0]
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return bare.lower() == "localhost" or bare.lower().endswith(".localhost")
    mapped = getattr(address, "ipv4_mapped", None)
    return bool(mapped.is_loopback if mapped else address.is_loopback)


def check_bind(gateway: GatewaySettings, env: Mapping[str, str]) -> str | None:
    """The token that applications must show, or None if there is none. Raises StartError if one is needed and missing, or is
    configured and cannot be read: a gateway that was meant to ask for it must not start without."""
    if gateway.token_ref is not None:
        resolved = resolve(gateway.token_ref, env)
        if resolved.secret is None:
            raise StartError("The gateway's token cannot be read", f"gateway.token: {resolved.reason}", "set it, or take gateway.token out")
        return resolved.secret
    if not is_loopback(gateway.host):
        raise StartError(
            "Refused to listen without a token",
            f"gateway.host is {gateway.host!r}, which others can reach, and gateway.token is not set: anybody could spend your keys",
            "set gateway.token to a reference such as env:FAILOVER_TOKEN, or listen on 127.0.0.1",
        )
    return None
