"""From tones to terminal styles, for the theme in force. The only place where a meaning becomes a colour or an attribute.

Without colours (NO_COLOR, a 16-colour terminal) attributes carry what colours cannot: bold, dim, reverse and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.content import Content
from textual.strip import Strip

from console.styles import tone_defaults, variable
from console.view.lines import Line, Span, Tone
from console.view.text import width

# More than the lines of the largest screen: each is 7 kB, with what Textual keeps of it.
_KEPT = 500
_SEVEN_BIT = {"…": "~", "·": "-", "×": "x", "→": ">"}
_BOLD = frozenset({Tone.STRONG, Tone.HEAD, Tone.BAD})


class Paint:
    """Styles by tone; `row` is a background for a whole line."""

    def __init__(self, variables: tuple[tuple[str, str], ...], plain: bool, seven_bit: bool) -> None:
        colors = dict(variables)
        self.plain = plain
        self.seven_bit = seven_bit
        self._styles = {tone: self._style(tone, colors[variable(tone)]) for tone in Tone}
        self._cursor = None if plain else Color.parse(colors["tone-cursor"]).rich_color
        self._away = None if plain else Color.parse(colors["tone-cursor-away"]).rich_color
        self._strips: dict[tuple[Line, str, bool, Color | None], Strip] = {}

    def _style(self, tone: Tone, color: str) -> Style:
        return Style(color=Color.parse(color).rich_color, bold=tone in _BOLD or None, dim=True if self.plain and tone is Tone.DIM else None)

    def style(self, tone: Tone, row: str = "", stale: bool = False, ground: Color | None = None) -> Style:
        """row: `cursor`, `away` (the cursor of a list without focus) or nothing. stale: drawn weaker, whatever the tone."""
        base = self._styles[tone]
        if stale:
            base = self._styles[Tone.DIM] + Style(italic=True)
        if self.plain:
            # Mixed colours turned round are a patchwork: a plain cursor is reverse and nothing else.
            return Style(reverse=True, bold=base.bold) if row == "cursor" else base
        below = self._cursor if row == "cursor" else self._away if row == "away" else ground.rich_color if ground is not None else None
        return base + Style(bgcolor=below)

    def strip(self, line: Line, row: str = "", stale: bool = False, ground: Color | None = None) -> Strip:
        """The line as a strip on a ground, kept for the next time it is drawn."""
        key = (line, row, stale, ground)
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) > _KEPT:
                self._strips.clear()
            strip = Strip([Segment(text, self.style(tone, row, stale, ground)) for text, tone in _merged(line, self._text)])
            self._strips[key] = strip
        return strip

    def _text(self, text: str) -> str:
        # The view uses the right glyphs; this is for what it may have missed, one cell for one cell.
        if not self.seven_bit or text.isascii():
            return text
        return "".join(char if char.isascii() else _SEVEN_BIT.get(char, "?") * width(char) for char in text)

    def content(self, line: Line) -> Content:
        """For the places that Textual draws: titles and dialogs. Never markup."""
        return Content.assemble(*((self._text(text), _CONTENT_STYLE[tone]) for text, tone in line))


def _merged(line: Line, change: Callable[[str], str]) -> Iterator[Span]:
    """Fewer pieces: blanks look the same in every tone, and each piece costs Textual some work with every paint."""
    held, tone = "", Tone.TEXT
    for text, own in line:
        if not text:
            continue
        if own is tone or text.isspace():
            held += text
        elif held.isspace() or not held:
            held, tone = held + text, own
        else:
            yield change(held), tone
            held, tone = text, own
    if held:
        yield change(held), tone


_CONTENT_STYLE = {tone: ("bold " if tone in _BOLD else "") + f"${variable(tone)}" for tone in Tone}


@lru_cache(maxsize=8)
def _paint(variables: tuple[tuple[str, str], ...], plain: bool, seven_bit: bool) -> Paint:
    return Paint(variables, plain, seven_bit)


def paint_of(app: App[object]) -> Paint:
    """The paint for the app's theme; the same object until the theme changes."""
    known = app.theme_variables
    variables = tuple((name, known.get(name, value)) for name, value in tone_defaults().items())
    return _paint(variables, bool(app.native_ansi_color), app.has_class("-ascii"))
