"""The demo's director: the script's own clock, and what is broken or healed by hand."""

from __future__ import annotations

import pytest

from engine.simulation.demo.director import BY_HAND, BY_SCRIPT, Director
from engine.simulation.demo.scenarios import SCENARIOS
from engine.simulation.demo.script import Behaviour

OPUS, ME = ("anthropic", "claude-opus-4-8"), "anthropic:me"


class Hands:
    def __init__(self, scenario: str = "outage") -> None:
        self.now = 1_000_000
        self.director = Director(SCENARIOS[scenario], lambda: self.now)
        self.director.begin()

    def wait(self, seconds: float) -> None:
        self.now += round(seconds * 1000)

    def opus(self, profile: str = ME) -> str:
        step = self.director.judge(*OPUS, profile)
        return step.behaviour if step is not None else "ok"


def test_seven_scenarios_are_there():
    assert list(SCENARIOS) == [
        "outage",
        "billing",
        "revoked-key",
        "overload",
        "subscription-reset",
        "flapping",
        "everything-down",
    ]


def test_pausing_keeps_what_is_broken_broken_and_goes_on_from_there():
    hands = Hands()
    hands.wait(41)
    assert hands.opus() == "rate_limit"
    hands.director.pause()
    hands.wait(10_000)
    assert hands.opus() == "rate_limit"
    assert hands.director.place().paused
    assert hands.director.place().place_s == 41
    hands.director.pause()
    hands.wait(260)
    assert hands.opus() == "ok"


@pytest.mark.parametrize("paused", [False, True])
def test_a_step_goes_on_to_the_next_of_the_script(paused: bool):
    hands = Hands()
    if paused:
        hands.director.pause()
    found = [hands.opus()]
    for _ in range(5):
        hands.director.step()
        found.append(hands.opus())
    assert found == ["ok", "rate_limit", "rate_limit", "overloaded", "ok", "ok"]
    assert hands.director.place().round == 2


def test_a_restart_begins_the_script_anew_and_leaves_what_hands_did():
    hands = Hands()
    hands.director.set("google", Behaviour.BILLING)
    hands.wait(200)
    hands.director.restart()
    assert hands.opus() == "ok"
    assert hands.director.judge("google", "gemini-3-pro", "google:team") is not None


def test_the_hand_wins_over_the_script_until_it_lets_go_and_its_latest_word_counts():
    hands = Hands()
    hands.wait(100)
    hands.director.set("anthropic", Behaviour.OK)
    assert hands.opus() == "ok"
    hands.director.set(ME, Behaviour.REVOKED)
    assert (hands.opus(), hands.opus("anthropic:backup")) == ("revoked", "ok")
    hands.director.release(ME)
    assert hands.opus() == "ok"
    hands.director.release()
    assert hands.opus() == "rate_limit"


def test_the_states_say_who_broke_what_and_whether_all_of_it():
    hands = Hands()
    hands.wait(41)
    hands.director.set("openai/gpt-5.5", Behaviour.HANGS)
    states = {state.target: state for state in hands.director.states()}
    told = {name: (states[name].behaviour, states[name].partly, states[name].source) for name in ("anthropic", "openai/gpt-5.5")}
    assert told == {"anthropic": ("rate_limit", True, BY_SCRIPT), "openai/gpt-5.5": ("hangs", False, BY_HAND)}
    assert states["google"].behaviour == "ok"


def test_before_it_begins_all_is_well_and_directing_does_nothing():
    director = Director(SCENARIOS["outage"], lambda: 10**9)
    director.pause()
    director.step()
    assert director.judge(*OPUS, ME) is None
    assert not director.place().paused
