"""Machine-readable names that any provider may send, and what each means (spec "Codes", R9-R11). Data plus its lookup;
a provider's own codes stand in `providers`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from engine.domain.reasons import FailoverReason as R

DEACTIVATED_WORKSPACE = "deactivated_workspace"

_BY_REASON: Mapping[R, str] = {
    R.RATE_LIMIT: """
        resource_exhausted rate_limit rate_limited rate_limit_exceeded too_many_requests throttled throttling throttlingexception
        throttling_exception rate_limit_error rate_limit_reached ratelimitreached ratelimitexceeded ratelimiterror toomanyrequests
        toomanyrequestsexception usage_limit_reached""",
    R.OVERLOADED: "overloaded overloaded_error overloadederror capacity_exceeded",
    R.TIMEOUT: """
        etimedout esockettimedout econnreset econnaborted econnrefused enetunreach ehostunreach ehostdown enetreset epipe eai_again
        enotfound enetdown""",
    R.BILLING: """
        insufficient_quota insufficient_balance billing_hard_limit_reached billing_not_active billing_error budget_exceeded
        payment_required billing_disabled arrearage prepaidbilloverdue postpaidbilloverdue allocationquota.freetieronly
        accountoverdueerror invalidsubscription""",
    R.AUTH: "invalid_api_key wrong_api_key authentication_error authenticationerror permission_error api_key_invalid unauthenticated",
    R.AUTH_PERMANENT: "deactivated_workspace account_deactivated api_key_revoked invalid_grant",
    R.MODEL_NOT_FOUND: """
        model_not_found model_decommissioned model_not_supported unknown_model invalid_model deploymentnotfound not_found_error""",
    R.CONTEXT_OVERFLOW: """
        context_length_exceeded context_window_exceeded contextwindowexceedederror request_too_large exceed_context_size_error
        tokens_limit_reached""",
    R.SERVER_ERROR: "server_error upstream_error",
}
CODES: Mapping[str, R] = {code: reason for reason, codes in _BY_REASON.items() for code in codes.split()}

# Classes that a text may overrule: they name a throttle or a server at fault, not its cause (R9).
GENERIC = frozenset({R.RATE_LIMIT, R.SERVER_ERROR})

_TRANSPORT_EXCEPTIONS = """
    connecterror connectionerror apiconnectionerror connectionreseterror connectionrefusederror connectionabortederror brokenpipeerror
    readerror writeerror closeerror networkerror remoteprotocolerror remotedisconnected incompleteread incompletereaderror
    chunkedencodingerror serverdisconnectederror clientconnectorerror clientoserror endpointconnectionerror newconnectionerror
    maxretryerror protocolerror gaierror aborterror abort connect"""
_EXCEPTION_TIMEOUTS = frozenset(_TRANSPORT_EXCEPTIONS.split())
_NAME = re.compile(r"[a-z]*timeout(?:error|exception|expired)?")


def normal_code(raw: str) -> str:
    """Lower case, without namespace (`a.b#Name`) and URI suffix (`Name:http://...`)."""
    code = raw.strip().lower()
    if "#" in code:
        code = code.rsplit("#", 1)[1]
    if ":" in code and not code.startswith("base_resp:"):
        code = code.split(":", 1)[0]
    return code.strip()


def known(code: str, own: Mapping[str, R]) -> R | None:
    """The meaning of a normal code. own: the provider's table, which wins."""
    reason = own.get(code) or CODES.get(code)
    if reason is None and "." in code and code.startswith("throttl"):
        reason = CODES.get(code.split(".", 1)[0])
    elif reason is None and code.endswith(("error", "exception")):
        reason = CODES.get(code.rsplit(".", 1)[-1])
    return reason


def first_known(codes: Iterable[str], own: Mapping[str, R]) -> tuple[R, str] | None:
    """The first known code; one that names a cause goes before a generic throttle or server error, overflow before all (R9)."""
    best: tuple[R, str] | None = None
    for code in codes:
        reason = known(code, own)
        if reason is R.CONTEXT_OVERFLOW:
            return reason, code
        if reason is not None and (best is None or (best[0] in GENERIC and reason not in GENERIC)):
            best = reason, code
    return best


def exception_class(name: str) -> R | None:
    """What the class of an exception says when its text says nothing (R11)."""
    name = name.rsplit(".", 1)[-1]
    return R.TIMEOUT if name in _EXCEPTION_TIMEOUTS or _NAME.fullmatch(name) else None
