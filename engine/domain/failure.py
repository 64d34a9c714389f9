"""What a failed attempt looked like, before anyone judged it: the input of the classifier. Never holds a secret on purpose,
but holds foreign text: everything shown from here goes through `engine.domain.redaction`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed upstream call (spec/classification.md, "Signal").

    status: HTTP status as it came (R1 cleans it; any JSON scalar is accepted), None when there was no response.
    body: raw response text (JSON or HTML). message: an exception's text. details: further strings.
    cause: what this failure wraps. headers: lower-case names.
    connected: False when the connection was never made (spec section 5), so that other keys of the host are not tried.
    caller_fault: True when our caller's own limits cut the attempt short (`attempt.caller-fault`): never changes health.
    """

    status: object = None
    code: object = None
    error_type: object = None
    message: str | None = None
    body: str | None = None
    details: tuple[str, ...] = ()
    cause: Failure | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    connected: bool = True
    caller_fault: bool = False
