"""The key bar and the tab bar as lines. Both come from the registry and the situation; neither knows what a key does."""

from __future__ import annotations

from collections.abc import Mapping

from console.actions import Action, key_name
from console.view.availability import Situation, unavailable
from console.view.frame import Frame
from console.view.lines import Line, Tone, fit_parts, join, span

_ALWAYS = ("help", "palette", "quit")

PANES = (("sessions", "Sessions"), ("profiles", "Profiles"), ("notices", "Notices"), ("chain", "Chain"))


def draw(actions: Mapping[str, Action], now: Situation, cells: int) -> Line:
    """The keys of the footer that fit, dimmed where they do not apply; help, palette and quit stay to the last."""
    ascii_only = now.frame.look.ascii_only
    parts: list[tuple[int, Line]] = []
    for action in sorted((a for a in actions.values() if a.footer), key=lambda a: a.footer):
        dim = unavailable(action, now) is not None
        key = (key_name(action.keys[0], ascii_only=ascii_only), Tone.DIM if dim else Tone.INFO)
        parts.append((0 if action.id in _ALWAYS else action.footer, (key, (f" {action.label}", Tone.DIM if dim else Tone.TEXT))))
    return ((" ", Tone.TEXT), *fit_parts(parts, cells - 2))


def tabs(active: str, counts: Mapping[str, str], frame: Frame, cells: int) -> Line:
    """The four panes as tabs, the open one bracketed (a bracket survives where colours do not)."""
    parts: list[Line] = []
    for number, (pane, name) in enumerate(PANES, 1):
        count = counts.get(pane, "")
        text = f"{number} {name}" + (f" {count}" if count else "")
        parts.append(span(f"[{text}]", Tone.STRONG) if pane == active else span(f" {text} ", Tone.DIM))
    line = join(parts, " ")
    short = join(
        [
            span(f"[{n}]" if pane == active else f" {n} ", Tone.STRONG if pane == active else Tone.DIM)
            for n, (pane, _) in enumerate(PANES, 1)
        ]
    )
    return fit_parts([(0, line)], cells) if sum(len(t) for t, _ in line) <= cells else short
