"""Whether a failure means that the provider was never reached (spec/failover.md section 5, "Connection never made"): then other keys
would meet the same host, and no credential is to blame. Not about which reason it is."""

from __future__ import annotations

import re

from engine.domain.failure import Failure
from engine.policy.classify.codes import normal_code
from engine.policy.classify.evidence import chain_of
from engine.policy.classify.statuses import clean_status, implied_status
from engine.policy.classify.texts import fold

_CODES = frozenset({"econnrefused", "enotfound", "eai_again", "ehostunreach", "ehostdown", "enetunreach", "enetdown"})
_CLASSES = frozenset(
    {"connecterror", "connecttimeout", "connect", "connectionrefusederror", "gaierror", "newconnectionerror", "clientconnectorerror"}
)
_WORDS = re.compile(
    r"\b(?:econnrefused|enotfound|eai_again|ehostunreach|ehostdown|enetunreach|enetdown|connecterror|connecttimeout|connection refused"
    r"|all connection attempts failed|name or service not known|in name resolution|nodename nor servname|getaddrinfo failed|no such host"
    r"|no route to host|network is unreachable|host is unreachable)\b"
)


def never_connected(failure: Failure) -> bool:
    """True when the driver says so, or when an error anywhere in the wrapped chain is a refusal, a name that does not resolve, an
    unreachable host or a connect timeout. An answer with a status was an answer, whatever a proxy wrote into it."""
    if not failure.connected:
        return True
    chain = chain_of(failure)
    if any(clean_status(layer.status)[0] is not None for layer in chain):
        return False
    return any(not layer.connected or _refused(layer) for layer in chain)


def _refused(layer: Failure) -> bool:
    names = (
        normal_code(str(name)[:200]).rsplit(".", 1)[-1] for name in (layer.code, layer.error_type, layer.status) if isinstance(name, str)
    )
    if any(name in _CODES or name in _CLASSES for name in names):
        return True
    text = fold(layer.message).text if layer.message else ""
    return bool(text) and implied_status(text) is None and _WORDS.search(text) is not None
