"""What opens on a row: waterfalls, fields with who wrote them, a profile's history; the capacity of the next hour; copies."""

from __future__ import annotations

from dataclasses import replace

from console.view import capacity, waterfall
from console.view.frame import Frame
from console.view.lines import plain
from console.view.look import Look
from engine.domain.foresight import AttemptView, SessionDetail, TurnRecord
from engine.domain.ids import ProfileId, SessionKey
from engine.domain.snapshot import ProfileState, WindowView
from tests.console.fake import NOW, PROFILES, SNAPSHOT, FakeOperations, profile
from tests.console.screenplay import on_stage

FRAME = Frame(SNAPSHOT, NOW, Look(utc=True))
MINUTE = 60_000


async def test_a_sessions_detail_shows_its_turns_as_waterfalls_and_who_wrote_which_field():
    async with on_stage(size=(160, 80), keys=("j", "j", "enter")) as stage:
        text = stage.text()
        for words in ("Turns, newest first", "412ms", "failed 429 rate_limit", "too many requests", "turn t-81e0", "Next turn"):
            assert words in text
        assert "by override.persist-first turn t-81e0 14:00:43" in text
        assert "by ana@ops1 (pin)" in text
        lines = [line for line in stage.lines() if "▰" in line]
        first = next(line for line in lines if "anthropic/claude-opus-4-8 anthropic:me" in line)
        second = next(line for line in lines if "openai/gpt-5.5 openai:work" in line)
        assert first.index("▰") < second.index("▰")
        assert first.count("▰") < second.count("▰")


def test_a_waterfall_fits_any_width_and_keeps_each_attempt_visible():
    attempts = tuple(AttemptView("p/" + "m" * 90, ProfileId("p:k"), "failed", n * 1_000, 1) for n in range(5))
    turn = TurnRecord("t", SessionKey("s"), NOW, 5_000, "failed", "p/m", None, attempts)
    for cells in (20, 60, 80, 200):
        drawn = [plain(line) for line in waterfall.one(turn, FRAME, cells)]
        assert sum("▰" in line for line in drawn) == 5
    assert waterfall.draw(SessionDetail(SessionKey("s")), FRAME, 80)
    nothing = TurnRecord("t", SessionKey("s"), NOW, 0, "failed", "p/m", None, ())
    assert "no call was made" in plain(waterfall.one(nothing, FRAME, 80)[-1])


async def test_a_profiles_detail_shows_its_windows_its_users_and_its_history():
    async with on_stage(keys=("2", "j", "j", "enter")) as stage:
        assert "Profile · anthropic:me" in stage.text()
        words = (
            "only anthropic/claude-opus-4-8",
            "Used by 2 sessions",
            "History, newest first",
            "started anthropic:me cooldown 1m rate_limit",
        )
        assert [word for word in words if word not in stage.text()] == []


async def test_a_notices_detail_shows_the_turn_it_came_from_with_the_providers_words():
    async with on_stage(keys=("3", "k", "enter")) as stage:
        assert "The turn it came from" in stage.text()
        assert "rule gate.open" in stage.text()


async def test_y_upper_copies_the_whole_detail_masked_and_harmless(tmp_path):
    """Field report M07."""
    file = tmp_path / "copied"
    async with on_stage(keys=("j", "j", "Y"), copy_file=file) as stage:
        await stage.settled()
        copied = file.read_text()
        assert "session         support-bot" in copied
        assert "412ms" in copied
        assert any("lines" in toast for toast in stage.toasts())
        await stage.press("e", "Y")
        assert file.read_text().startswith("Why · support-bot")


def test_capacity_counts_the_profiles_without_a_window_every_five_minutes():
    window = WindowView(ProfileState.COOLDOWN, NOW + 12 * MINUTE, "rate_limit")
    two = (profile("a:1", ProfileState.COOLDOWN, window), profile("a:2"), profile("b:1", ProfileState.OFF), profile("b:2"))
    found = capacity.shares(two, NOW)
    assert found["a"] == ((1, 1, 1, *[2] * 9), 2)
    assert found["b"] == ((1,) * 12, 2)


def test_the_forecast_names_the_worst_first_drops_whole_providers_and_has_a_seven_bit_form():
    line = plain(capacity.draw(PROFILES, FRAME, 100))
    assert line.startswith("capacity next 60 min  anthropic ▁")
    assert "0/2 free" in line
    narrow = plain(capacity.draw(PROFILES, FRAME, 50))
    assert "anthropic" in narrow
    assert len(narrow) <= 50
    assert plain(capacity.draw(PROFILES, Frame(SNAPSHOT, NOW, Look(ascii_only=True)), 100)).isascii()


async def test_the_forecast_is_shown_where_there_is_room_and_nowhere_else():
    async with on_stage() as stage:
        assert "capacity next 60 min" in stage.text()
    async with on_stage(size=(80, 24), keys=("2",)) as stage:
        assert "next 60 min" not in stage.text()
    async with on_stage(FakeOperations(replace(SNAPSHOT, profiles=()))) as stage:
        assert "next 60 min" not in stage.text()


async def test_the_chain_gives_names_the_room_they_need_and_the_notice_under_the_cursor_is_whole():
    async with on_stage(keys=("j", "j")) as stage:
        assert "anthropic/claude-opus-4-8  – skip" in stage.text()
        lines = [line[100:] for line in stage.lines()]
        place = next(n for n, line in enumerate(lines) if "↪ Model Fallback: openai/gpt-5.5 (selected   " in line)
        assert "anthropic/claude-opus-4-8; overloaded)" in lines[place + 1]
