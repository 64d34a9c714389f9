"""What ends, changes or breaks by itself is seen and told, by one ticker."""

from __future__ import annotations

from pathlib import Path

from engine.domain.acts import Clear, Pin
from engine.domain.ids import MAIN_AGENT, ProfileId, SessionKey
from engine.domain.store import PatchSession, PutCredential
from engine.live.writer import CALM_S
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from tests.live.harness import T0, Bench, Held, chain, fails, keys, names, ok, running, settings_of, stored_with, until

MAIN = SessionKey("main")
ONE = settings_of(chain("acme/big"))


async def test_a_window_that_ends_is_told_once_and_its_record_stays_for_the_trial():
    async with running(ONE, credentials=keys("acme:k1")) as bench:
        bench.upstream.on("acme/big", fails(429))
        await bench.turn()
        await bench.engine.tick()
        bench.clock.advance(29)
        await bench.engine.tick()
        assert "window_closed" not in names(await bench.events_from())
        bench.clock.advance(1)
        await bench.engine.tick()
        await bench.engine.tick()
        closed = [event for event in await bench.events_from() if event["event"] == "window_closed"]
        assert [(e["profile"], e["model"], e["reason"], e["cause"]) for e in closed] == [("acme:k1", "big", "rate_limit", "ended")]
        assert bench.usage("acme:k1").model_cooldowns["big"].until == T0 + 30_000
        assert str((await bench.engine.snapshot()).profiles[0].state) == "ready"


async def test_a_window_that_ended_unseen_is_told_all_the_same():
    async with running(ONE, credentials=keys("acme:k1")) as bench:
        bench.upstream.on("acme/big", fails(429), ok())
        await bench.turn()
        await bench.engine.tick()
        bench.clock.advance(31)
        await bench.turn()
        await bench.engine.tick()
        closed = [event for event in await bench.events_from() if event["event"] == "window_closed"]
        # It had ended before the trial cleared it, although nobody had looked yet.
        assert [event["cause"] for event in closed] == ["ended"]


async def test_a_window_that_an_operator_clears_is_told_once():
    async with running(ONE, credentials=keys("acme:k1")) as bench:
        bench.upstream.on("acme/big", fails(429))
        await bench.turn()
        await bench.act(Clear(ProfileId("acme:k1")))
        bench.clock.advance(31)
        await bench.engine.tick()
        closed = [event for event in await bench.events_from() if event["event"] == "window_closed"]
        assert [event["cause"] for event in closed] == ["cleared"]


async def test_a_ticker_announces_an_end_without_being_asked():
    async with running(ONE, credentials=keys("acme:k1"), ticking=True) as bench:
        bench.upstream.on("acme/big", fails(429))
        await bench.turn()
        events = bench.engine.events(0)
        bench.clock.advance(30)
        assert (await until(events, "window_closed"))["profile"] == "acme:k1"


async def test_an_expired_pin_ends_with_a_line_in_the_feed():
    async with running() as bench:
        await bench.act(Pin(MAIN, ProfileId("acme:k2"), until=T0 + 60_000))
        bench.clock.advance(59)
        await bench.engine.tick()
        assert bench.session().auth_profile_override == "acme:k2"
        bench.clock.advance(1)
        await bench.engine.tick()
        session = bench.session()
        assert (session.auth_profile_override, session.pinned_by, session.pin_until) == (None, None, None)
        assert "main: the pin to acme:k2 has ended" in [line.text for line in (await bench.engine.snapshot()).feed]
        assert (await bench.store.open()).sessions[MAIN].pinned_by is None


async def test_a_later_pin_outlives_the_end_of_the_earlier_one():
    async with running() as bench:
        await bench.act(Pin(MAIN, ProfileId("acme:k1"), until=T0 + 60_000))
        await bench.act(Pin(MAIN, ProfileId("acme:k2"), until=T0 + 120_000))
        bench.clock.advance(61)
        await bench.engine.tick()
        assert bench.session().auth_profile_override == "acme:k2"


async def test_store_trouble_is_an_alarm_that_ends_by_itself():
    store, real_s = Held(await stored_with(keys("acme:k1"))), [0.0]
    async with running(ONE, store=store, monotonic=lambda: real_s[0]) as bench:
        store.broken = "failover.sqlite: the disk is full."
        await bench.engine.tick()
        assert "the disk is full" in (await bench.engine.snapshot()).alarms[0]
        await bench.engine.tick()
        store.broken = None
        real_s[0] += CALM_S
        await bench.engine.tick()
        assert (await bench.engine.snapshot()).alarms == ()
        assert names(await bench.events_from()) == ["alarm", "alarm_cleared"]


async def test_a_disk_that_fails_and_works_by_turns_is_one_alarm():
    """With room for small writes, and for no large one."""
    store, real_s = Held(await stored_with(keys("acme:k1"))), [0.0]
    async with running(ONE, store=store, monotonic=lambda: real_s[0]) as bench:
        for turn in range(5):
            store.broken = f"file {turn} cannot grow."
            await bench.engine.tick()
            assert f"file {turn} cannot grow" in (await bench.engine.snapshot()).alarms[0]
            store.broken = None
            real_s[0] += CALM_S / 2
            await bench.engine.tick()
        assert names(await bench.events_from()) == ["alarm"]
        real_s[0] += CALM_S / 2
        await bench.engine.tick()
        assert names(await bench.events_from()) == ["alarm", "alarm_cleared"]


async def test_window_clock_two_clocks_apart_for_a_minute_are_an_alarm():
    async with running() as bench:
        bench.clock.wall_offset = 3_600_000
        for _ in range(4):
            await bench.engine.tick()
        assert bench.engine._parts.wall() == T0
        bench.clock.advance(60)
        for _ in range(4):
            await bench.engine.tick()
        assert "3600 s ahead" in (await bench.engine.snapshot()).alarms[0]
        assert bench.engine._parts.wall() == T0 + 60_000 + 3_600_000
        bench.clock.wall_offset = 0
        for _ in range(4):
            await bench.engine.tick()
        assert (await bench.engine.snapshot()).alarms == ()


async def settled(bench: Bench) -> None:
    """What another process committed is noticed at the next look."""
    await bench.engine.tick()


async def test_what_another_process_writes_is_taken_over_and_told(tmp_path: Path):
    """E18: an edit from outside survives, and counts at once."""
    store = await stored_with(keys("acme:k1"), SqliteStore(StateDirectory(tmp_path)))
    other = SqliteStore(StateDirectory(tmp_path))
    async with running(ONE, store=store) as bench:
        try:
            await other.open()
            await bench.turn()
            pin = {"auth_profile_override": ProfileId("acme:k3"), "auth_profile_override_source": "user", "pinned_by": "elsewhere"}
            await other.commit(
                [
                    PutCredential(MAIN_AGENT, ProfileId("acme:k3"), keys("acme:k3")[ProfileId("acme:k3")]),
                    PatchSession(MAIN, pin),
                ]
            )
            await settled(bench)
            assert "acme:k3" in [view.profile for view in (await bench.engine.snapshot()).profiles]
            assert "pin_set" in names(await bench.events_from())
            await bench.turn()
            assert bench.upstream.keys()[-1] == "acme/big@acme:k3"
            assert bench.usage("acme:k1").last_used == T0
        finally:
            await other.close()
