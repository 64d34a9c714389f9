"""The mouse does what the keys do, and nothing that a key cannot: select, open, scroll, sort, press."""

from __future__ import annotations

from dataclasses import replace

from textual import events

from tests.console.fake import NOW, SNAPSHOT, FakeOperations, session
from tests.console.screenplay import Stage, on_stage


async def click(stage: Stage, words: str, *, times: int = 1) -> None:
    """On the first cell of words that stand on the screen."""
    y, line = next((y, line) for y, line in enumerate(stage.lines()) if words in line)
    await stage.pilot.click(offset=(line.index(words), y), times=times)
    await stage.settled()


async def wheel(stage: Stage, words: str, turns: int) -> None:
    y, line = next((y, line) for y, line in enumerate(stage.lines()) if words in line)
    driver = stage.app._driver
    assert driver is not None
    kind = events.MouseScrollDown if turns > 0 else events.MouseScrollUp
    for _ in range(abs(turns)):
        driver.send_message(kind(None, line.index(words), y, 0, 0, 0, False, False, False))
        await stage.pilot.pause(0.0)
    await stage.settled()


async def test_a_click_selects_the_row_and_gives_its_pane_the_focus():
    async with on_stage() as stage:
        await click(stage, "night-batch")
        assert stage.selected == "night-batch"
        await click(stage, "google:old")
        assert stage.app.live.open_pane == "profiles"
        assert stage.acts == []


async def test_a_double_click_opens_the_row():
    async with on_stage() as stage:
        await click(stage, "night-batch", times=2)
        assert "Session · night-batch" in stage.text()


async def test_a_click_on_a_title_sorts_by_it_and_another_turns_round():
    async with on_stage(size=(160, 48)) as stage:
        order = stage.app.live.sessions.table
        await click(stage, "session   ")
        assert order.order is not None
        first = order.order
        assert first.column == "key"
        await click(stage, "session▲")
        assert order.order != first
        assert order.order.column == "key"


async def test_a_click_on_a_key_of_the_footer_presses_it_and_one_beside_does_nothing():
    async with on_stage() as stage:
        await click(stage, "? help")
        assert "Keys and words" in stage.text()
        await stage.press("escape")
        await stage.pilot.click(offset=(0, 47))
        await stage.settled()
        assert stage.app.screen is stage.app.live


async def test_a_click_on_a_tab_opens_its_pane():
    async with on_stage(size=(80, 24)) as stage:
        await click(stage, "3 Notices")
        assert stage.app.live.open_pane == "notices"


async def test_the_wheel_scrolls_the_pane_under_the_pointer_and_news_do_not_scroll_it_back():
    crowd = tuple(session(f"session-{n:03}", last_activity=NOW - 60_000 - n * 1_000) for n in range(300))
    async with on_stage(FakeOperations(replace(SNAPSHOT, sessions=crowd)), keys=("2",)) as stage:
        lines = stage.app.live.sessions.lines
        await wheel(stage, "session-003", 5)
        assert lines.top > 0
        assert stage.app.live.open_pane == "profiles"
        top = lines.top
        stage.operations.publish(sessions=crowd[:299])
        await stage.news()
        assert lines.top == top
        await stage.press("1", "j")
        assert lines.top < top
        assert stage.selected == "session-001"


async def test_a_click_beside_the_choices_of_a_dialog_confirms_nothing():
    async with on_stage(keys=("j", "j", "r")) as stage:
        await stage.pilot.click(offset=(2, 2))
        await stage.settled()
        await click(stage, "Reset support-bot?")
        assert stage.acts == []
        await click(stage, "Cancel")
        assert stage.app.screen is stage.app.live
        assert stage.acts == []
