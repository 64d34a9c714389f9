"""Killed (SIGKILL) before and after each write of a fallback turn, started again, compared: nothing stuck, nothing lost, no false notice
(`override.crash-safe`, `override.persist-first`, `notice.fallback`, `window.clamp`)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.domain.ids import MAIN_AGENT, SessionKey
from engine.domain.store import Stored
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from tests.live.harness import T0, ScriptedUpstream, StillClock, fails, ok, running
from tests.live.killed import SETTINGS

ROOT = Path(__file__).parents[2]
DESK = SessionKey("desk")
FALLBACK = "↪️ Model Fallback: zeta/std (selected acme/big; rate limit)"
CLEARED = "↪️ Model Fallback cleared: acme/big (was zeta/std)"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One state directory for each place at which the process died, and for the two turns that came to their end."""
    base = tmp_path_factory.mktemp("killed")
    done = subprocess.run([sys.executable, "-m", "tests.live.killed", str(base)], cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    found = sorted(base.iterdir())
    assert len(found) >= 10, "a fallback turn writes at least its override, its window and its answer"
    return found


def said(place: Path) -> dict[str, Any]:
    """What the process had done for others to see before it died."""
    file = place / "said.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    notices = [notice for line in lines for notice in line.get("notices", ())]
    return {
        "calls": [line["called"] for line in lines if "called" in line],
        "answered": any("answered" in x for x in lines),
        "told": notices,
    }


async def stored(place: Path) -> Stored:
    store = SqliteStore(StateDirectory(place / "state"))
    try:
        return await store.open()
    finally:
        await store.close()


async def test_what_others_have_seen_was_durable_before_override_crash_safe_override_persist_first(places: list[Path]) -> None:
    """E01: nothing lost: the fallback was called with its override and the window stored, and answered with its notice stored."""
    for place in places:
        seen, kept = said(place), await stored(place)
        session = kept.sessions.get(DESK)
        usage = kept.agents[MAIN_AGENT].usage
        assert set(kept.agents[MAIN_AGENT].credentials) == {"acme:k1", "zeta:k1"}
        if "zeta/std" in seen["calls"]:
            assert session is not None, place.name
            assert (str(session.override), session.model_override_source, str(session.origin)) == ("zeta/std", "auto", "acme/big")
            assert usage["acme:k1"].model_cooldowns["big"].until == T0 + 30_000, place.name  # type: ignore[index]
        if seen["answered"]:
            assert session is not None
            assert (session.fallback_notice_active_model, session.auth_profile_override) == ("zeta/std", "zeta:k1"), place.name
            assert seen["told"] == [FALLBACK]


async def test_the_next_turn_is_served_and_tells_what_is_not_known_yet_override_crash_safe_notice_fallback(places: list[Path]) -> None:
    """G02: nothing stuck, no notice twice, none of a recovery that was no news."""
    for place in places:
        told = list(said(place)["told"])
        session = (await stored(place)).sessions.get(DESK)
        # Stored before the answer's first byte, so a notice is told at most once: who died in between has not told it, and the
        # status shows the fallback all the same.
        already = session is not None and session.fallback_notice_active_model == "zeta/std"
        clock, upstream = StillClock(T0 + 1_000), ScriptedUpstream()
        upstream.on("acme/big", fails(429, "slow down"), ok())
        upstream.on("zeta/std", ok())
        store = SqliteStore(StateDirectory(place / "state"))
        async with running(SETTINGS, store=store, upstream=upstream, clock=clock) as bench:
            result = await bench.turn("desk")
            assert (str(result.outcome), str(result.active)) == ("ok", "zeta/std"), place.name
            told += result.notices
            if not (already and not told):
                assert told in ([FALLBACK], [FALLBACK.replace("rate limit", "selected model unavailable")]), (place.name, told)
            again = await bench.turn("desk")
            assert (str(again.active), again.notices) == ("zeta/std", ()), place.name
            clock.advance(600)
            upstream.on("acme/big", ok())
            back = await bench.turn("desk")
            assert (str(back.active), back.notices) == ("acme/big", (CLEARED,)), place.name
            assert bench.session("desk").override is None
            assert (await bench.turn("desk")).notices == ()
            assert bench.usage("acme:k1").model_cooldowns == {}
            assert bench.engine._parts.memory.trials == {}
