"""Act safety with the engine's own record as the witness: the console on a real engine; its sessions, audit events and undo are what
is looked at, not the screen (field report M11)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from engine.domain.acts import Pin, SetOff
from engine.domain.ids import ProfileId, SessionKey
from tests.console.screenplay import Stage, on_stage
from tests.live.harness import Bench, chain, fails, keys, running, settings_of

TWO = settings_of(chain("acme/big", "zeta/std"))
KEYS = keys("acme:k1", "acme:k2", "zeta:k1")
MAIN = SessionKey("main")


@asynccontextmanager
async def console(bench: Bench, **options: Any) -> AsyncIterator[Stage]:
    async with on_stage(cast(Any, bench.engine), clock=bench.clock.now_ms, **options) as stage:
        yield stage


async def acts(bench: Bench) -> list[tuple[object, object, object]]:
    """The engine's audit events: act, by, ok."""
    return [(event["act"], event["by"], event["ok"]) for event in await bench.events_from() if event["event"] == "operator_act"]


async def at(stage: Stage, session: str) -> None:
    assert stage.app.live.sessions.table.move_to_key(session)
    await stage.settled()


async def test_a_row_that_moves_under_the_cursor_between_key_and_confirm_does_not_change_whom_it_hits():
    async with running(settings=TWO, credentials=KEYS) as bench:
        await bench.turn("main")
        await bench.turn("zz")
        was = {key: bench.session(key).session_id for key in ("main", "zz")}
        async with console(bench) as stage:
            await at(stage, "main")
            await stage.press("r")
            await bench.turn("aaa")
            bench.clock.advance(60)
            await bench.turn("zz")
            await stage.news()
            await stage.press("y")
        assert bench.session("main").session_id != was["main"]
        assert bench.session("zz").session_id == was["zz"]
        assert [(act, ok) for act, _, ok in await acts(bench)] == [("reset", True)]


async def test_a_row_that_vanishes_closes_the_dialog_and_the_engine_hears_nothing():
    async with running(settings=TWO, credentials=KEYS) as bench:
        await bench.turn("main")
        async with console(bench) as stage:
            await at(stage, "main")
            await stage.press("r")
            del bench.engine._parts.memory.sessions[MAIN]
            bench.engine._forget(MAIN)
            await stage.news()
            assert stage.app.screen is stage.app.live
            await stage.press("y", "enter")
        assert await acts(bench) == []
        assert MAIN not in bench.engine._parts.memory.sessions


@pytest.mark.parametrize("key", ["r", "f", "d", "b"])
async def test_enter_right_after_a_destructive_key_does_nothing(key: str):
    async with running(settings=TWO, credentials=KEYS) as bench:
        bench.upstream.on("acme/big", fails(503))
        await bench.turn("main")
        before, calls = bench.session("main"), len(bench.upstream.calls)
        async with console(bench) as stage:
            await at(stage, "main")
            await stage.burst(key, "enter", "enter", "enter")
        assert await acts(bench) == []
        assert bench.session("main") == before
        assert bench.engine._parts.memory.off == {}
        assert len(bench.upstream.calls) == calls


async def test_read_only_is_the_engines_refusal_and_not_only_the_views():
    async with running(settings=TWO, credentials=KEYS, read_only=True) as bench:
        await bench.turn("main")
        before = bench.session("main")
        async with console(bench) as stage:
            await at(stage, "main")
            await stage.press("p", "r", "d", "b", "o")
            assert stage.app.screen is stage.app.live
            # A console that does not know better is refused as well.
            stage.app.acting.send(Pin(MAIN, ProfileId("acme:k2")), "pin", sure=True)
            stage.app.acting.send(SetOff("acme"), "off", sure=True)
            await stage.settled()
            assert any("read-only (--read-only): nothing was changed" in toast for toast in stage.toasts())
        assert bench.session("main") == before
        assert bench.engine._parts.memory.off == {}


async def test_undo_after_somebody_else_changed_the_field_is_refused_and_their_value_stays():
    async with running(settings=TWO, credentials=KEYS) as bench:
        await bench.turn("main")
        async with console(bench) as stage:
            await at(stage, "main")
            await stage.press("p")
            await stage.type("k1")
            await stage.press("enter")
            assert bench.session("main").pinned_by == "tester"
            await bench.act(Pin(MAIN, ProfileId("acme:k2"), "mine now"), by="ana (pts/9)")
            await stage.press("u")
            assert bench.session("main").auth_profile_override == "acme:k2"
            assert bench.session("main").pinned_by == "ana (pts/9)"
        assert [(act, by, ok) for act, by, ok in await acts(bench)] == [
            ("pin", "tester", True),
            ("pin", "ana (pts/9)", True),
            ("undo", "tester", False),
        ]


async def test_what_d_says_it_moves_is_what_then_moves_and_u_brings_it_back():
    async with running(settings=TWO, credentials=keys("acme:k1", "zeta:k1")) as bench:
        await bench.turn("main")
        async with console(bench) as stage:
            await at(stage, "main")
            await stage.press("2", "d")
            await stage.type("acme:k1")
            await stage.press("enter")
            assert "Moves 1 session:" in stage.text()
            assert "zeta/std with zeta:k1" in stage.text()
            await stage.press("y")
            assert set(bench.engine._parts.memory.off) == {"acme:k1"}
            assert str((await bench.turn("main")).active) == "zeta/std"
            await stage.press("u")
            assert bench.engine._parts.memory.off == {}
