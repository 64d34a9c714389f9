"""The conventions of the live screen, key by key, on a fixed engine and clock."""

from __future__ import annotations

import asyncio
import random
import re
from dataclasses import replace
from typing import Any

import pytest
from textual.geometry import Region

from console.view.frame import Truth
from console.view.layout import Layout
from engine.domain.snapshot import FeedEntry
from tests.console.fake import NOW, SESSIONS, SNAPSHOT, FakeOperations, session
from tests.console.screenplay import on_stage


async def test_hjkl_arrows_g_and_pages_move_the_cursor():
    async with on_stage() as stage:
        assert stage.selected == "billing-report"
        await stage.press("j", "down")
        assert stage.selected == "support-bot"
        await stage.press("k", "up")
        assert stage.selected == "billing-report"
        await stage.press("G")
        assert stage.selected == "night-batch"
        await stage.press("g")
        assert stage.selected == "billing-report"
        await stage.press("pagedown")
        assert stage.selected == "night-batch"
        await stage.press("l")
        assert stage.app.live.open_pane == "chain"
        await stage.press("h")
        assert stage.app.live.open_pane == "sessions"


async def test_numbers_and_tab_go_from_pane_to_pane_in_their_order():
    async with on_stage() as stage:
        visited = []
        for key in ("tab", "tab", "tab", "tab", "shift+tab", "2", "1"):
            await stage.press(key)
            visited.append(stage.app.live.open_pane)
        assert visited == ["profiles", "notices", "chain", "sessions", "chain", "profiles", "sessions"]


async def test_the_cursor_follows_the_session_and_not_the_row():
    async with on_stage(keys=("j", "j")) as stage:
        assert stage.selected == "support-bot"
        stage.operations.publish(sessions=(*SESSIONS, session("aaa", last_activity=NOW), session("bbb", last_activity=NOW)))
        await stage.news()
        assert stage.selected == "support-bot"
        await stage.press("S")
        assert stage.selected == "support-bot"


async def test_sort_goes_through_the_columns_and_s_upper_turns_round():
    async with on_stage() as stage:
        await stage.press("s")
        assert "sort: session ▲" in stage.text()
        await stage.press("S")
        assert "sort: session ▼" in stage.text()


async def test_slash_filters_the_first_esc_keeps_and_the_second_clears():
    async with on_stage() as stage:
        await stage.press("slash")
        await stage.type("gpt")
        await stage.press("escape")
        assert "1 Sessions (2 of 7)" in stage.text()
        assert "/gpt" in stage.text()
        await stage.press("escape")
        assert "1 Sessions (7)" in stage.text()


async def test_an_exclamation_mark_turns_a_filter_round_and_enter_keeps_it():
    async with on_stage() as stage:
        await stage.press("slash")
        await stage.type("!gpt")
        await stage.press("enter", "j")
        assert "(5 of 7)" in stage.text()


async def test_keys_typed_into_a_filter_are_text_and_no_acts():
    async with on_stage() as stage:
        await stage.press("slash")
        await stage.type("prq P")
        assert stage.operations.acts == []
        assert stage.app.screen is stage.app.live
        assert "no session matches" in stage.text()


async def test_esc_never_quits():
    async with on_stage() as stage:
        await stage.press(*["escape"] * 5)
        assert stage.app.is_running


async def test_z_gives_the_screen_to_one_pane_and_back():
    async with on_stage() as stage:
        await stage.press("2", "z")
        assert "1 Sessions" not in stage.text()
        assert "2 Profiles" in stage.text()
        await stage.press("escape")
        assert "1 Sessions" in stage.text()


async def test_space_freezes_the_view_and_counts_what_is_missed():
    async with on_stage(keys=("space",)) as stage:
        assert "FROZEN 0 behind" in stage.text()
        stage.operations.change_session("main", active="openai/gpt-5.5", on_fallback=True, reason="rate_limit")
        await asyncio.sleep(0.02)
        await stage.news()
        assert "2 on fallback" in stage.text()
        assert "FROZEN 1 behind" in stage.text()
        await stage.press("space")
        assert "3 on fallback" in stage.text()
        assert "LIVE" in stage.text()


