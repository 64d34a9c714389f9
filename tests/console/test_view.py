"""The pure view: from a snapshot to words, numbers and order, without a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.keymap import resolve
from console.view import chain, changes, detail, facts, filters, footer, header, notices, profiles, sessions, times, why
from console.view.availability import Situation, unavailable
from console.view.frame import Frame, Truth
from console.view.layout import Layout, layout_for
from console.view.lines import plain
from console.view.look import Look
from console.view.notices import FeedLog
from console.view.table import Order, lay_out, wanted_widths
from engine.domain.snapshot import FeedEntry, ProfileState, Traffic
from tests.console.fake import DECISIONS, FEED, NOW, PROFILES, SESSIONS, SNAPSHOT, preview, profile, session

FRAME = Frame(SNAPSHOT, NOW, Look(utc=True))
ACTIONS = resolve()
_HOUR = 3_600_000


@pytest.mark.parametrize(
    ("left_ms", "shown"),
    [(0, "00:00"), (1, "00:01"), (41_000, "00:41"), (-5, "00:00"), (15_129_000, "4:12:09"), (26 * _HOUR, "1d 02:00"), (10**13, ">999d")],
)
def test_a_countdown_reads_as_a_clock_and_is_over_at_zero(left_ms: int, shown: str):
    assert times.countdown(NOW + left_ms, NOW) == shown


def test_reduced_motion_counts_whole_minutes_above_one_minute():
    assert times.countdown(NOW + 150_000, NOW, reduced_motion=True) == "3m"
    assert times.countdown(NOW + 41_000, NOW, reduced_motion=True) == "00:41"


@pytest.mark.parametrize("at", [10**20, -(10**18)])
def test_an_insane_time_is_no_crash(at: int):
    assert times.clock(at, utc=True) == "--:--:--"


def test_a_bar_shows_what_is_left_of_a_window_and_nothing_when_its_beginning_is_unknown():
    assert times.filled(NOW - 30_000, NOW + 30_000, NOW, 8) == 4
    assert times.filled(NOW - 30_000, NOW, NOW, 8) == 0
    assert times.filled(None, NOW, NOW, 8) is None


def test_a_filter_wants_every_word_and_refuses_what_stands_after_an_exclamation_mark():
    test = filters.matcher("Opus !main")
    assert test is not None
    assert test("support-bot claude-opus")
    assert not test("main claude-opus")
    assert filters.matcher(" ! ") is None


def test_busy_sessions_do_not_change_places_with_every_answer():
    first = [s.key for s in sessions.rows(SESSIONS, "", sessions.DEFAULT_ORDER, FRAME)]
    livelier = tuple(replace(s, last_activity=NOW) if s.key == "main" else s for s in SESSIONS)
    assert [s.key for s in sessions.rows(livelier, "", sessions.DEFAULT_ORDER, FRAME)] == first
    assert first[-1] == "night-batch"


def test_profiles_stand_worst_first():
    states = [p.state for p in profiles.rows(PROFILES, "", profiles.DEFAULT_ORDER, FRAME)]
    assert states[:3] == [ProfileState.DISABLED, ProfileState.BLOCKED, ProfileState.COOLDOWN]
    assert states[-1] is ProfileState.READY


@pytest.mark.parametrize("room", [1, 5, 20, 40, 73, 92, 140, 400])
def test_columns_never_need_more_than_there_is(room: int):
    widths = lay_out(sessions.COLUMNS, room, wanted_widths(sessions.COLUMNS, SESSIONS, FRAME))
    gaps = {column.id: len(column.gap) for column in sessions.COLUMNS}
    assert sum(cells for _, cells in widths) + sum(gaps[name] for name, _ in widths[1:]) <= max(room, 3)


def test_at_eighty_columns_a_fallback_shows_both_models_and_why():
    """Field report G03: selected and active whenever they differ, with reason and since when."""
    row = next(s for s in SESSIONS if s.key == "support-bot")
    line = plain(sessions.summary(row, FRAME, 120))
    assert "anthropic/claude-opus-4-8 → openai/gpt-5.5" in line
    assert "rate_limit since 14:00:43" in line


def test_models_of_one_name_and_two_providers_are_told_apart():
    row = session("s", selected="anthropic/claude", active="bedrock/claude", on_fallback=True)
    assert "anthropic/claude" in plain(sessions.COLUMNS[3].cell(row, FRAME, 60))


def test_an_expired_login_that_renews_itself_says_so_and_never_ok():
    """Field report G05."""
    old = next(p for p in PROFILES if p.state is ProfileState.EXPIRED)
    assert "expired (refreshable)" in plain(profiles.summary(old, FRAME, 100))


@pytest.mark.parametrize("cells", [60, 80, 120, 160])
def test_the_header_keeps_the_critical_counts_at_every_width(cells: int):
    line = plain(header.draw(FRAME, cells))
    assert len(line) == cells
    for word in ("LIVE", "2 on fallback", "2 blocked", "14:02:31Z"):
        assert word in line


def test_the_header_tells_the_truth_about_liveness():
    words = {
        Truth.STALE: "STALE 14s",
        Truth.DOWN: "ENGINE DOWN 14s",
        Truth.FROZEN: "FROZEN 3 behind",
        Truth.LIVE: "LIVE",
        Truth.WAITING: "CONNECTING",
    }
    for truth, word in words.items():
        assert word in plain(header.draw(replace(FRAME, truth=truth, age_ms=14_200, behind=3), 80))


def test_demo_speed_read_only_and_drain_stand_in_the_header():
    snapshot = replace(SNAPSHOT, mode="DEMO", speed=60.0, read_only=True, draining=True)
    line = plain(header.draw(replace(FRAME, snapshot=snapshot), 160))
    for word in ("DEMO", "×60", "READ-ONLY", "DRAINING"):
        assert word in line


def test_a_lost_engine_is_a_banner_with_the_age_of_the_data():
    lines = header.banner(replace(FRAME, truth=Truth.DOWN, age_ms=14_000, trouble="The gateway does not answer"))
    assert "ENGINE DOWN" in plain(lines[0])
    assert "14s old" in plain(lines[0])


def test_the_worst_facts_come_first_and_take_the_same_room_always():
    lines = [plain(line) for line in facts.draw(FRAME, 80)]
    assert "night-batch: last turn failed" in lines[0]
    assert "anthropic:backup disabled 4:12:09" in lines[1]
    assert "on fallback gpt-5.5" in lines[2]
    assert "+2 more" in lines[2]
    assert len(facts.draw(replace(FRAME, snapshot=replace(SNAPSHOT, sessions=(), profiles=())), 80)) == 3


def test_many_sessions_on_one_fallback_are_one_fact():
    crowd = tuple(session(f"s{n}", active="openai/gpt-5.5", on_fallback=True, reason="rate_limit") for n in range(50))
    found = facts.facts(replace(FRAME, snapshot=replace(SNAPSHOT, sessions=crowd, profiles=())))
    assert len(found) == 1
    assert "s0 and 49 more" in plain(found[0].head)


def test_the_chain_shows_a_verdict_for_each_candidate_and_each_profile():
    rows = chain.rows(preview(SESSIONS[0]), FRAME)
    names = chain.names_width(rows, FRAME, 90)
    text = "\n".join(plain(chain.draw(row, FRAME, 90, names)) for row in rows)
    for word in (
        "● next",
        "sticky since 14:00:43",
        "pinned (auto)",
        "– skip",
        "◔ cooldown 00:41 left rate_limit",
        "primary probe in 03:12",
        "origin, last resort",
    ):
        assert word in text


def test_the_why_view_gives_rule_numbers_and_the_providers_own_words():
    text = "\n".join(plain(line) for line in why.draw(DECISIONS, FRAME))
    for word in ("rule gate.open", "429 rate_limit", "40,000 input tokens", "→ openai/gpt-5.5", "answered", "2 calls"):
        assert word in text
    assert text.index("failed") < text.index("answered")


def test_records_of_any_shape_are_drawn():
    strange: list[dict[str, object]] = [
        {},
        {"turn": 7, "at": "noon", "attempt": [1], "error": {"a": 1}, "until": 1e99, "count": True},
        {"decision": None},
    ]
    assert why.draw(strange, FRAME)


def test_a_feed_is_kept_beyond_one_snapshot_and_another_engine_starts_anew():
    log = FeedLog().merged(FEED[:3]).merged(FEED[2:])
    assert [entry.seq for entry in log.entries] == [1, 2, 3, 4, 5, 6]
    assert log.merged(FEED) is log
    other = (FeedEntry(2, NOW, "info", "x", "new engine"),)
    assert log.merged(other).entries == other


def test_a_feed_is_capped():
    many = tuple(FeedEntry(n, NOW, "info", "x", str(n)) for n in range(1, 5_001))
    assert len(FeedLog().merged(many).entries) == notices.KEPT


def test_what_happened_is_the_difference_of_two_snapshots():
    before = replace(
        SNAPSHOT, sessions=tuple(replace(s, active=s.selected, on_fallback=False) for s in SESSIONS), traffic=Traffic(turns_total=1800)
    )
    text = "\n".join(plain(line) for line in changes.draw(before, FRAME, FEED[-1:]))
    assert "support-bot fell back: anthropic/claude-opus-4-8 → openai/gpt-5.5 (rate_limit)" in text
    assert "40 turns" in text
    assert "Model Fallback" in text


def test_the_details_abbreviate_nothing():
    text = "\n".join(plain(line) for line in detail.session(SESSIONS[0], FRAME, preview(SESSIONS[0]), DECISIONS))
    for word in ("anthropic/claude-opus-4-8", "rate_limit since 14:00:43", "can still fail over", "rule selection.auto"):
        assert word in text
    text = "\n".join(plain(line) for line in detail.profile(PROFILES[0], FRAME))
    for word in ("cooldown", "rate_limit", "only anthropic/claude-opus-4-8", "step 2", "billing-report"):
        assert word in text


@pytest.mark.parametrize(
    ("size", "layout"),
    [
        ((160, 48), Layout.WIDE), ((120, 36), Layout.MEDIUM), ((80, 24), Layout.TABS), ((80, 60), Layout.TALL),
        ((59, 24), Layout.TINY), ((80, 14), Layout.TINY), ((60, 15), Layout.TABS), ((400, 120), Layout.WIDE),
    ],
)  # fmt: skip
def test_every_size_has_a_layout(size: tuple[int, int], layout: Layout):
    assert layout_for(*size) is layout


def test_a_key_that_does_not_apply_says_why():
    now = Situation(FRAME, "sessions", session=SESSIONS[1])
    assert unavailable(ACTIONS["unpin"], now) == "main has no pin"
    assert "cursor on one" in (unavailable(ACTIONS["clear"], now) or "")
    assert unavailable(ACTIONS["clear"], replace(now, profile=profile("openai:work"))) == "openai:work has no window to clear"
    assert unavailable(ACTIONS["undo"], now) == "there is no act to undo"
    assert "read-only" in (unavailable(ACTIONS["pin"], replace(now, frame=replace(FRAME, read_only=True))) or "")
    assert "does not answer" in (unavailable(ACTIONS["pin"], replace(now, frame=replace(FRAME, truth=Truth.DOWN))) or "")
    assert unavailable(ACTIONS["quit"], replace(now, frame=replace(FRAME, truth=Truth.DOWN))) is None


def test_the_key_bar_keeps_help_and_quit_to_the_last():
    line = plain(footer.draw(ACTIONS, Situation(FRAME), 18))
    assert line.strip() == "? help  q quit"


def test_at_eighty_columns_the_key_bar_shows_what_is_needed_most_and_undo_once_there_is_something_to_undo():
    on_session = Situation(FRAME, session=SESSIONS[1])
    line = plain(footer.draw(ACTIONS, on_session, 80))
    for word in ("e why", "p pin", "/ filter", "space freeze", "m model", "? help", "q quit"):
        assert word in line
    assert "undo" not in line
    with_undo = plain(footer.draw(ACTIONS, replace(on_session, undo="pin main to a:1"), 80))
    for word in ("e why", "p pin", "u undo", "/ filter", "space freeze", "? help", "q quit"):
        assert word in with_undo
    on_profile = plain(footer.draw(ACTIONS, replace(on_session, pane="profiles", profile=PROFILES[1]), 80))
    assert "c clear" in on_profile


@pytest.mark.parametrize("cells", [30, 80, 160])
def test_every_cell_of_a_key_in_the_bar_is_that_key_and_the_gaps_are_none(cells: int):
    now = Situation(FRAME, session=SESSIONS[1])
    line = plain(footer.draw(ACTIONS, now, cells))
    start = line.index("? help")
    assert {footer.key_at(cell, ACTIONS, now, cells) for cell in range(start, start + 6)} == {"help"}
    assert footer.key_at(start - 1, ACTIONS, now, cells) is None
    assert footer.key_at(0, ACTIONS, now, cells) is None


def test_sorting_turns_round():
    down = sessions.rows(SESSIONS, "", Order("key"), FRAME)
    up = sessions.rows(SESSIONS, "", Order("key", falling=True), FRAME)
    assert [s.key for s in up] == [s.key for s in reversed(down)]
