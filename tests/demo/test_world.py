"""The demo's providers and clients over real loopback HTTP."""

from __future__ import annotations

import httpx
import pytest

from engine.simulation.demo.cast import KEYS
from engine.simulation.demo.script import Behaviour, Scenario, Step
from engine.simulation.demo.world import DemoWorld

SCRIPT = Scenario("test", "", 100, (Step(10, "anthropic", Behaviour.RATE_LIMIT, retry_after_s=30),))
AUTH = {"authorization": f"Bearer {KEYS['anthropic:me']}"}  # type: ignore[index]


class StillClock:
    def __init__(self) -> None:
        self.now = 1_000_000

    def now_ms(self) -> int:
        return self.now

    def wall_ms(self) -> int:
        return self.now


@pytest.fixture
def clock():
    return StillClock()


@pytest.fixture
def world(clock):
    found = DemoWorld(SCRIPT, clock)
    try:
        yield found
    finally:
        found.stop()


def call(url: str, **body: object) -> httpx.Response:
    asked = {"model": "claude-opus-4-8", "messages": [], **body}
    return httpx.post(f"{url}/chat/completions", json=asked, headers=AUTH, trust_env=False)


def test_a_provider_answers_until_the_script_says_otherwise(world, clock):
    url = world.start()["anthropic"]
    clock.now += 50_000
    assert call(url).json()["choices"][0]["message"]["content"].startswith("Certainly.")
    world.begin("http://127.0.0.1:1")
    assert call(url).status_code == 200
    clock.now += 10_000
    refused = call(url)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")


def test_a_stream_ends_as_chat_completions_do(world):
    answer = call(world.start()["anthropic"], stream=True)
    assert answer.text.endswith("data: [DONE]\n\n")
    assert '"content": "Certainly. "' in answer.text


def test_an_unknown_key_or_model_is_refused(world):
    url = world.start()["anthropic"]
    assert call(url, model="gpt-1").status_code == 404
    assert httpx.post(f"{url}/chat/completions", json={"model": "x"}, trust_env=False).status_code == 401


def test_stopping_twice_is_quiet(world):
    world.start()
    world.stop()
    world.stop()