async def test_a_fallback_shows_both_models_and_the_reason_within_one_refresh_and_clearing_only_the_primary():
    """Field report G03."""
    async with on_stage(FakeOperations(replace(SNAPSHOT, sessions=(session("main"),)))) as stage:
        row = next(line for line in stage.lines() if "● main" in line)
        assert "gpt-5.5" not in row[:100]
        stage.operations.change_session("main", active="openai/gpt-5.5", on_fallback=True, source="auto", reason="rate_limit", since=NOW)
        await stage.news()
        row = next(line for line in stage.lines() if "● main" in line or "◆ main" in line)
        assert "claude-opus-4-8 → gpt-5.5" in row
        assert "rate_limit" in row
        stage.operations.change_session("main", active=SESSIONS[1].selected, on_fallback=False, source="default", reason=None, since=None)
        await stage.news()
        row = next(line for line in stage.lines() if "● main" in line)
        assert "gpt-5.5" not in row[:100]


async def test_events_of_another_session_leave_the_selected_ones_labels_alone():
    """Field report G04."""
    async with on_stage(keys=("G",)) as stage:
        assert stage.selected == "night-batch"
        assert "4 Chain  night-batch" in stage.text()
        stage.operations.change_session("main", selected="google/gemini-3-pro", active="google/gemini-3-pro")
        await stage.news()
        assert "4 Chain  night-batch" in stage.text()
        assert stage.app.live.chain.preview is not None
        assert stage.app.live.chain.preview.session == "night-batch"


async def test_countdowns_move_with_the_clock_and_repaint_only_their_lines():
    async with on_stage(keys=("2",)) as stage:
        assert "00:41" in stage.text()
        painted: list[int] = []
        table = stage.app.live.profiles.table
        real = table.refresh

        def refresh(*regions: Region, **options: Any) -> Any:
            painted.extend(region.y for region in regions)
            return real(*regions, **options)

        table.refresh = refresh  # type: ignore[method-assign]
        stage.now += 1_000
        stage.app._tick()
        await stage.settled()
        assert "00:40" in stage.text()
        assert set(painted) <= {1, 2, 3, 4, 5, 6}
        painted.clear()
        stage.app._tick()
        assert painted == []


async def test_when_nothing_changed_nothing_at_all_is_painted():
    """Field report M03."""
    async with on_stage() as stage:
        painted: list[object] = []
        for widget in stage.app.live.walk_children():
            widget.refresh = lambda *regions, **options: painted.append(regions)  # type: ignore[method-assign,assignment]
        for _ in range(3):
            stage.app._tick()
            await stage.news()
        assert painted == []


async def test_eight_hours_of_sleep_are_one_tick():
    async with on_stage(keys=("2",)) as stage:
        stage.now += 8 * 3_600_000
        await stage.news()
        stage.app._tick()
        await stage.settled()
        assert "00:41" in stage.text()
        assert stage.app.frame().truth is Truth.LIVE


async def test_beyond_two_refresh_periods_every_table_says_stale_and_news_clears_it():
    """Field report M04."""
    async with on_stage() as stage:
        stage.now += 4_500
        stage.app._tick()
        await stage.settled()
        titles = [line for line in stage.lines() if "1 Sessions" in line or "2 Profiles" in line]
        assert all("STALE 4s" in line for line in titles)
        assert titles[0].count("STALE") == 2
        rows = [line for line in stage.lines() if "claude-haiku" in line]
        assert all("~" in row for row in rows)
        await stage.news()
        assert "STALE" not in stage.text()


async def test_a_lost_engine_is_told_at_once_with_the_last_good_data_and_quit_works():
    """Field report M05."""
    async with on_stage() as stage:
        stage.operations.down = True
        await stage.app.link._guarded(stage.app.link._fetch)
        await stage.settled()
        assert "ENGINE DOWN" in stage.text()
        assert "last good data" in stage.text()
        assert "support-bot" in stage.text()
        await stage.press("p")
        assert any("does not answer" in toast for toast in stage.toasts())
        await stage.press("q")
        assert not stage.app.is_running
        assert stage.app.return_code == 0


async def test_without_an_engine_from_the_start_the_screen_says_what_is_wrong():
    nobody = FakeOperations()
    nobody.down = True
    async with on_stage(nobody) as stage:
        assert "ENGINE DOWN" in stage.text()
        assert "no data yet" in stage.text()
        nobody.down = False
        await stage.news()
        assert "LIVE" in stage.text()


async def test_quit_asks_while_turns_are_in_flight_and_cancel_has_the_focus():
    async with on_stage(keys=("q",)) as stage:
        assert "2 turns are in flight" in stage.text()
        await stage.press("enter")
        assert stage.app.is_running
        await stage.press("q", "y")
        assert not stage.app.is_running


