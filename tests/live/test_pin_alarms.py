"""The alarm about a strict pin is for a pin that binds the next turn and cannot be used: one that has no effect now is nobody's alarm."""

from __future__ import annotations

from engine.domain.acts import Pin, SelectModel, SetOff
from engine.domain.ids import ProfileId, SessionKey
from tests.live.harness import Bench, chain, fails, keys, running, settings_of

MAIN = SessionKey("main")
TWO = settings_of(chain("acme/big", "zeta/std"))


async def alarms(bench: Bench) -> tuple[str, ...]:
    await bench.engine.tick()
    return (await bench.engine.snapshot()).alarms


async def test_a_pin_of_a_provider_that_is_not_in_the_sessions_chain_is_no_alarm():
    async with running(TWO) as bench:
        await bench.act(Pin(MAIN, ProfileId("zeta:k1")))
        await bench.act(SetOff("zeta:k1"))
        assert await alarms(bench) == ("main is pinned to zeta:k1, which is off",)
        # A selected model is strict: no other candidate, so nothing of zeta is left in the chain.
        await bench.act(SelectModel(MAIN, "acme/big"))
        await bench.act(Pin(MAIN, ProfileId("zeta:k1")))
        assert await alarms(bench) == ()


async def test_a_pin_that_has_ended_is_no_alarm():
    async with running(TWO) as bench:
        await bench.act(Pin(MAIN, ProfileId("acme:k2"), until=bench.clock.now + 60_000))
        await bench.act(SetOff("acme:k2"))
        assert await alarms(bench) == ("main is pinned to acme:k2, which is off",)
        bench.clock.advance(61)
        assert await alarms(bench) == ()


async def test_a_pin_under_a_provider_that_is_off_altogether_is_no_alarm_of_its_own():
    async with running(TWO) as bench:
        await bench.act(Pin(MAIN, ProfileId("acme:k2")))
        await bench.act(SetOff("acme:k2"))
        await bench.act(SetOff("acme"))
        assert await alarms(bench) == ()


async def test_a_pin_whose_window_is_of_a_model_that_this_session_does_not_use_is_no_alarm():
    settings = settings_of(chain("acme/big", "acme/small"))
    async with running(settings, credentials=keys("acme:k1")) as bench:
        bench.upstream.on("acme/big", fails(429))
        await bench.turn("other")
        await bench.act(Pin(MAIN, ProfileId("acme:k1")))
        # The window is of acme/big alone: acme/small still goes with the pin.
        assert await alarms(bench) == ()
