"""Why an attempt failed, and why a candidate was passed over. The words are a public interface (spec/classification.md)."""

from enum import StrEnum


class FailoverReason(StrEnum):
    """The reason of a failed attempt. `None` from the classifier becomes UNCLASSIFIED or EMPTY_RESPONSE in the walk."""

    AUTH = "auth"
    AUTH_PERMANENT = "auth_permanent"
    BILLING = "billing"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    SERVER_ERROR = "server_error"
    FORMAT = "format"
    MODEL_NOT_FOUND = "model_not_found"
    SESSION_EXPIRED = "session_expired"
    CONTEXT_OVERFLOW = "context_overflow"
    EMPTY_RESPONSE = "empty_response"
    NO_ERROR_DETAILS = "no_error_details"
    UNCLASSIFIED = "unclassified"
    UNKNOWN = "unknown"


class SkipReason(StrEnum):
    """Why a candidate was not attempted, when no window is the cause (spec/scenarios.md, `candidates`)."""

    UNKNOWN_PROVIDER = "unknown_provider"
    NO_CREDENTIALS = "no_credentials"
    OPERATOR_OFF = "operator_off"
    SKIP_CACHE = "skip_cache"
    PINNED_PROFILE_MISSING = "pinned_profile_missing"
    DIALECT_UNSUPPORTED = "dialect_unsupported"
