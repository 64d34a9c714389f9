"""Sends the terminal only the cells that changed. Textual crops what it writes of a line at the right end of a change, but always begins at
the left edge of the widget: for a countdown in the middle of a table that is ten times the bytes, over ssh and in every tmux.

It reads Textual's own update and writes the same cells of it. An update that it does not know goes through as it is."""

from __future__ import annotations

from typing import cast

from rich.console import Console, RenderableType
from rich.control import Control
from textual._compositor import ChopsUpdate, CompositorUpdate


class NarrowUpdate(CompositorUpdate):
    """The spans of a `ChopsUpdate`, cropped on both sides."""

    def __init__(self, update: ChopsUpdate) -> None:
        self._update = update

    def render_segments(self, console: Console) -> str:
        update = self._update
        parts: list[str] = []
        for y, x1, x2 in update.spans:
            for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                if strip is None or x >= x2 or end <= x1:
                    continue
                left, right = max(x, x1), min(end, x2)
                # The whole of a strip is kept rendered by it; a part of one is worth the work of cropping.
                part = strip if left == x and right == end else strip.crop(left - x, right - x)
                parts.append(Control.move_to(left, y).segment.text + part.render(console))
        return "".join(parts)


def narrowed(update: RenderableType | None) -> RenderableType | None:
    """The update as it is to be sent."""
    return cast(RenderableType, NarrowUpdate(update)) if isinstance(update, ChopsUpdate) else update
