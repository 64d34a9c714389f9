"""Which of the layouts a terminal of some size gets. Pure arithmetic; the style sheet says what each looks like."""

from __future__ import annotations

from enum import StrEnum

MIN_WIDTH, MIN_HEIGHT = 60, 15


class Layout(StrEnum):
    """wide: two columns. medium: Sessions over all. tall: four above each other. tabs: one at a time. tiny: a word only."""

    WIDE = "wide"
    MEDIUM = "medium"
    TALL = "tall"
    TABS = "tabs"
    TINY = "tiny"


def layout_for(width: int, height: int) -> Layout:
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return Layout.TINY
    if width >= 140 and height >= 24:
        return Layout.WIDE
    if width >= 104 and height >= 30:
        return Layout.MEDIUM
    return Layout.TALL if height >= 46 else Layout.TABS


def too_small(width: int, height: int) -> str:
    """One line that fits as long as anything does, the size first."""
    return f"{MIN_WIDTH}x{MIN_HEIGHT} needed, this is {width}x{height}"
