"""Which hosts only this machine can reach: binding any other needs a token (spec/gateway.md, Safety)."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """A name is one only as `localhost`: what others resolve to is not ours to say. The empty host and `0.0.0.0` are everybody."""
    bare = host.strip("[]").partition("%")[0]
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return bare.lower().rstrip(".") == "localhost"
    mapped = getattr(address, "ipv4_mapped", None)
    return bool(mapped.is_loopback if mapped else address.is_loopback)
