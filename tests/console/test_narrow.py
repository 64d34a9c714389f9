"""Only the cells that changed go to the terminal (field report M09)."""

from __future__ import annotations

from rich.console import Console
from rich.segment import Segment
from textual._compositor import ChopsUpdate
from textual.strip import Strip

from console.view.lines import Tone, changed_cells, span
from console.widgets.narrow import NarrowUpdate, narrowed


def test_a_changed_cell_in_the_middle_of_a_widget_is_sent_alone():
    line = {0: Strip([Segment("left pane ")]), 10: Strip([Segment("profile 00:41 ready")])}
    update = ChopsUpdate([line], [(0, 18, 23)], [[10, 29]])
    sent = NarrowUpdate(update).render_segments(Console(color_system=None))
    assert sent == "\x1b[1;19H00:41"
    whole = ChopsUpdate([line], [(0, 0, 29)], [[10, 29]])
    assert NarrowUpdate(whole).render_segments(Console(color_system=None)) == "\x1b[1;1Hleft pane \x1b[1;11Hprofile 00:41 ready"


def test_an_update_of_another_kind_goes_through_as_it_is():
    assert narrowed("text") == "text"
    assert narrowed(None) is None


def test_the_changed_cells_of_a_line_are_those_that_look_different():
    old = (*span("acme:k1  "), ("00:41", Tone.WARN), *span("  cooldown       used 12s"))
    new = (*span("acme:k1  "), ("00:40", Tone.WARN), *span("  cooldown       used 13s"))
    assert changed_cells(old, new) == [(13, 1), (37, 1)]
    assert changed_cells(old, old) == []
    assert changed_cells(span("ab", Tone.OK), span("ab", Tone.BAD)) == [(0, 2)]
    assert changed_cells(span("abc"), span("xyz")) == [(0, 3)]


def test_wide_characters_are_sent_whole():
    assert changed_cells(span("x漢字"), span("y漢字")) == [(0, 5)]
    assert changed_cells(span("漢"), span("ab")) == [(0, 2)]
