"""The snapshot: one object until something changes, rows by the rules' own selection, state words of the rules."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from engine.domain.acts import Pin, SelectModel, SetOff
from engine.domain.credentials import Credential, OAuth, Token
from engine.domain.ids import AgentId, ProfileId, SessionKey
from engine.domain.snapshot import SessionView
from engine.domain.turns import RunKind
from tests.live.harness import T0, Bench, answering, chain, fails, keys, running, settings_of, waits

TWO = settings_of(chain("acme/big", "zeta/std"))


async def row(bench: Bench, key: str = "main") -> SessionView:
    return next(view for view in (await bench.engine.snapshot()).sessions if view.key == key)


async def test_the_snapshot_is_the_same_object_until_something_changes():
    async with running() as bench:
        first = await bench.engine.snapshot()
        assert await bench.engine.snapshot() is first
        await bench.turn()
        second = await bench.engine.snapshot()
        assert second.revision > first.revision
        assert await bench.engine.snapshot() is second


async def test_its_now_goes_on_where_nothing_happens_so_that_countdowns_do_not_stand_still():
    async with running() as bench:
        first = await bench.engine.snapshot()
        bench.clock.advance(30)
        second = await bench.engine.snapshot()
        assert second.now - first.now == 30_000
        assert second.revision == first.revision
        assert second.sessions is first.sessions


async def test_only_the_rows_that_changed_are_made_anew():
    async with running() as bench:
        for key in "abc":
            await bench.turn(key)
        before = {str(view.key): view for view in (await bench.engine.snapshot()).sessions}
        await bench.turn("b")
        after = {str(view.key): view for view in (await bench.engine.snapshot()).sessions}
        assert after["a"] is before["a"]
        assert after["c"] is before["c"]
        assert after["b"] is not before["b"]


async def test_selected_and_active_differ_on_a_fallback_with_reason_and_since():
    """G03"""
    async with running(TWO) as bench:
        bench.upstream.on("acme/big", fails(503))
        await bench.turn()
        view = await row(bench)
        assert (view.selected, view.active, view.source, view.on_fallback) == ("acme/big", "zeta/std", "auto", True)
        assert (view.since, view.profile, view.pin_source) == (T0, "zeta:k1", "auto")
        assert view.reason is not None
        assert view.reason.startswith("timeout")
        assert (view.last_outcome, view.last_activity) == ("ok", T0)


async def test_a_turn_in_flight_says_whether_it_can_still_fail_over():
    async with running() as bench:
        gate = asyncio.Event()

        async def unending() -> AsyncIterator[bytes]:
            yield b"hello"
            await asyncio.Event().wait()

        bench.upstream.on("acme/big", waits(gate, answering(unending)))
        turn = bench.begin()
        await bench.upstream.called(1)
        (flying,) = (await row(bench)).in_flight
        assert (flying.ref, flying.profile, flying.attempts, flying.committed) == ("acme/big", "acme:k1", 1, False)
        gate.set()
        await turn.answer()
        assert (await row(bench)).in_flight[0].committed
        assert (await bench.engine.snapshot()).traffic.in_flight == 1
        turn.cancel()
        await turn.result()
        assert (await row(bench)).in_flight == ()


async def test_sources_are_told_in_words():
    async with running(TWO) as bench:
        await bench.turn("plain")
        await bench.turn("job", kind=RunKind.CRON, cron_model=(TWO.model.fallbacks or ())[0])
        await bench.act(SelectModel(SessionKey("mine"), "zeta/std"))
        assert (await row(bench, "plain")).source == "default"
        assert [(v.source, v.active) for v in [await row(bench, "job")]] == [("cron", "zeta/std")]
        assert [(v.source, v.selected, v.strict) for v in [await row(bench, "mine")]] == [("user", "zeta/std", True)]


async def test_a_pin_shows_who_set_it_and_the_profile_who_uses_it():
    async with running() as bench:
        await bench.act(Pin(SessionKey("main"), ProfileId("acme:k2"), reason="mine", until=T0 + 60_000), by="ann")
        view = await row(bench)
        assert (view.pin_source, view.pinned_by, view.pin_reason, view.pin_until) == ("user", "ann", "mine", T0 + 60_000)
        used = {str(p.profile): p.used_by for p in (await bench.engine.snapshot()).profiles}
        assert used["acme:k2"] == ("main",)
        assert used["acme:k1"] == ()


async def test_profiles_show_their_windows_with_step_and_since():
    async with running(settings_of(chain("acme/big")), credentials=keys("acme:k1")) as bench:
        bench.upstream.on("acme/big", fails(429))
        await bench.turn()
        await bench.engine.tick()
        (view,) = (await bench.engine.snapshot()).profiles
        assert (str(view.state), view.error_count, view.last_failure_at) == ("cooldown", 1, T0)
        assert view.window is not None
        assert (view.window.until, view.window.reason, view.window.model, view.window.step) == (T0 + 30_000, "rate_limit", "big", 1)
        assert view.window.since == T0


async def test_an_expired_login_that_can_be_refreshed_says_so():
    """G05"""
    credentials: dict[ProfileId, Credential] = {
        ProfileId("acme:o1"): OAuth("acme", access="aaaaaaaa", refresh="rrrrrrrr", expires=T0 - 1),
        ProfileId("acme:t1"): Token("acme", token="tttttttt", expires=T0 - 1),
    }
    async with running(credentials=credentials) as bench:
        shown = {v.profile: (str(v.state), v.detail) for v in (await bench.engine.snapshot()).profiles}
        assert shown == {"acme:o1": ("expired", "refreshable"), "acme:t1": ("expired", None)}


async def test_derived_sessions_are_one_row_a_caller_and_are_not_stored():
    async with running(TWO) as bench:
        bench.upstream.on("acme/big", fails(503))
        for number in range(3):
            turn = bench.engine.begin(bench.request(f"hash-{number}"), bench.payload, derived_for="curl")
            await turn.answer()
            [chunk async for chunk in turn.chunks()]
            await turn.result()
        views = (await bench.engine.snapshot()).sessions
        assert [(v.key, v.derived, v.active) for v in views] == [("curl", True, "zeta/std")]
        assert {event["caller"] for event in await bench.events_from() if event.get("session")} == {"curl"}
        assert (await bench.engine.preview(SessionKey("curl"))).session == "hash-2"
        assert (await bench.store.open()).sessions == {}
        bench.clock.advance(3601)
        await bench.engine.tick()
        assert (await bench.engine.snapshot()).sessions == ()
        assert bench.engine._parts.memory.sessions == {}


async def test_the_feed_keeps_its_newest_500_lines_in_order():
    async with running() as bench:
        for number in range(600):
            bench.engine._parts.feed.say("info", "test", f"line {number}")
        feed = (await bench.engine.snapshot()).feed
        assert len(feed) == 500
        assert feed[-1].text == "line 599"
        assert [line.seq for line in feed] == list(range(feed[0].seq, feed[0].seq + 500))


async def test_ready_is_false_when_no_profile_of_the_chain_can_be_used_and_an_alarm_says_so():
    async with running(settings_of(chain("acme/big")), credentials=keys("acme:k1")) as bench:
        assert bench.engine.ready
        await bench.act(SetOff("acme:k1"))
        assert not bench.engine.ready
        await bench.engine.tick()
        assert any("everything is down" in text for text in (await bench.engine.snapshot()).alarms)


async def test_a_strict_pin_without_a_usable_profile_is_an_alarm():
    async with running(TWO) as bench:
        await bench.act(Pin(SessionKey("main"), ProfileId("acme:k2")))
        await bench.act(SetOff("acme:k2"))
        await bench.engine.tick()
        assert (await bench.engine.snapshot()).alarms == ("main is pinned to acme:k2, which is off",)


async def test_models_are_those_that_the_configuration_names():
    async with running() as bench:
        assert (await bench.engine.snapshot()).models == ("acme/big", "acme/small", "zeta/std")


async def test_preview_is_of_the_sessions_own_kind_of_turn():
    agents = {"defaults": {"model": "acme/big"}, "list": [{"id": "ops", "model": "zeta/std"}]}
    async with running(settings_of(chain("acme/big", agents=agents))) as bench:
        await bench.turn("o", agent=AgentId("ops"))
        assert (await bench.engine.preview(SessionKey("o"))).next_ref == "zeta/std"
        named = await bench.engine.preview(SessionKey("x#zeta/std"))
        assert (named.next_ref, named.selection) == ("zeta/std", "selection.requested")


async def test_traffic_counts_the_last_minute():
    async with running(settings_of(chain("acme/big"))) as bench:
        await bench.turn("a")
        bench.upstream.on("acme/big", fails(500))
        await bench.turn("b")
        traffic = (await bench.engine.snapshot()).traffic
        assert (traffic.turns_total, traffic.errors, traffic.ok_share) == (2, 1, 0.5)
        assert traffic.p50_ms is not None
