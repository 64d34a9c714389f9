"""Keys as hands know them from vim, less, lazygit and k9s: what moves, what finds, what says that it does nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual import events

from console.presence import AWAY_MS
from engine.domain.ids import SessionKey
from engine.domain.snapshot import FeedEntry
from tests.console.fake import FEED, NOW, SESSIONS, SNAPSHOT, FakeOperations, profile, session
from tests.console.screenplay import Stage, on_stage


def crowd(count: int) -> FakeOperations:
    rows = tuple(session(f"session-{n:03}", last_activity=NOW - 60_000 - n * 1_000) for n in range(count))
    return FakeOperations(replace(SNAPSHOT, sessions=rows, profiles=()))


def number(stage: Stage) -> int:
    return int((stage.selected or "session-0").rpartition("-")[2])


async def test_half_pages_and_pages_go_as_in_vim_and_never_past_the_ends():
    async with on_stage(crowd(500)) as stage:
        page = stage.app.live.sessions.lines.page
        visited = []
        for key in ("ctrl+d", "ctrl+f", "ctrl+u", "ctrl+b", "ctrl+b", "G", "ctrl+d", "home", "end"):
            await stage.press(key)
            visited.append(number(stage))
        half = page // 2
        assert visited == [half, half + page, page, 0, 0, 499, 499, 0, 499]


async def test_a_text_scrolls_by_the_same_keys_and_by_space():
    async with on_stage(size=(80, 24), keys=("question_mark",)) as stage:
        lines = stage.app.screen.list  # type: ignore[attr-defined]
        tops = []
        for key in ("ctrl+d", "ctrl+f", "space", "ctrl+u", "ctrl+b", "g", "j", "G", "home", "end"):
            await stage.press(key)
            tops.append(lines.top)
        page, last = lines.page, len(lines.items) - lines.page
        half = page // 2
        assert tops == [half, half + page - 1, half + 2 * page - 2, 2 * page - 2, page - 1, 0, 1, last, 0, last]


async def test_brackets_jump_from_problem_to_problem_across_panes():
    async with on_stage() as stage:
        found = []
        for _ in range(4):
            await stage.press("right_square_bracket")
            found.append((stage.app.live.open_pane, stage.selected))
        assert found[:3] == [("sessions", "support-bot"), ("sessions", "translate-eu-west"), ("sessions", "night-batch")]
        assert found[3][0] == "profiles"
        await stage.press("left_square_bracket")
        assert stage.app.live.open_pane == "sessions"


@pytest.mark.parametrize("key", ["]", "["])
async def test_without_a_problem_the_cursor_stays_and_that_is_said(key: str):
    calm = FakeOperations(replace(SNAPSHOT, sessions=(session("a"), session("main"), session("z")), profiles=(profile("a:1"),)))
    async with on_stage(calm, keys=("j", key)) as stage:
        assert stage.selected == "main"
        assert stage.app.live.open_pane == "sessions"
        assert any("no problems" in toast for toast in stage.toasts())


@pytest.mark.parametrize("key", ["]", "["])
async def test_the_only_problem_is_jumped_to_from_anywhere_and_is_one_of_one(key: str):
    one = FakeOperations(replace(SNAPSHOT, sessions=(session("a"), replace(SESSIONS[1], key=SessionKey("main"))), profiles=()))
    one.change_session("main", on_fallback=True, reason="rate_limit")
    async with on_stage(one, keys=("3", key, key)) as stage:
        assert (stage.app.live.open_pane, stage.selected) == ("sessions", "main")
        assert any("problem 1 of 1" in toast for toast in stage.toasts())


async def test_n_goes_round_through_what_the_filter_lets_through():
    async with on_stage(crowd(30), keys=("/",)) as stage:
        await stage.type("-01")
        await stage.press("enter", "n", "n")
        assert number(stage) == 12
        await stage.press("N", "N", "N")
        assert number(stage) == 19
        assert any("match 10 of 10" in toast for toast in stage.toasts())


async def test_n_without_a_filter_says_how_to_get_one():
    async with on_stage(keys=("n",)) as stage:
        assert any("/ sets one" in toast for toast in stage.toasts())


async def test_slash_finds_in_a_text_n_goes_on_and_esc_first_forgets_then_leaves():
    async with on_stage(size=(80, 24), keys=("question_mark", "/")) as stage:
        await stage.type("profile's")
        await stage.press("enter")
        assert "/profile's  1 of " in stage.lines()[0]
        first = stage.app.screen.list.top  # type: ignore[attr-defined]
        await stage.press("N")
        assert stage.app.screen.list.top > first  # type: ignore[attr-defined]
        await stage.press("n", "n")
        assert "/profile's  2 of " in stage.lines()[0]
        await stage.press("escape")
        assert "/profile's" not in stage.lines()[0]
        assert stage.app.screen is not stage.app.live
        await stage.press("escape")
        assert stage.app.screen is stage.app.live


async def test_letters_typed_into_a_search_are_text_and_what_is_not_there_is_said():
    async with on_stage(keys=("e", "/")) as stage:
        await stage.type("qyYn?")
        assert "/qyYn?  not found" in stage.text()
        await stage.press("enter", "q")
        assert stage.app.screen is stage.app.live


@pytest.mark.parametrize("key", ["X", "5", "f9", "ctrl+x", "é"])
async def test_a_key_that_means_nothing_is_named_and_help_is_offered(key: str):
    async with on_stage(keys=(key,)) as stage:
        assert any("does nothing here; ? lists the keys" in toast for toast in stage.toasts()), stage.toasts()
        assert stage.acts == []


@pytest.mark.parametrize(
    ("opens", "key", "words"),
    [("r", "x", "y: reset, esc: cancel"), ("e", "x", "esc goes back"), ("o", "x", "esc goes back"), ("p", "f9", "esc goes back")],
)
async def test_in_a_dialog_such_a_key_says_what_leaves_it(opens: str, key: str, words: str):
    async with on_stage(keys=(opens, key)) as stage:
        assert any(f"does nothing here; {words}" in toast for toast in stage.toasts()), stage.toasts()


async def test_many_such_keys_are_one_word_a_second():
    async with on_stage(keys=("X", "V", "5", "6")) as stage:
        assert len(stage.toasts()) == 1
        stage.now += 1_000
        await stage.press("V")
        assert [toast.partition(" ")[0] for toast in stage.toasts()] == ["V"]


async def test_the_same_words_twice_are_one_toast():
    async with on_stage(keys=("c", "c", "c")) as stage:
        assert len(stage.toasts()) == 1


async def test_a_pasted_text_is_never_taken_for_keys():
    async with on_stage(keys=("j", "j")) as stage:
        stage.app.post_message(events.Paste("PdryCD\nq\x1b[31m" + "P" * 1_000_000))
        await stage.settled()
        assert stage.acts == []
        assert stage.app.screen is stage.app.live
        assert any("pasted text is not taken for keys" in toast for toast in stage.toasts())


@pytest.mark.parametrize("opens", [("/",), ("p",), ("colon",), ("m",), ("j", "j", "p", "ctrl+o"), ("w",), ("e", "/")])
async def test_what_is_pasted_into_a_field_is_one_harmless_line_of_bounded_length(opens: tuple[str, ...]):
    async with on_stage(keys=opens) as stage:
        stage.app.post_message(events.Paste("  [/red]\x1b[2J\x1b]52;c;aGk=\a‮a\u200bb\r\n" + "x" * 1_000_000))
        await stage.settled()
        value = stage.app.focused.value  # type: ignore[union-attr]
        assert value.startswith("[/red]\\x1b[2J")
        assert value.isprintable()
        assert len(value) < 1_000
        assert all(char.isprintable() for char in stage.text().replace("\n", ""))
        assert stage.acts == []


def told(number: int, text: str) -> FeedEntry:
    return FeedEntry(number, NOW, "notice", "notice", text, SessionKey("support-bot"))


async def test_i_tells_what_happened_since_the_last_key():
    async with on_stage(keys=("j",)) as stage:
        stage.operations.publish(feed=(*FEED, told(7, "↪️ Model Fallback cleared: anthropic/claude-opus-4-8")))
        stage.operations.change_session("support-bot", active=SESSIONS[0].selected, on_fallback=False)
        await stage.news()
        assert "i: 1 new since you looked" in stage.text()
        await stage.press("i")
        assert "support-bot came back" in stage.text()
        assert "Model Fallback cleared" in stage.text()


async def test_what_happened_while_nobody_was_there_is_kept_through_any_keys_until_it_is_looked_at():
    async with on_stage(keys=("j",)) as stage:
        stage.now += AWAY_MS
        stage.operations.publish(feed=(*FEED, told(7, "while away")))
        await stage.news()
        await stage.press("j", "2", "k", "z", "escape", "question_mark", "escape")
        assert "i: 1 new since you looked" in stage.text()
        await stage.press("i")
        assert "while away" in stage.text()
        await stage.press("escape")
        stage.app._tick()
        await stage.settled()
        assert "since you looked" not in stage.text()


async def test_a_second_absence_keeps_what_was_missed_in_the_first():
    async with on_stage(keys=("j",)) as stage:
        for number_ in (7, 8):
            stage.now += AWAY_MS
            stage.operations.publish(feed=(*stage.operations.current.feed, told(number_, f"event {number_}")))
            await stage.news()
            await stage.press("k")
        assert "i: 2 new since you looked" in stage.text()


async def test_who_keeps_pressing_keys_has_seen_what_happened():
    async with on_stage(keys=("j",)) as stage:
        stage.operations.publish(feed=(*FEED, told(7, "seen")))
        await stage.news()
        await stage.press("k")
        stage.app._tick()
        await stage.settled()
        assert "since you looked" not in stage.text()
