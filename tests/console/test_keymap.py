"""The operator's own keys: which key does what in the end, and what is said of a keymap that cannot be meant so."""

from __future__ import annotations

import pytest

from console.keymap import complaints, pressed, resolve
from tests.console.screenplay import on_stage


def test_an_operators_own_key_replaces_the_old_one_and_a_clash_is_reported():
    assert resolve({"reset": "R"})["reset"].keys == ("R",)
    assert complaints({"reset": "R"}) == []


def test_an_own_key_wins_over_one_that_was_there_and_who_lost_it_is_named():
    found = resolve({"reset": "k"})
    assert found["reset"].keys == ("k",)
    assert found["up"].keys == ("up",)
    assert complaints({"reset": "k"}) == ["console.keys: k does reset now; up has ↑ still"]
    assert complaints({"reset": "p"}) == ["console.keys: p does reset now; pin has no key now: give it one, or do pin by the palette"]


def test_of_two_own_keys_that_clash_the_first_counts():
    assert resolve({"pin": "x", "reset": "x,R"})["reset"].keys == ("R",)
    assert complaints({"pin": "x", "reset": "x,R", "export": "X"}) == [
        "console.keys: x is given to pin and to reset; it does pin: give reset another key"
    ]


def test_two_actions_may_change_places():
    assert complaints({"pin": "r", "reset": "p"}) == []


@pytest.mark.parametrize(
    ("name", "hint"), [("rest", "did you mean reset?"), ("next-problem", "did you mean next_problem?"), ("qqq", "the palette shows the id")]
)
def test_an_action_that_does_not_exist_is_told_with_the_one_that_was_meant(name: str, hint: str):
    assert hint in complaints({name: "x"})[0]


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("Ctrl-R", "write ctrl+r"),
        ("<C-r>", "write ctrl+r"),
        ("^r", "write ctrl+r"),
        ("Shift+R", "write R"),
        ("spcae", "write space"),
        ("winkey-7!", "write a character, or one such as"),
    ],
)
def test_what_is_no_key_is_told_with_its_right_spelling_and_the_action_keeps_its_own(said: str, hint: str):
    words = complaints({"reset": said})
    assert hint in words[0]
    assert "reset keeps its own" in words[1]
    assert resolve({"reset": said})["reset"].keys == ("r",)


@pytest.mark.parametrize("key", ["ctrl+r", "f5", "pageup", "R", "exclamation_mark", "slash", "shift+up", "é", "-", "+"])
def test_what_a_terminal_can_send_is_a_key(key: str):
    assert not any("no key" in words and repr(key) in words for words in complaints({"reset": key}))


@pytest.mark.parametrize(
    ("key", "character", "name"),
    [("y", "y", "y"), ("f5", None, "f5"), ("ctrl+x", "\x18", "^x"), ("left_shift", None, None), ("ctrl+at", "\x00", None), ("ł", "ł", "ł")],
)
def test_noise_and_modifiers_are_no_key_that_somebody_pressed(key: str, character: str | None, name: str | None):
    assert pressed(key, character) == name


async def test_an_operators_own_key_works_and_the_old_one_says_that_it_does_nothing():
    async with on_stage(keymap={"zoom": "Z"}) as stage:
        await stage.press("z")
        assert not stage.app.live.has_class("-zoom")
        assert any("z does nothing here; ? lists the keys" in toast for toast in stage.toasts())
        await stage.press("Z")
        assert stage.app.live.has_class("-zoom")


@pytest.mark.parametrize(("key", "title"), [("r", "Pin a profile for"), ("p", "Reset ")])
async def test_keys_that_changed_places_do_so_on_the_screen_too(key: str, title: str):
    async with on_stage(keymap={"pin": "r", "reset": "p"}, keys=(key,)) as stage:
        assert title in stage.text()


async def test_a_key_taken_from_the_cursor_acts_and_the_action_without_a_key_is_in_the_palette_still():
    async with on_stage(keymap={"reset": "j", "help": "x"}, keys=("j",)) as stage:
        assert "Reset billing-report?" in stage.text()
        await stage.press("escape", "colon")
        await stage.type("export")
        assert "console.keys: export" in stage.hint()


async def test_a_wrong_keymap_is_told_at_the_start():
    async with on_stage(keymap={"rest": "x", "reset": "p"}) as stage:
        toasts = " ".join(stage.toasts())
        assert "did you mean reset?" in toasts
        assert "p does reset now" in toasts


async def test_help_footer_and_words_show_the_operators_own_keys():
    async with on_stage(keymap={"help": "f12", "why": "W"}, size=(80, 24)) as stage:
        assert "W why" in stage.lines()[-1]
        await stage.press("f7")
        assert any("f12 lists the keys" in toast for toast in stage.toasts())
        await stage.press("f12", "/")
        await stage.type("why:")
        assert "W            Why:" in stage.text()
