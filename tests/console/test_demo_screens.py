"""The demo's fault panel and its tour, on the fixed engine: keys in, what the director was told out."""

from __future__ import annotations

from dataclasses import replace

from console.around import Around
from console.view.tour import STOPS, Tour
from engine.simulation.demo.director import Director
from engine.simulation.demo.scenarios import SCENARIOS
from tests.console.fake import FEED, NOW, PROFILES, SNAPSHOT, FakeOperations, profile, session
from tests.console.screenplay import on_stage


class Clock:
    now = 1_000_000


def director() -> Director:
    made = Director(SCENARIOS["outage"], lambda: Clock.now)
    made.begin()
    return made


async def test_the_fault_panel_breaks_and_heals_by_hand_and_the_script_follows_its_keys():
    directed = director()
    async with on_stage(keys=("!",), around=Around(director=directed)) as stage:
        assert "script outage  running  0s of 900s" in stage.text()
        await stage.press("j", "b")
        assert "What anthropic:me does from now on" in stage.text()
        await stage.type("revoked")
        await stage.press("enter")
        step = directed.judge("anthropic", "claude-opus-4-8", "anthropic:me")
        assert step is not None
        assert step.behaviour == "revoked"
        assert "✗ revoked  by hand" in stage.text()
        await stage.press("h")
        assert directed.judge("anthropic", "claude-opus-4-8", "anthropic:me") is None
        assert "held well by hand" in stage.text()
        await stage.press("a", "p")
        assert "PAUSED" in stage.text()
        await stage.press("n")
        assert "40s of 900s" in stage.text()
        await stage.press("R")
        assert "running  0s of 900s" in stage.text()
        await stage.press("escape")
        assert stage.app.screen is stage.app.live
        assert stage.acts == []


async def test_keys_of_the_fault_panel_that_arrive_at_once_hit_the_row_that_they_were_meant_for():
    async with on_stage(keys=("!",), around=Around(director=director())) as stage:
        await stage.burst("j", "j", "b")
        assert "What anthropic:backup does from now on" in stage.text()


async def test_without_a_demo_there_is_no_fault_panel_and_no_tour_and_the_keys_say_so():
    async with on_stage(keys=("!", ".")) as stage:
        toasts = " ".join(stage.toasts())
        assert "belongs to `failover demo`" in toasts
        assert "failover demo --tour" in toasts


async def test_the_tour_shows_a_stop_when_its_moment_has_come_and_goes_on_by_its_key():
    calm = replace(SNAPSHOT, sessions=(session("main"),), profiles=(profile("a:1"),), feed=FEED[:1])
    operations = FakeOperations(calm)
    async with on_stage(operations, around=Around(tour=True)) as stage:
        assert "TOUR 1/8" in stage.text()
        await stage.press(".", ".")
        assert "TOUR 3/8  waiting for the script" in stage.text()
        operations.publish(profiles=PROFILES)
        await stage.news()
        assert "A key is resting now" in stage.text()
        await stage.press(*["."] * 6)
        assert "TOUR" not in stage.text()
        assert not any("failover demo --tour" in toast for toast in stage.toasts())


def test_every_stop_of_the_tour_names_keys_that_exist():
    tour = Tour()
    for _ in STOPS:
        assert not tour.over
        tour.go_on()
    assert tour.over
    assert NOW
