"""Foreign text is drawn literally, whatever it is (`console.view.text`, field report M01)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.view.lines import Tone, fit_parts, line_width, pad, plain, span, wrap
from console.view.text import CELL_LIMIT, fit, literal, shorten, width

HOSTILE = {
    "[/": "[/",
    "[0]": "[0]",
    '{"a":[true,false]}': '{"a":[true,false]}',
    "[link=x]": "[link=x]",
    "\x1b[2J": "\\x1b[2J",
    "bell\a": "bell\\x07",
    "\x1b]52;c;aGk=\a": "\\x1b]52;c;aGk=\\x07",
    "a\u202eb": "a\\u202eb",
    "zero\u200bwidth": "zero\\u200bwidth",
    "\x9b31m": "\\x9b31m",
    "two\nlines\tand a tab": "two lines and a tab",
    "\ud800": "\\ud800",
    "\ufeffbom": "\\ufeffbom",
    "\U000e0041tag": "\\U000e0041tag",
}


@pytest.mark.parametrize(("foreign", "shown"), HOSTILE.items())
def test_hostile_text_is_shown_as_harmless_text(foreign: str, shown: str):
    assert literal(foreign) == shown


def test_a_megabyte_becomes_a_cell():
    assert literal("x" * 1_000_000) == "x" * CELL_LIMIT + "…"


def test_a_pile_of_accents_is_two_accents():
    assert literal("a" + "\u0301" * 300) == "a\u0301\u0301"


def test_the_arrow_of_a_notice_loses_its_variation_selector_so_that_columns_stay_straight():
    assert literal("↪️ Model Fallback") == "↪ Model Fallback"


@given(st.text(max_size=200))
def test_no_text_whatsoever_gets_a_control_character_through(text: str):
    shown = literal(text)
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    shown.encode()


@given(st.text(max_size=100))
def test_the_ascii_set_is_seven_bits(text: str):
    assert literal(text, ascii_only=True).isascii()


@given(st.text(max_size=60).map(literal), st.integers(0, 40))
def test_fitted_text_has_exactly_its_width(text: str, cells: int):
    assert width(fit(text, cells)) == cells


@given(st.text(max_size=60).map(literal), st.integers(1, 40))
def test_shortened_text_is_never_wider_than_its_room(text: str, cells: int):
    assert width(shorten(text, cells)) <= cells


def test_a_name_is_cut_in_the_middle_because_its_ends_tell_it_apart():
    assert shorten("anthropic/claude-opus-4-8", 16) == "anthropi…pus-4-8"


@given(st.lists(st.tuples(st.text(max_size=20).map(literal), st.sampled_from(Tone)), max_size=6), st.integers(1, 60))
def test_a_padded_line_has_exactly_its_width(spans: list[tuple[str, Tone]], cells: int):
    assert line_width(pad(tuple(spans), cells)) == cells


@given(st.lists(st.text(max_size=40).map(literal), max_size=6), st.integers(8, 50))
def test_wrapping_loses_no_word_and_exceeds_no_line(words: list[str], cells: int):
    line = tuple((word, Tone.TEXT) for word in words)
    lines = wrap(line, cells)
    assert all(line_width(part) <= cells for part in lines)
    assert "".join("".join(map(plain, lines)).split()) == "".join(plain(line).split())


def test_parts_are_shown_whole_or_not_at_all_and_the_least_important_goes_first():
    parts = [(1, span("first")), (9, span("expendable")), (0, span("always"))]
    assert plain(fit_parts(parts, 40)) == "first  expendable  always"
    assert plain(fit_parts(parts, 20)) == "first  always"
    assert plain(fit_parts(parts, 8)) == "always"
