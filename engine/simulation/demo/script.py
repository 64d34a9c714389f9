"""The script of a demo as data: who misbehaves how from which second of *policy* time on, over and over. Pure: what a provider answers
follows from the time and the request alone, so that a scenario can be tested without waiting for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Behaviour(StrEnum):
    """What a provider does with a request."""

    OK = "ok"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    BILLING = "billing"
    SERVER_ERROR = "server_error"
    BAD_GATEWAY = "bad_gateway"
    """The provider's own proxy answers, with a page of HTML."""
    REVOKED = "revoked"
    """The key is dead, and the provider says so."""
    SUBSCRIPTION = "subscription"
    """The plan's allowance is used up; the answer says when it is there again (`retry_after_s`)."""
    HANGS = "hangs"
    """It takes the request and says nothing."""
    CUTS = "cuts"
    """It breaks off in the middle of an answer."""


@dataclass(frozen=True, slots=True)
class Step:
    """From `at_s` (policy seconds since the beginning of the round) on, `target` behaves so, whatever an earlier step said of it.
    target: a provider, `provider/model`, a profile (`provider:name`) or `provider/model@profile`. retry_after_s: policy seconds that
    its answer states."""

    at_s: float
    target: str
    behaviour: Behaviour
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """steps: in the order of time. round_s: after so many policy seconds the script begins again, everything healed.
    tells: what there is to see, for people."""

    name: str
    tells: str
    round_s: float
    steps: tuple[Step, ...]


def applies(target: str, provider: str, model: str, profile: str | None) -> bool:
    """Does a step with that target mean this request?"""
    if "/" in target:
        ref, _, named = target.partition("@")
        return ref == f"{provider}/{model}" and named in ("", profile or "")
    return target in (provider, profile)


def behaviour_at(scenario: Scenario, policy_s: float, provider: str, model: str, profile: str | None) -> Step | None:
    """The step that decides about this request: the latest that has begun and applies. None: all is well."""
    place = policy_s % scenario.round_s
    begun = [step for step in scenario.steps if step.at_s <= place and applies(step.target, provider, model, profile)]
    return begun[-1] if begun and begun[-1].behaviour is not Behaviour.OK else None
