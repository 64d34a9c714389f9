"""What-if: what people type, what is asked of the engine, and that nothing is sent that changes anything."""

from __future__ import annotations

import pytest

from console.view.assumptions import Place, parse
from console.view.moments import moment
from engine.domain.acts import Clear, Pin, SelectModel, SetOff, SetOn, Unpin
from engine.domain.foresight import At, Fails
from engine.domain.ids import ProfileId, SessionKey
from tests.console.fake import NOW
from tests.console.screenplay import on_stage

SUPPORT = SessionKey("support-bot")
PLACE = Place(SUPPORT, NOW, "anthropic:me", utc=True)
ME = ProfileId("anthropic:me")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("openai:work gets 429 now", (Fails("openai:work", status=429),)),
        ("openai:work 429", (Fails("openai:work", status=429),)),
        ("openai gets overloaded", (Fails("openai", reason="overloaded"),)),
        ("anthropic/claude-opus-4-8@anthropic:me answers 529", (Fails("anthropic/claude-opus-4-8@anthropic:me", status=529),)),
        ("this gets a 429 retry 90s", (Fails("anthropic:me", status=429, wait_s=90),)),
        ("if I clear this", (Clear(ME),)),
        ("anthropic:me cleared", (Clear(ME),)),
        ("in 10m", (At(NOW + 600_000),)),
        ("at 14:30", (At(moment("14:30", NOW, utc=True)),)),
        ("off openai; on google and unpin", (SetOff("openai"), SetOn("google"), Unpin(SUPPORT))),
        ("pin openai:work", (Pin(SUPPORT, ProfileId("openai:work")),)),
        ("model google/gemini-3-pro", (SelectModel(SUPPORT, "google/gemini-3-pro"),)),
        ("", ()),
    ],
)
def test_assumptions_read_as_people_write_them(text: str, expected: object):
    assert parse(text, PLACE) == expected


UNCLEAR = ("hello", "openai:work gets 200", "openai gets tired", "at teatime", "clear", "pin a b", "429", "[/red] \x1b[2J")


@pytest.mark.parametrize("text", UNCLEAR)
def test_what_is_not_understood_says_so_and_how_it_may_look(text: str):
    with pytest.raises(ValueError, match=r"understood|no failure|no reason|not a moment"):
        parse(text, PLACE)


def test_this_needs_a_profile_under_the_cursor():
    with pytest.raises(ValueError, match="under the cursor"):
        parse("clear this", Place(SUPPORT, NOW))


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("30m", NOW + 1_800_000),
        ("2h", NOW + 7_200_000),
        ("14:02", NOW + 86_400_000 - 31_000),
        ("2026-01-05T14:30+00:00", 1_767_623_400_000),
    ],
)
def test_a_moment_is_a_span_a_time_of_day_to_come_or_an_iso_time(text: str, ms: int):
    assert moment(text, NOW, utc=True) == ms


async def test_w_shows_the_chain_now_and_then_and_the_turn_that_would_follow():
    async with on_stage(keys=("j", "j", "w")) as stage:
        await stage.type("openai:work gets 429; at 14:30")
        for words in ("Chain now", "Chain then, at 14:30:00", "The turn then  ok", "fails  429 rate_limit", "no call was made"):
            assert words in stage.text()
        assert stage.operations.asked[-1] == (SUPPORT, (Fails("openai:work", status=429), At(moment("14:30", NOW, utc=True))))
        assert stage.acts == []
        await stage.press("escape")
        assert stage.app.screen is stage.app.live


async def test_this_in_what_if_is_the_profile_under_the_cursor_when_w_was_pressed():
    async with on_stage(keys=("2", "w")) as stage:
        await stage.type("this gets 402")
        assert stage.operations.asked[-1][1] == (Fails("anthropic:backup", status=402),)


async def test_what_cannot_be_assumed_or_understood_is_a_word_and_keeps_the_last_answer():
    async with on_stage(keys=("j", "j", "w")) as stage:
        await stage.type("nobody gets 429")
        assert "✗ nobody is assumed" in stage.text()
        await stage.type(" maybe")
        assert "is not understood" in stage.text()
        assert "The turn then" in stage.text()


async def test_what_if_closes_when_its_session_is_gone():
    async with on_stage(keys=("j", "j", "w")) as stage:
        stage.operations.remove_session("support-bot")
        await stage.news()
        assert stage.app.screen is stage.app.live
        assert any("support-bot is gone" in toast for toast in stage.toasts())


async def test_at_eighty_columns_the_chains_stand_under_each_other():
    async with on_stage(size=(80, 40), keys=("j", "j", "w")) as stage:
        lines = stage.lines()
        then = next(n for n, line in enumerate(lines) if "Chain then" in line)
        now = next(n for n, line in enumerate(lines) if "Chain now" in line)
        assert then < now
