"""What the tables make of their room: the cell that matters stays whole, times say whether they are gone or to come, arrows say how what is
shown is ordered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.view import header, notices, profiles, sessions, states, times
from console.view.frame import Frame, Truth
from console.view.lines import Line, plain, span, wrap_into
from console.view.look import Look
from console.view.table import Order, arrow, draw_row, lay_out, wanted_widths
from engine.domain.ids import SessionKey
from engine.domain.snapshot import FeedEntry, SessionView
from tests.console.fake import GPT, NOW, OPUS, PROFILES, SESSIONS, SNAPSHOT, session

FRAME = Frame(SNAPSHOT, NOW, Look(utc=True))
HALF_SCREEN, MOST_OF_IT, NARROW = 95, 115, 77
"""Cells of the Sessions pane at 160x48, 120x36 and 80x24."""


def row(view: SessionView, cells: int, among: tuple[SessionView, ...] = ()) -> str:
    columns = {column.id: column for column in sessions.COLUMNS}
    widths = lay_out(sessions.COLUMNS, cells, wanted_widths(sessions.COLUMNS, (view, *among), FRAME))
    return plain(draw_row(columns, widths, view, FRAME))


@pytest.mark.parametrize("cells", [HALF_SCREEN, MOST_OF_IT, NARROW])
def test_a_reason_is_whole_at_every_size_and_more_attempts_are_a_number(cells: int):
    view = session(
        "support-bot",
        active=GPT,
        source="auto",
        on_fallback=True,
        reason="rate limit (+2 more attempts)",
        since=NOW - 5_000,
        profile="openai:work",
    )
    line = row(view, cells, SESSIONS)
    assert "rate limit" in line
    assert "…mpts" not in line
    assert "+2" in line or cells != MOST_OF_IT


def test_names_are_whole_where_there_is_room():
    assert "translate-eu-west" in row(SESSIONS[5], MOST_OF_IT, SESSIONS)
    assert all(view.key in row(view, HALF_SCREEN, SESSIONS) for view in SESSIONS if len(view.key) <= 14)


def test_both_models_of_a_fallback_are_whole_on_half_a_wide_screen():
    view = session(
        "main", active="google/gemini-3-pro", source="auto", on_fallback=True, reason="rate limit (+2 more attempts)", profile="google:team"
    )
    assert "claude-opus-4-8 → gemini-3-pro" in row(view, HALF_SCREEN)


def test_a_key_with_a_model_loses_of_the_model_and_not_of_its_name():
    assert states.short_key("support-bot#openai/gpt-5.5", 20, "…") == "support-bot#gpt-5.5"
    assert states.short_key("support-bot#openai/gpt-5.5-very-long-name", 20, "…").startswith("support-bot#")


def test_what_is_left_and_what_is_gone_cannot_be_taken_for_each_other():
    assert times.left(NOW + 41_000, NOW) == "00:41 left"
    assert times.left(NOW, NOW) == "over"
    assert times.left(None, NOW) == ""
    assert times.ago(NOW - 2_000, NOW) == "2s ago"
    assert times.ago(None, NOW) == ""
    texts = [plain(column.cell(view, FRAME, 20)) for column in sessions.COLUMNS if column.id in ("since", "activity") for view in SESSIONS]
    assert all(text.endswith("ago") or text in ("now", "") for text in texts)
    assert next(column.title for column in profiles.COLUMNS if column.id == "left") == "left"


def shown(column: str, order: Order) -> list[str]:
    draw = next(c.cell for c in sessions.COLUMNS if c.id == column)
    return [plain(draw(view, FRAME, 40)) for view in sessions.rows(SESSIONS, "", order, FRAME)]


def test_the_default_order_is_the_most_recent_first_and_its_arrow_rises_with_the_age_that_is_shown():
    assert not sessions.DEFAULT_ORDER.falling
    assert arrow(sessions.DEFAULT_ORDER, FRAME) == "▲"
    ages = shown("activity", sessions.DEFAULT_ORDER)
    # What is in flight or was within a quarter of a minute is "now": such rows keep their places.
    assert ages == ["now", "now", "now", "31s ago", "1m ago", "12m ago", "3h ago"]
    assert (ages[0], ages[-1]) == ("now", "3h ago")


@pytest.mark.parametrize("column", [column.id for column in sessions.COLUMNS if column.sort and column.id in ("key", "agent", "profile")])
def test_up_is_a_to_z_and_down_is_z_to_a_with_nothing_last(column: str):
    up, down = shown(column, Order(column)), shown(column, Order(column, falling=True))
    filled = [text for text in up if text != "-"]
    assert filled == sorted(filled)
    assert [text for text in down if text != "-"] == sorted(filled, reverse=True)
    assert up[len(filled) :] == down[len(filled) :] == ["-"] * (len(up) - len(filled))


def test_profiles_sort_by_what_is_left_and_put_those_without_a_window_last_either_way():
    for falling in (False, True):
        order = [p.window.until if p.window else None for p in profiles.rows(PROFILES, "", Order("left", falling), FRAME)]
        some = [until for until in order if until is not None]
        assert some == sorted(some, reverse=falling)
        assert order[len(some) :] == [None] * (len(order) - len(some))


def entry(text: str, kind: str, key: str | None = None) -> FeedEntry:
    return FeedEntry(1, NOW, "info", kind, text, SessionKey(key) if key else None)


def notice(given: FeedEntry, cells: int) -> str:
    column = next(c for c in notices.COLUMNS if c.id == "text")
    drawn: Line = column.cell(given, FRAME, cells)
    return plain(drawn)


def test_a_notice_says_first_what_tells_it_from_the_next_one():
    opened = entry(f"started anthropic:me cooldown 30s overloaded ({OPUS})", "window", "support-bot")
    assert notice(opened, 200) == f"started anthropic:me cooldown 30s overloaded ({OPUS})"
    assert notice(opened, 50) == "started anthropic:me cooldown 30s overloaded"
    assert notice(opened, 38) == "started anthropic:me 30s overloaded"
    fallen = entry(f"↪️ Model Fallback: {GPT} (selected {OPUS}; rate limit (+2 more attempts))", "notice", "support-bot")
    assert notice(fallen, 60) == "support-bot fell back to gpt-5.5: rate limit +2"
    back = entry(f"↪️ Model Fallback cleared: {OPUS} (was {GPT})", "notice", "support-bot")
    assert notice(back, 60) == "support-bot back on claude-opus-4-8"


def test_a_notice_names_its_session_whole_where_there_is_room_for_it():
    fallen = entry(
        "↪️ Model Fallback: openai/gpt-5.5 (selected anthropic/claude-opus-4-8; rate limit)", "notice", "review#anthropic/claude-opus-4-8"
    )
    assert notice(fallen, 72).startswith("review#anthropic/claude-opus-4-8 fell back to gpt-5.5: ")
    assert notice(fallen, 50).startswith("review#")
    assert "…" in notice(fallen, 50).split()[0]


def test_other_words_than_the_engines_own_stay_as_they_are():
    assert notice(entry("ana@ops1 pinned code-review", "operator_act", "code-review"), 20).endswith("ana@ops1 pinned code-review")


def test_a_frozen_or_stale_demo_is_still_called_a_demo():
    demo = replace(FRAME, snapshot=replace(SNAPSHOT, mode="DEMO"), behind=12, age_ms=9_000)
    assert header.truth_word(demo) == "DEMO"
    assert header.truth_word(replace(demo, truth=Truth.FROZEN)) == "DEMO FROZEN 12 behind"
    assert header.truth_word(replace(demo, truth=Truth.STALE)) == "DEMO STALE 9s"
    assert header.truth_word(replace(FRAME, truth=Truth.FROZEN, behind=1)) == "FROZEN 1 behind"


def test_the_header_drops_names_before_numbers_and_numbers_before_troubles():
    demo = replace(FRAME, snapshot=replace(SNAPSHOT, mode="DEMO", speed=60.0), truth=Truth.FROZEN, behind=12)
    order = ["config gen 3", "p50 812ms", "127.0.0.1:4141", "4.2 req/s", "2 blocked", "2 on fallback"]
    lost = [next((cells for cells in range(220, 20, -1) if word not in plain(header.draw(demo, cells))), 0) for word in order]
    assert lost == sorted(lost, reverse=True)
    assert "DEMO FROZEN 12 behind" in plain(header.draw(demo, 40))


def test_numbers_in_the_header_have_their_unit():
    line = plain(header.draw(FRAME, 200))
    for words in ("4.2 req/s", "p50 812ms", "ok 97.1%", "0 errors/min", "1 cooling", "config gen 3"):
        assert words in line


def test_a_sentence_that_does_not_fit_ends_between_two_words():
    line = span("rule gate.primary-probe: every profile is in a window")
    assert [plain(part) for part in wrap_into(line, 40, 1, "…")] == ["rule gate.primary-probe: every profile…"]
    assert [plain(part) for part in wrap_into(line, 38, 1, "…")] == ["rule gate.primary-probe: every…"]
    assert [plain(part) for part in wrap_into(line, 60, 2, "…")] == [plain(line), ""]
    assert [plain(part) for part in wrap_into(span("x" * 30), 10, 1, "~")] == ["x" * 9 + "~"]


def test_a_bar_makes_way_before_a_name_or_a_reason_is_cut():
    columns = {column.id: column for column in profiles.COLUMNS}
    widths = lay_out(profiles.COLUMNS, NARROW, wanted_widths(profiles.COLUMNS, PROFILES, FRAME))
    drawn = [plain(draw_row(columns, widths, view, FRAME)) for view in PROFILES]
    assert all(view.profile in line for view, line in zip(PROFILES, drawn, strict=True))
    assert "subscription_limit" in "".join(drawn)
