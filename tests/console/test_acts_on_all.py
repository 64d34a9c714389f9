"""Acts on what all sessions share, and what each says before it is done. The engine's own record is the witness in
`test_acts_on_the_engine`; here it is what the screen sends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.domain.acts import BulkReturn, Pin, SelectModel, SetOff, SetOn, SetOrder
from engine.domain.ids import ProfileId, SessionKey
from engine.domain.snapshot import OffView
from tests.console.fake import NOW, SNAPSHOT, FakeOperations, session
from tests.console.screenplay import Stage, on_stage

SUPPORT = SessionKey("support-bot")
WORK = "openai:work"


def the_only_act(stage: Stage) -> object:
    assert len(stage.acts) == 1, stage.acts
    return stage.acts[0]


async def test_d_offers_the_profile_its_provider_and_every_model_and_says_whom_it_moves_before_y_takes_it_out():
    async with on_stage(keys=("2", "d")) as stage:
        for words in ("anthropic:backup", "provider", "anthropic/claude-haiku-4-5", "used by 2 sessions"):
            assert words in stage.text()
        await stage.press("enter")
        assert "Take anthropic:backup out of service?" in stage.text()
        assert "Moves 2 sessions:" in stage.text()
        assert "google/gemini-3-pro" in stage.text()
        assert stage.operations.asked == [(None, (SetOff("anthropic:backup"),))]
        assert stage.acts == []
        await stage.press("y")
        assert the_only_act(stage) == SetOff("anthropic:backup")
        assert any("(u undoes it)" in toast for toast in stage.toasts())


@pytest.mark.parametrize("key", ["enter", "d", "space", "escape", "n"])
async def test_nothing_but_y_takes_something_out_of_service(key: str):
    """Field report M11."""
    async with on_stage(keys=("2", "d", "enter", key)) as stage:
        assert stage.acts == []


async def test_a_reason_can_be_given_for_what_is_out_of_service():
    async with on_stage(keys=("2", "d")) as stage:
        await stage.press("ctrl+o")
        await stage.type("key leaked")
        await stage.press("enter")
        assert "Reason: key leaked" in stage.text()
        await stage.press("y")
        assert the_only_act(stage) == SetOff("anthropic:backup", "key leaked")


async def test_what_would_be_refused_is_said_in_the_dialog_and_an_engine_that_does_not_answer_is_a_word():
    class Silent(FakeOperations):
        async def moves(self, assumptions):
            raise RuntimeError("sk-secret")

    async with on_stage(Silent(), keys=("2", "d", "enter")) as stage:
        assert "whom it moves is not known: RuntimeError" in stage.text()
        assert "sk-secret" not in stage.text()


async def test_d_upper_puts_back_what_is_under_the_cursor_or_the_only_thing_or_asks_which():
    async with on_stage(keys=("D",)) as stage:
        assert any("nothing is out of service" in toast for toast in stage.toasts())
    two = (OffView("openai", NOW - 60_000, "ana@ops1", "audit"), OffView("google/gemini-3-pro", NOW, "bo@ops2"))
    async with on_stage(FakeOperations(replace(SNAPSHOT, off=two[:1])), keys=("D",)) as stage:
        assert the_only_act(stage) == SetOn("openai")
    async with on_stage(FakeOperations(replace(SNAPSHOT, off=two)), keys=("D",)) as stage:
        assert "by ana@ops1: audit" in stage.text()
        await stage.type("gemini")
        await stage.press("enter")
        assert the_only_act(stage) == SetOn("google/gemini-3-pro")


async def test_b_names_the_calls_it_costs_and_only_y_makes_them():
    async with on_stage(keys=("b",)) as stage:
        assert "1 real request, one to each primary" in stage.text()
        assert "anthropic/claude-opus-4-8: 2 sessions come back if it answers" in stage.text()
        await stage.press("enter")
        assert stage.acts == []
        await stage.press("b", "y")
        assert the_only_act(stage) == BulkReturn()


async def test_b_without_a_fallback_says_so():
    async with on_stage(FakeOperations(replace(SNAPSHOT, sessions=(session("main"),))), keys=("b",)) as stage:
        assert stage.acts == []
        assert any("no session is on a fallback" in toast for toast in stage.toasts())


async def test_o_edits_the_order_and_enter_sets_it():
    async with on_stage(keys=("2", "o")) as stage:
        assert "Order of anthropic's profiles" in stage.text()
        assert "rule order.config" in stage.text()
        await stage.press("j", "K", "enter")
        assert the_only_act(stage) == SetOrder("anthropic", (ProfileId("anthropic:backup"), ProfileId("anthropic:me")))


async def test_a_profile_can_be_left_out_of_the_order_and_delete_goes_back_to_the_configured_one():
    async with on_stage(keys=("2", "o", "space")) as stage:
        assert "left out anthropic:me" in stage.text()
        await stage.press("enter")
        assert the_only_act(stage) == SetOrder("anthropic", (ProfileId("anthropic:backup"),))
    async with on_stage(keys=("2", "o", "delete")) as stage:
        assert the_only_act(stage) == SetOrder("anthropic", None)


async def test_an_order_that_was_not_changed_sends_nothing():
    async with on_stage(keys=("2", "o", "enter")) as stage:
        assert stage.acts == []


async def test_a_pin_can_have_a_reason_and_an_end():
    async with on_stage(keys=("j", "j", "p", "ctrl+o")) as stage:
        await stage.type("audit of me")
        await stage.press("enter")
        await stage.type("soon")
        await stage.press("enter")
        assert "not a moment" in stage.text()
        await stage.press(*["backspace"] * 4)
        await stage.type("2h")
        await stage.press("enter")
        assert the_only_act(stage) == Pin(SUPPORT, ProfileId(WORK), "audit of me", NOW + 7_200_000)


async def test_a_picker_says_what_the_next_turn_would_do_with_the_choice_under_the_cursor():
    async with on_stage(keys=("j", "j", "p")) as stage:
        assert "next turn: google/gemini-3-pro with google:ci" in stage.text()
        await stage.press("escape", "m")
        asked = [assumed for _, assumed in stage.operations.asked]
        assert asked == [(Pin(SUPPORT, ProfileId(WORK)),), (SelectModel(SUPPORT, "openai/gpt-5.5"),)]
        assert stage.acts == []


async def test_keys_that_arrive_all_at_once_are_taken_in_their_order():
    """A stalled ssh delivers them so: enter must not choose before the letters have narrowed the list."""
    async with on_stage(keys=("j", "j", "p")) as stage:
        await stage.burst(*"google:ci", "enter")
        assert the_only_act(stage) == Pin(SUPPORT, ProfileId("google:ci"))
    async with on_stage(keys=("j", "j", "p")) as stage:
        await stage.burst(*"google", "down", "enter")
        assert the_only_act(stage) == Pin(SUPPORT, ProfileId("google:old"))
    async with on_stage(keys=("2", "o")) as stage:
        await stage.burst("j", "K", "enter")
        assert the_only_act(stage) == SetOrder("anthropic", (ProfileId("anthropic:backup"), ProfileId("anthropic:me")))


async def test_read_only_refuses_the_acts_on_all_sessions_too():
    off = (OffView("openai", NOW, "ana"),)
    async with on_stage(FakeOperations(replace(SNAPSHOT, off=off)), read_only=True, keys=("2", "d", "D", "b", "o")) as stage:
        assert stage.acts == []
        assert stage.app.screen is stage.app.live
