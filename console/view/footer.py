"""The key bar and the tab bar as lines. Both come from the registry and the situation; neither knows what a key does."""

from __future__ import annotations

from collections.abc import Mapping

from console.actions import Action, key_name
from console.view.availability import Situation, unavailable
from console.view.lines import Line, Tone, join, kept_parts, name_at, span

_ALWAYS = ("help", "quit")
_LATER = 100

PANES = (("sessions", "Sessions"), ("profiles", "Profiles"), ("notices", "Notices"), ("chain", "Chain"))


def draw(actions: Mapping[str, Action], now: Situation, cells: int) -> Line:
    """The keys of the footer that fit, dimmed where they do not apply."""
    return ((" ", Tone.TEXT), *join(part for _, part in _keys(actions, now, cells)))


def key_at(cell: int, actions: Mapping[str, Action], now: Situation, cells: int) -> str | None:
    """The action whose key stands at a cell of `draw`."""
    return name_at(cell - 1, _keys(actions, now, cells))


def _keys(actions: Mapping[str, Action], now: Situation, cells: int) -> list[tuple[str, Line]]:
    """Where there is no room, what does not apply goes first, then the last places; help and quit stay. Undo comes when there is an act
    to take back."""
    ascii_only = now.frame.look.ascii_only
    ranked: dict[int, str] = {}
    parts: list[tuple[int, Line]] = []
    for action in sorted((a for a in actions.values() if a.footer and a.keys), key=lambda a: a.footer):
        dim = unavailable(action, now) is not None
        if dim and action.id == "undo":
            continue
        rank = -action.footer if action.id in _ALWAYS else action.footer + (_LATER if dim else 0)
        ranked[rank] = action.id
        key = (key_name(action.keys[0], ascii_only=ascii_only), Tone.DIM if dim else Tone.INFO)
        parts.append((rank, (key, (f" {action.label}", Tone.DIM if dim else Tone.TEXT))))
    return [(ranked[rank], part) for rank, part in kept_parts(parts, cells - 2)]


def tabs(active: str, counts: Mapping[str, str], cells: int) -> Line:
    """The four panes as tabs, the open one bracketed (a bracket survives where colours do not)."""
    return join((part for _, part in _tabs(active, counts, cells)), " ")


def tab_at(cell: int, active: str, counts: Mapping[str, str], cells: int) -> str | None:
    """The pane whose tab stands at a cell of `tabs`."""
    return name_at(cell, _tabs(active, counts, cells), " ")


def _tabs(active: str, counts: Mapping[str, str], cells: int) -> list[tuple[str, Line]]:
    texts = [(pane, f"{number} {name} {counts.get(pane, '')}".rstrip()) for number, (pane, name) in enumerate(PANES, 1)]
    if sum(len(text) + 3 for _, text in texts) - 1 > cells:
        texts = [(pane, str(number)) for number, (pane, _) in enumerate(PANES, 1)]
    return [(pane, span(f"[{text}]", Tone.STRONG) if pane == active else span(f" {text} ", Tone.DIM)) for pane, text in texts]