async def test_ctrl_c_asks_and_a_second_one_means_it():
    async with on_stage(keys=("ctrl+c",)) as stage:
        assert stage.app.is_running
        await stage.press("ctrl+c")
        assert not stage.app.is_running


async def test_ctrl_shift_c_never_quits():
    """Field report M07."""
    async with on_stage(keys=("ctrl+shift+c",)) as stage:
        assert stage.app.is_running
        assert stage.app.screen is stage.app.live


async def test_a_console_on_somebody_elses_gateway_quits_at_once():
    async with on_stage(owns_engine=False, keys=("q",)) as stage:
        assert not stage.app.is_running


async def test_q_upper_leaves_the_last_tables():
    async with on_stage(keys=("Q",)) as stage:
        left = stage.app.return_value or ""
        for word in ("support-bot", "anthropic:backup", "disabled", "Model Fallback"):
            assert word in left


@pytest.mark.parametrize(
    ("key", "words"),
    [("e", "40,000 input tokens"), ("enter", "Decisions, newest turn first"), ("question_mark", "States of a profile"), ("f1", "Acts")],
)
async def test_texts_open_and_esc_goes_back(key: str, words: str):
    async with on_stage(keys=("j", "j", key), size=(160, 90)) as stage:
        assert words in stage.text()
        await stage.press("escape")
        assert stage.app.screen is stage.app.live


async def test_enter_opens_what_the_pane_is_about():
    async with on_stage(keys=("2", "enter")) as stage:
        assert "Profile · anthropic:backup" in stage.text()
        await stage.press("escape", "3", "enter")
        assert "overloaded)" in stage.text()


async def test_t_upper_turns_the_clocks_to_local_time_and_back():
    async with on_stage() as stage:
        assert "14:02:31Z" in stage.text()
        await stage.press("T")
        assert "14:02:31Z" not in stage.text()


async def test_the_feed_follows_at_its_end_and_holds_still_further_up():
    """Field report M10."""
    feed = tuple(FeedEntry(n, NOW, "info", "x", f"entry {n}") for n in range(1, 101))
    async with on_stage(FakeOperations(replace(SNAPSHOT, feed=feed)), keys=("3",)) as stage:
        assert "entry 100" in stage.text()
        await stage.press("pageup", "pageup", "pageup")
        held = re.findall(r"entry \d+", stage.text())
        more = tuple(FeedEntry(n, NOW, "info", "x", f"entry {n}") for n in range(101, 1_900))
        stage.operations.publish(feed=(*feed, *more))
        await stage.news()
        assert re.findall(r"entry \d+", stage.text()) == held
        assert "1799 new below" in stage.text()
        await stage.press("G")
        assert "entry 1899" in stage.text()
        assert "follow" in stage.text()


async def test_the_feed_keeps_the_lines_being_read_when_the_oldest_are_dropped():
    feed = tuple(FeedEntry(n, NOW, "info", "x", f"entry {n}") for n in range(1, 1_901))
    async with on_stage(FakeOperations(replace(SNAPSHOT, feed=feed)), keys=("3", "pageup", "pageup")) as stage:
        held = re.findall(r"entry \d+", stage.text())
        stage.operations.publish(feed=tuple(FeedEntry(n, NOW, "info", "x", f"entry {n}") for n in range(1_901, 2_400)))
        await stage.news()
        assert re.findall(r"entry \d+", stage.text()) == held


async def test_o_upper_shows_the_selected_sessions_notices_and_follows_the_selection():
    async with on_stage(keys=("O",)) as stage:
        assert "only billing-report" in stage.text()
        await stage.press("j", "j")
        assert "only support-bot" in stage.text()
        assert "anthropic:me cooldown" in stage.text()


async def test_empty_tables_teach():
    async with on_stage(FakeOperations(replace(SNAPSHOT, sessions=(), profiles=(), feed=()))) as stage:
        for words in ("curl http://127.0.0.1:4141/v1/chat/completions", "failover profiles add", "Nothing has happened yet"):
            assert words in stage.text()
        await stage.press("p")
        assert any("none is selected" in toast for toast in stage.toasts())


