"""The demo's scenarios: data only. Times are policy seconds within a round; `engine.simulation.demo.script` says what they mean.

A round is long enough for the primary probe (every five minutes) to bring sessions back before the trouble begins again.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.simulation.demo.script import Behaviour, Scenario, Step

OPUS = "anthropic/claude-opus-4-8"

OUTAGE = Scenario(
    "outage",
    "a rate-limit burst at the first provider, a fallback, and the way back",
    900,
    (
        Step(40, f"{OPUS}@anthropic:me", Behaviour.RATE_LIMIT, retry_after_s=45),
        Step(75, OPUS, Behaviour.RATE_LIMIT, retry_after_s=60),
        Step(150, OPUS, Behaviour.OVERLOADED),
        Step(300, OPUS, Behaviour.OK),
    ),
)
BILLING = Scenario(
    "billing",
    "one account runs out of credit, then the other; somebody pays after a quarter of an hour",
    1_800,
    (
        Step(40, "anthropic:me", Behaviour.BILLING),
        Step(300, "anthropic:backup", Behaviour.BILLING),
        Step(900, "anthropic", Behaviour.OK),
    ),
)
EVERYTHING_DOWN = Scenario(
    "everything-down",
    "one provider after the other fails until nobody answers, then they come back",
    900,
    (
        Step(40, "anthropic", Behaviour.OVERLOADED),
        Step(90, "openai", Behaviour.RATE_LIMIT, retry_after_s=40),
        Step(140, "google", Behaviour.BAD_GATEWAY),
        Step(140, "anthropic", Behaviour.BAD_GATEWAY),
        Step(260, "google", Behaviour.OK),
        Step(320, "openai", Behaviour.OK),
        Step(360, "anthropic", Behaviour.OK),
    ),
)

REVOKED_KEY = Scenario(
    "revoked-key",
    "somebody revokes a key; the profile is out for long, the other one carries on, until it is overloaded as well",
    1_200,
    (
        Step(40, "anthropic:me", Behaviour.REVOKED),
        Step(240, "anthropic:backup", Behaviour.OVERLOADED),
        Step(420, "anthropic:backup", Behaviour.OK),
        Step(700, "anthropic:me", Behaviour.OK),
    ),
)
OVERLOAD = Scenario(
    "overload",
    "a provider says that it is overloaded, its neighbour takes everything and becomes slow, then answers with errors",
    900,
    (
        Step(40, "anthropic", Behaviour.OVERLOADED),
        Step(150, "openai/gpt-5.5", Behaviour.SERVER_ERROR),
        Step(260, "openai", Behaviour.OK),
        Step(400, "anthropic", Behaviour.OK),
    ),
)
SUBSCRIPTION_RESET = Scenario(
    "subscription-reset",
    "a plan's allowance is used up and the provider says when it is there again: blocked until then, and back to the minute",
    2_400,
    (
        Step(40, "openai:work", Behaviour.SUBSCRIPTION, retry_after_s=1_200),
        Step(90, OPUS, Behaviour.RATE_LIMIT, retry_after_s=120),
        Step(600, OPUS, Behaviour.OK),
        Step(1_240, "openai:work", Behaviour.OK),
    ),
)
FLAPPING = Scenario(
    "flapping",
    "a provider that fails and comes back, over and over: windows grow step by step, probes find it well and lose it again",
    1_500,
    tuple(
        Step(at, "anthropic", behaviour)
        for start in (40, 200, 400, 640, 900)
        for at, behaviour in ((start, Behaviour.OVERLOADED), (start + 70, Behaviour.OK))
    ),
)

SCENARIOS: Mapping[str, Scenario] = {
    scenario.name: scenario for scenario in (OUTAGE, BILLING, REVOKED_KEY, OVERLOAD, SUBSCRIPTION_RESET, FLAPPING, EVERYTHING_DOWN)
}
