"""Act safety: an act applies to what was under the cursor when its key was pressed, or to nothing (field report M11)."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from console.actions import ACTIONS, Scope, keys_text
from console.screens.picker import PickerScreen
from console.view.lines import plain
from engine.domain.acts import Clear, Pin, Probe, Reset, SelectModel, Undo, Unpin
from engine.domain.errors import GatewayUnreachable
from engine.domain.ids import ProfileId, SessionKey
from tests.console.fake import NOW, SESSIONS, SNAPSHOT, FakeOperations, session
from tests.console.screenplay import Stage, on_stage

SUPPORT = SessionKey("support-bot")


def the_only_act(stage: Stage) -> object:
    assert len(stage.acts) == 1, stage.acts
    return stage.acts[0]


async def test_p_shows_each_profiles_state_and_what_the_pin_will_do_and_enter_pins():
    async with on_stage(keys=("j", "j", "p")) as stage:
        text = stage.text()
        for words in ("Pin a profile for support-bot", "✗ disabled", "4:12:09", "billing (all models)"):
            assert words in text
        assert "will use only openai:work" in stage.hint()
        await stage.press("down")
        assert "google:ci" in stage.text()
        await stage.press("enter")
        assert the_only_act(stage) == Pin(SUPPORT, ProfileId("google:ci"))
        assert stage.operations.acts[0][1] == "tester"


async def test_a_pin_on_a_resting_profile_says_what_that_means():
    async with on_stage(keys=("j", "j", "p", "pageup")) as stage:
        assert "Now disabled, for 4:12:09 more: turns skip it until then" in stage.hint()


async def test_typing_narrows_the_picker_and_esc_leaves_without_an_act():
    async with on_stage(keys=("p",)) as stage:
        await stage.type("codex")
        assert isinstance(stage.app.screen, PickerScreen)
        assert [choice.id for choice in stage.app.screen.list.items] == ["openai:codex"]
        await stage.press("escape")
        assert stage.acts == []


async def test_the_confirmed_act_changes_the_row_and_offers_undo_and_u_takes_it_back():
    async with on_stage(keys=("j", "j", "p", "enter")) as stage:
        await stage.news()
        assert any("(u undoes it)" in toast for toast in stage.toasts())
        assert "work user" in next(line for line in stage.lines() if "◆ support-bot" in line)
        await stage.press("u")
        assert stage.acts[1] == Undo("a1")
        assert any("again: support-bot with the auto pin on openai:work" in toast for toast in stage.toasts())
        await stage.press("u")
        assert len(stage.acts) == 2
        assert any("no act to undo" in toast for toast in stage.toasts())


@pytest.mark.parametrize(
    ("keys", "before"),
    [
        (("j", "j", "P"), "support-bot with the auto pin on openai:work"),
        (("p", "enter"), "billing-report without a pin"),
        (("m", "down", "enter"), "billing-report with no model selected"),
        (("2", "C"), "anthropic:backup disabled"),
        (("2", "d", "enter", "y"), "anthropic:backup in service"),
        (("2", "o", "j", "K", "enter"), "the order anthropic:me, anthropic:backup"),
    ],
)
async def test_after_an_undo_it_is_said_what_stands_there_again(keys: tuple[str, ...], before: str):
    async with on_stage(keys=(*keys, "u")) as stage:
        assert any(f"again: {before}" in toast for toast in stage.toasts()), stage.toasts()


async def test_undo_after_an_act_that_has_none_says_so_and_offers_the_one_before():
    async with on_stage(keys=("j", "j", "P", "r", "y", "u")) as stage:
        assert any("reset support-bot has no undo; u again undoes unpin support-bot" in toast for toast in stage.toasts())
        assert stage.acts == [Unpin(SUPPORT), Reset(SUPPORT)]
        await stage.press("u")
        assert stage.acts[2] == Undo("a1")


async def test_undo_after_an_act_that_has_none_and_with_none_before_says_why():
    async with on_stage(keys=("j", "j", "f", "y", "u")) as stage:
        assert any("probe support-bot has no undo, and nothing before it" in toast for toast in stage.toasts())


async def test_the_palette_names_what_undo_would_take_back():
    async with on_stage(keys=("j", "j", "P", "colon")) as stage:
        await stage.type("undo")
        assert "Takes back: unpin support-bot" in stage.hint()


async def test_the_reset_dialog_names_what_stays_and_how_to_clear_that():
    strict = session("main", selected="openai/gpt-5.5", active="openai/gpt-5.5", source="user", profile=ProfileId("anthropic:me"))
    async with on_stage(FakeOperations(replace(SNAPSHOT, sessions=(strict,))), keys=("r",)) as stage:
        assert "model selection openai/gpt-5.5 (m, then default, clears it)" in stage.text()
        assert "anthropic:me is cooldown for everyone (c in Profiles clears it)" in stage.text()


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        *(("sessions", "pane_1"), ("events", "pane_3"), ("q", "quit"), ("q!", "quit"), ("pin", "pin"), ("p", "pin"), ("describe", "why")),
        *(
            ("logs", "why"),
            ("revert", "undo"),
            ("cordon", "off"),
            ("unblock", "clear"),
            ("yank", "copy"),
            ("skin", "theme"),
            ("search", "filter"),
        ),
    ],
)
async def test_the_palette_finds_by_key_by_name_and_by_what_people_call_it_elsewhere(typed: str, found: str):
    async with on_stage(keys=("colon",)) as stage:
        await stage.type(typed)
        assert isinstance(stage.app.screen, PickerScreen)
        assert stage.app.screen.list.items[0].id == found


async def test_the_palette_lists_every_action_of_the_live_screen_with_its_key():
    async with on_stage(keys=("colon",)) as stage:
        assert isinstance(stage.app.screen, PickerScreen)
        listed = {choice.id: plain(choice.line) for choice in stage.app.screen.list.items}
        for action in ACTIONS:
            if action.scope is Scope.LIVE and action.id != "palette":
                assert keys_text(action) in listed[action.id]


async def test_p_upper_unpins():
    async with on_stage(keys=("j", "j", "P")) as stage:
        assert the_only_act(stage) == Unpin(SUPPORT)


async def test_r_names_the_thing_and_the_consequence_and_only_y_confirms():
    async with on_stage(keys=("j", "j", "r")) as stage:
        for words in ("Reset support-bot?", "the fallback to openai/gpt-5.5", "the auto pin on openai:work", "There is no undo"):
            assert words in stage.text()
        assert stage.app.focused is not None
        assert stage.app.focused.id == "cancel"
        await stage.press("y")
        assert the_only_act(stage) == Reset(SUPPORT)


@pytest.mark.parametrize("key", ["enter", "r", "space", "tab", "escape", "n", "q"])
async def test_neither_enter_nor_the_opening_key_nor_any_other_confirms(key: str):
    async with on_stage(keys=("j", "j", "r", key)) as stage:
        assert stage.acts == []


async def test_keys_after_a_cancelled_dialog_are_ordinary_again():
    async with on_stage(keys=("j", "j", "r", "enter", "y")) as stage:
        assert stage.acts == []


async def test_a_row_that_moves_between_key_and_confirm_changes_nothing_about_whom_the_act_is_for():
    async with on_stage(keys=("j", "j", "r")) as stage:
        stage.operations.publish(sessions=(session("aaa", last_activity=NOW), *SESSIONS[1:], SESSIONS[0]))
        await stage.news()
        await stage.press("y")
        assert the_only_act(stage) == Reset(SUPPORT)


@pytest.mark.parametrize("key", ["r", "f", "p", "m"])
async def test_a_row_that_vanishes_closes_the_dialog_with_a_word(key: str):
    async with on_stage(keys=("j", "j", key)) as stage:
        stage.operations.remove_session("support-bot")
        await stage.news()
        assert stage.app.screen is stage.app.live
        assert any("support-bot is gone: nothing was done" in toast for toast in stage.toasts())
        await stage.press("y", "enter", "escape")
        assert stage.acts == []


async def test_the_palette_acts_on_what_it_was_opened_for():
    async with on_stage(keys=("j", "j", "colon")) as stage:
        stage.operations.publish(sessions=(session("aaa", last_activity=NOW), *SESSIONS[1:], SESSIONS[0]))
        await stage.news()
        await stage.type("unpin")
        await stage.press("enter")
        assert the_only_act(stage) == Unpin(SUPPORT)


async def test_f_says_that_it_costs_one_real_request():
    async with on_stage(keys=("j", "j", "f")) as stage:
        assert "one real request to anthropic/claude-opus-4-8" in stage.text()
        await stage.press("y")
        assert the_only_act(stage) == Probe(SUPPORT)


async def test_m_selects_a_model_and_default_clears():
    async with on_stage(keys=("j", "j", "m")) as stage:
        await stage.type("haiku")
        assert "does not fall back" in stage.hint()
        await stage.press("enter")
        assert the_only_act(stage) == SelectModel(SUPPORT, "anthropic/claude-haiku-4-5")
        await stage.press("m")
        await stage.type("default")
        await stage.press("enter")
        assert stage.acts[1] == SelectModel(SUPPORT, "default")


async def test_a_model_that_is_not_listed_can_be_typed():
    async with on_stage(keys=("m",)) as stage:
        await stage.type("zeta/std@zeta:k1")
        await stage.press("enter")
        assert the_only_act(stage) == SelectModel(SessionKey("billing-report"), "zeta/std@zeta:k1")


async def test_c_verifies_and_c_upper_does_not():
    async with on_stage(keys=("2", "c")) as stage:
        assert the_only_act(stage) == Clear(ProfileId("anthropic:backup"), verify=True)
        assert any("one real call" in toast for toast in stage.toasts())
    async with on_stage(keys=("2", "C")) as stage:
        assert the_only_act(stage) == Clear(ProfileId("anthropic:backup"))


async def test_a_profile_of_the_chain_can_be_cleared_where_it_stands():
    async with on_stage(keys=("4", "j", "C")) as stage:
        assert the_only_act(stage) == Clear(ProfileId("anthropic:me"))


async def test_a_key_that_does_not_apply_does_nothing_and_says_why():
    async with on_stage(keys=("c", "P")) as stage:
        assert stage.acts == []
        toasts = " ".join(stage.toasts())
        assert "put the cursor on one" in toasts
        assert "billing-report has no pin" in toasts


async def test_a_refused_act_says_what_the_engine_said():
    operations = FakeOperations()
    operations.refusal = "openai:work was changed by ana@ops1 at 14:02: undo would overwrite that"
    async with on_stage(operations, keys=("j", "j", "P")) as stage:
        assert any("would overwrite" in toast for toast in stage.toasts())


async def test_an_act_that_cannot_be_sent_is_a_word_and_no_traceback():
    class Broken(FakeOperations):
        async def act(self, act, by):
            raise (
                GatewayUnreachable("The gateway does not answer", "", "failover serve")
                if isinstance(act, Unpin)
                else RuntimeError("sk-secret")
            )

    async with on_stage(Broken(), keys=("j", "j", "P", "C")) as stage:
        toasts = " ".join(stage.toasts())
        assert "The gateway does not answer" in toasts
    async with on_stage(Broken(), keys=("2", "C")) as stage:
        toasts = " ".join(stage.toasts())
        assert "RuntimeError" in toasts
        assert "sk-secret" not in toasts


async def test_read_only_refuses_every_act_and_says_so():
    async with on_stage(read_only=True, keys=("j", "j", "p", "P", "r", "f", "m", "2", "c", "C")) as stage:
        assert stage.acts == []
        assert stage.app.screen is stage.app.live
        assert any("read-only" in toast for toast in stage.toasts())
        assert "READ-ONLY" in stage.text()


async def test_an_act_on_stale_values_asks_again():
    """Field report M04."""
    async with on_stage(keys=("j", "j")) as stage:
        stage.now += 9_000
        await stage.press("P")
        assert stage.acts == []
        assert "9s old" in stage.text()
        await stage.press("y")
        assert the_only_act(stage) == Unpin(SUPPORT)


@pytest.mark.parametrize(
    ("typed", "act"),
    [("/model gemini", SelectModel(SUPPORT, "google/gemini-3-pro")), ("/model default", SelectModel(SUPPORT, "default"))],
)
async def test_slash_model_works_in_the_palette_as_people_know_it(typed: str, act: object):
    async with on_stage(keys=("j", "j", "ctrl+p")) as stage:
        await stage.type(typed)
        await stage.press("enter")
        assert the_only_act(stage) == act


@pytest.mark.parametrize("word", ["new", "reset"])
async def test_slash_new_and_reset_ask_as_the_key_does(word: str):
    async with on_stage(keys=("j", "j", "colon")) as stage:
        await stage.type(f"/{word}")
        await stage.press("enter")
        assert stage.acts == []
        assert "Reset support-bot?" in stage.text()
        await stage.press("y")
        assert the_only_act(stage) == Reset(SUPPORT, word)


async def test_slash_status_shows_the_session():
    async with on_stage(keys=("j", "j", "2", "colon")) as stage:
        await stage.type("/status")
        await stage.press("enter")
        assert "Session · support-bot" in stage.text()


async def test_the_palette_has_every_act_and_dims_what_does_not_apply_with_the_reason():
    async with on_stage(keys=("colon",)) as stage:
        await stage.type("unpin")
        assert "has no pin" in stage.hint()
        await stage.press("enter")
        assert stage.acts == []


async def test_y_copies_the_id_under_the_cursor_by_osc_52_wrapped_for_tmux_and_to_a_file(monkeypatch, tmp_path):
    """Field report M07."""
    monkeypatch.setitem(os.environ, "TMUX", "/tmp/tmux-1000/default,1,0")
    file = tmp_path / "clipboard"
    async with on_stage(keys=("j", "j"), copy_file=file) as stage:
        written: list[str] = []
        driver = stage.app._driver
        assert driver is not None
        driver.write = written.append  # type: ignore[method-assign,assignment]
        await stage.press("y")
        sent = "".join(written)
        assert "\x1b]52;c;c3VwcG9ydC1ib3Q=\a" in sent
        assert "\x1bPtmux;\x1b\x1b]52;c;c3VwcG9ydC1ib3Q=\a\x1b\\" in sent
        assert file.read_text() == "support-bot\n"