async def test_ten_thousand_sessions_scroll():
    crowd = tuple(session(f"session-{n:05}", last_activity=NOW - 60_000 - n * 1_000) for n in range(10_000))
    async with on_stage(FakeOperations(replace(SNAPSHOT, sessions=crowd))) as stage:
        await stage.press("G")
        assert stage.selected == "session-09999"
        assert "session-09999" in stage.text()


async def test_at_eighty_by_twenty_four_the_counts_and_the_worst_facts_stay_whatever_tab_is_open():
    async with on_stage(size=(80, 24)) as stage:
        for key in "1234":
            await stage.press(key)
            for words in ("2 on fallback", "2 blocked", "anthropic:backup disabled", "night-batch: last turn failed"):
                assert words in stage.text()


async def test_below_the_minimum_one_line_says_what_is_needed_and_growing_back_recovers():
    async with on_stage(size=(80, 24)) as stage:
        await stage.pilot.resize_terminal(50, 10)
        await stage.settled()
        await asyncio.sleep(0.05)
        assert [line for line in stage.lines() if line.strip()] == ["60x15 needed, this is 50x10".ljust(50)]
        await stage.pilot.resize_terminal(160, 48)
        await asyncio.sleep(0.05)
        await stage.settled()
        assert stage.app.live.layout_now is Layout.WIDE
        assert "support-bot" in stage.text()


async def test_any_size_from_one_cell_up_and_any_storm_of_resizes_is_survived():
    """Field report M12."""
    sizes = [(1, 1), (2, 2), (20, 5), (60, 15), (61, 16), (80, 24), (104, 30), (140, 24), (300, 100), (400, 120), (1, 120), (400, 1)]
    dice = random.Random(7)
    sizes += [(dice.randint(1, 220), dice.randint(1, 70)) for _ in range(25)]
    async with on_stage(size=(80, 24)) as stage:
        for step, (width, height) in enumerate(sizes):
            await stage.pilot.resize_terminal(width, height)
            if step % 9 == 0:
                stage.operations.change_session("main", last_activity=NOW + step)
                await stage.app.link._fetch()
        await stage.pilot.resize_terminal(80, 24)
        await asyncio.sleep(0.05)
        await stage.settled()
        assert "support-bot" in stage.text()


async def test_screens_over_the_live_one_survive_one_cell_too():
    for key in ("p", "r", "e", "question_mark", "colon", "w", "d", "o", "b", "enter"):
        async with on_stage(size=(80, 24), keys=(key,)) as stage:
            await stage.pilot.resize_terminal(1, 1)
            await stage.pilot.resize_terminal(7, 3)
            await stage.pilot.resize_terminal(80, 24)
            await stage.settled()


async def test_the_theme_key_changes_the_theme():
    async with on_stage(keys=("t",)) as stage:
        assert stage.app.theme == "failover-light"


async def test_the_ticker_rests_behind_a_dialog():
    async with on_stage(keys=("r",)) as stage:
        before = stage.app.live._frame
        stage.now += 1_000
        stage.app._tick()
        assert stage.app.live._frame is before


async def test_truth_is_down_before_it_is_frozen():
    async with on_stage(keys=("space",)) as stage:
        stage.operations.down = True
        await stage.app.link._guarded(stage.app.link._fetch)
        assert stage.app.frame().truth is Truth.DOWN


async def test_a_crash_of_the_screen_is_one_line_without_locals_and_without_secrets(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def burst(depth: int) -> None:
        local_value = "remembered-" + "locally"
        raise RuntimeError("upstream said Authorization: Bearer sk-live-0123456789abcdef" + local_value[:0])

    async def run() -> None:
        async with on_stage() as stage:
            stage.app.call_later(burst, 1)
            await asyncio.sleep(0.2)

    with pytest.raises(RuntimeError):
        await run()
    said = capsys.readouterr().err
    assert "failover: unexpected RuntimeError" in said
    for words in (said, *(path.read_text() for path in tmp_path.glob("crash-*"))):
        assert "0123456789abcdef" not in words
        assert "remembered-locally" not in words


@pytest.mark.parametrize("size", [(160, 48), (120, 36), (80, 24)])
async def test_a_toast_leaves_the_line_about_the_selected_row_readable(size: tuple[int, int]):
    async with on_stage(size=size) as stage:
        notes = [note.region for note in stage.app.screen.query(".note") if note.region]
        assert notes
        await stage.press("P")
        toasts = [toast.region for toast in stage.app.screen.query("Toast")]
        assert toasts
        assert not any(toast.overlaps(note) for toast in toasts for note in notes)
