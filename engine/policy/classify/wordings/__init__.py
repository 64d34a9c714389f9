"""The sentences by which providers, SDKs and operating systems word each reason (spec "Text", R17-R29), as data. Texts are folded before
they come here (`texts.fold`): lower case, single spaces, straight quotes. The order in which families are asked stands in `meaning`."""

from engine.policy.classify.wordings.access import AUTH, AUTH_PERMANENT, BARE_401_403
from engine.policy.classify.wordings.load import BARE_429, OVERLOADED, PERIODIC, RATE_LIMIT, TOKEN_RATE_LIMIT
from engine.policy.classify.wordings.money import BILLING, BILLING_402, ENABLE_BILLING, HARD_402
from engine.policy.classify.wordings.network import API_ERROR_HINT, LOCAL, NO_ERROR_DETAILS, TIMEOUT, TRANSPORT
from engine.policy.classify.wordings.request import CONTEXT_OVERFLOW, FORMAT, IMAGE, MODEL_GONE, MODEL_NOT_FOUND, SESSION_EXPIRED

__all__ = [
    "API_ERROR_HINT",
    "AUTH",
    "AUTH_PERMANENT",
    "BARE_401_403",
    "BARE_429",
    "BILLING",
    "BILLING_402",
    "CONTEXT_OVERFLOW",
    "ENABLE_BILLING",
    "FORMAT",
    "HARD_402",
    "IMAGE",
    "LOCAL",
    "MODEL_GONE",
    "MODEL_NOT_FOUND",
    "NO_ERROR_DETAILS",
    "OVERLOADED",
    "PERIODIC",
    "RATE_LIMIT",
    "SESSION_EXPIRED",
    "TIMEOUT",
    "TOKEN_RATE_LIMIT",
    "TRANSPORT",
]
