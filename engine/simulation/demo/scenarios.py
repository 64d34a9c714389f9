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

SCENARIOS: Mapping[str, Scenario] = {scenario.name: scenario for scenario in (OUTAGE, BILLING, EVERYTHING_DOWN)}
