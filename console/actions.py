"""The one registry of what an operator can do here. Bindings, footer, palette, help and the README's table are all made from it.

It describes; it must not act, and needs no Textual: the command line prints the table without a screen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """Where a key works: LIST in every list, LIVE on the live screen."""

    LIST = "list"
    LIVE = "live"


class Needs(StrEnum):
    """What an act is about: the selected session, or the profile under the cursor."""

    NOTHING = "nothing"
    SESSION = "session"
    PROFILE = "profile"


@dataclass(frozen=True, slots=True)
class Action:
    """keys: as Textual names them, the first is shown. label: for the footer. help: one sentence. act: is sent to the engine.
    destructive: opens a dialog that only `y` confirms. undo: the engine can take it back. footer: place there, 0 is not at all; where
    there is no room the last places go first. also: what people call it elsewhere, for the palette."""

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    section: str
    scope: Scope = Scope.LIVE
    needs: Needs = Needs.NOTHING
    act: bool = False
    destructive: bool = False
    undo: bool = False
    footer: int = 0
    also: str = ""


_MOVE, _PANES, _ACTS, _SIGHT, _GENERAL = "Move", "Panes and lists", "Acts", "Insight", "General"
_SESSION, _PROFILE, _LIST = Needs.SESSION, Needs.PROFILE, Scope.LIST

ACTIONS: tuple[Action, ...] = (
    Action(
        "pin",
        ("p",),
        "pin",
        "Pin a profile for the selected session; the picker shows each profile's state.",
        _ACTS,
        needs=_SESSION,
        act=True,
        undo=True,
        footer=2,
        also="stick lock profile account credential",
    ),
    Action(
        "unpin", ("P",), "unpin", "Remove the session's pin.", _ACTS, needs=_SESSION, act=True, undo=True, also="unstick unlock release"
    ),
    Action(
        "reset",
        ("r",),
        "reset",
        "Reset the session: auto override, pins and notice state go, a new session id comes; a model that was selected stays. No undo.",
        _ACTS,
        needs=_SESSION,
        act=True,
        destructive=True,
        footer=8,
        also="restart new kill delete session",
    ),
    Action(
        "probe",
        ("f",),
        "probe",
        "Force a probe of the session's primary. Costs one real request. No undo.",
        _ACTS,
        needs=_SESSION,
        act=True,
        destructive=True,
        footer=10,
        also="retry test ping check",
    ),
    Action(
        "model",
        ("m",),
        "model",
        "Select a model for the session; `default` clears the selection.",
        _ACTS,
        needs=_SESSION,
        act=True,
        undo=True,
        footer=7,
        also="switch select use override",
    ),
    Action(
        "clear",
        ("c",),
        "clear",
        "Clear a profile's windows and verify with one real call; they come back if it fails.",
        _ACTS,
        needs=_PROFILE,
        act=True,
        undo=True,
        footer=3,
        also="retry unblock cooldown ready",
    ),
    Action(
        "clear_blind",
        ("C",),
        "clear unverified",
        "Clear a profile's windows without a call.",
        _ACTS,
        needs=_PROFILE,
        act=True,
        undo=True,
        also="unblock cooldown force",
    ),
    Action(
        "off",
        ("d",),
        "out of service",
        "Take a profile, its provider or a model out of service for all sessions; says whom it moves before it asks.",
        _ACTS,
        act=True,
        destructive=True,
        undo=True,
        footer=13,
        also="disable drain cordon stop maintenance",
    ),
    Action("on", ("D",), "back in service", "Put what is out of service back.", _ACTS, act=True, undo=True, also="enable uncordon resume"),
    Action(
        "bulk_return",
        ("b",),
        "all back",
        "Bring all sessions back to their primaries. Costs one real request for each primary. No undo.",
        _ACTS,
        act=True,
        destructive=True,
        also="failback recover return primaries",
    ),
    Action(
        "order",
        ("o",),
        "order",
        "Change the order in which a provider's profiles are tried.",
        _ACTS,
        act=True,
        undo=True,
        also="priority rank sort profiles",
    ),
    Action(
        "undo",
        ("u",),
        "undo",
        "Take the last act back, while its fields still hold what it wrote; says what stands there again.",
        _ACTS,
        act=True,
        footer=4,
        also="revert back z",
    ),
    Action(
        "why",
        ("e",),
        "why",
        "Why: the decision records of the selected session, with rule, numbers and the provider's own words.",
        _SIGHT,
        needs=_SESSION,
        footer=1,
        also="describe explain reason logs",
    ),
    Action(
        "what_if",
        ("w",),
        "what-if",
        "What if: assume a failure, a moment, an act, and see the session's next turn. No call is made.",
        _SIGHT,
        needs=_SESSION,
        footer=9,
        also="simulate whatif dry-run predict",
    ),
    Action("detail", ("enter",), "detail", "Everything about the row under the cursor.", _SIGHT, also="describe open view show inspect"),
    Action(
        "since",
        ("i",),
        "since",
        "What happened since you last looked: since the last key before a pause of ten seconds or more. Other keys keep it, `i` clears it.",
        _SIGHT,
        footer=16,
        also="history log away missed",
    ),
    Action(
        "freeze",
        ("space",),
        "freeze",
        "Freeze the view to read it; traffic goes on, the header counts what you miss.",
        _SIGHT,
        footer=6,
        also="pause hold stop",
    ),
    Action("copy", ("y",), "copy", "Copy the id under the cursor (OSC 52, through tmux too).", _SIGHT, also="yank clipboard"),
    Action("copy_detail", ("Y",), "copy detail", "Copy everything about the row under the cursor.", _SIGHT, also="yank clipboard"),
    Action(
        "export",
        ("x",),
        "export",
        "Export an incident bundle: redacted JSON, a picture of the screen, a timeline.",
        _SIGHT,
        also="save dump bundle incident report",
    ),
    Action("time", ("T",), "utc/local", "Clock times in UTC or local time.", _SIGHT, also="utc local timezone clock"),
    Action("theme", ("t",), "theme", "Next theme.", _SIGHT, also="skin color colour dark light"),
    Action("pane_1", ("1",), "sessions", "Go to Sessions.", _PANES, also="session"),
    Action("pane_2", ("2",), "profiles", "Go to Profiles.", _PANES, also="profile credentials keys accounts ctx"),
    Action("pane_3", ("3",), "notices", "Go to Notices.", _PANES, also="events feed log alerts"),
    Action(
        "pane_4",
        ("4",),
        "chain",
        "Go to Chain: what the selected session's next turn would do.",
        _PANES,
        also="fallbacks route preview next",
    ),
    Action("next_pane", ("tab",), "next pane", "Next pane.", _PANES),
    Action("previous_pane", ("shift+tab",), "prev pane", "Previous pane.", _PANES),
    Action("zoom", ("z",), "maximise", "Give the whole screen to this pane, and back.", _PANES, footer=14, also="fullscreen full screen"),
    Action(
        "filter",
        ("/",),
        "filter",
        "Filter this pane: words that must be there, !word for what must not. Esc keeps it, esc again clears it.",
        _PANES,
        footer=5,
        also="search find grep",
    ),
    Action(
        "next_match",
        ("n",),
        "next match",
        "Next row that the filter of this pane lets through; in a text, next line with what `/` looks for.",
        _PANES,
        also="search find",
    ),
    Action("previous_match", ("N",), "prev match", "Previous such row or line.", _PANES, also="search find"),
    Action("sort", ("s",), "sort", "Sort by the next column.", _PANES, footer=15),
    Action("sort_direction", ("S",), "reverse", "Turn the sort direction round.", _PANES),
    Action(
        "only_session",
        ("O",),
        "only session",
        "Notices of the selected session only, following the selection; again for all.",
        _PANES,
        also="events of session",
    ),
    Action("back", ("escape",), "back", "One level up: out of a dialog, the filter, the maximised pane. Never quits.", _PANES),
    Action("up", ("k", "up"), "up", "One row up.", _MOVE, _LIST),
    Action("down", ("j", "down"), "down", "One row down.", _MOVE, _LIST),
    Action("top", ("g", "home"), "top", "First row.", _MOVE, _LIST),
    Action("bottom", ("G", "end"), "bottom", "Last row; in Notices this follows the feed again.", _MOVE, _LIST),
    Action("page_up", ("pageup", "ctrl+b"), "page up", "One page up.", _MOVE, _LIST),
    Action("page_down", ("pagedown", "ctrl+f"), "page down", "One page down.", _MOVE, _LIST),
    Action("half_up", ("ctrl+u",), "half page up", "Half a page up.", _MOVE, _LIST),
    Action("half_down", ("ctrl+d",), "half page down", "Half a page down.", _MOVE, _LIST),
    Action("left", ("h", "left"), "left", "The pane to the left.", _MOVE),
    Action("right", ("l", "right"), "right", "The pane to the right.", _MOVE),
    Action(
        "previous_problem",
        ("[",),
        "prev problem",
        "Previous problem: a fallback, a failure, a profile that is out. Says which of how many; round at the ends.",
        _MOVE,
        also="error failure incident",
    ),
    Action(
        "next_problem",
        ("]",),
        "next problem",
        "Next problem, in Sessions and then in Profiles.",
        _MOVE,
        footer=11,
        also="error failure incident",
    ),
    Action(
        "help",
        ("?", "f1"),
        "help",
        "These keys as they are set here: first what applies to the row under the cursor, at the end what does not, and why.",
        _GENERAL,
        footer=17,
        also="keys shortcuts bindings ?",
    ),
    Action(
        "palette",
        ("ctrl+p", ":"),
        "palette",
        "Every action by name, key or what it is called elsewhere, and /model /new /reset /status.",
        _GENERAL,
        footer=12,
    ),
    Action(
        "faults",
        ("!",),
        "faults",
        "Demo only: break or heal any provider, profile or model; pause, step, restart the script.",
        _GENERAL,
        also="chaos break heal script",
    ),
    Action("tour_next", (".",), "tour: go on", "Demo with --tour only: go on to the next stop.", _GENERAL),
    Action(
        "suspend",
        ("ctrl+z",),
        "suspend",
        "Back to the shell; `fg` returns. Only with `failover attach`.",
        _GENERAL,
        also="background shell",
    ),
    Action(
        "quit",
        ("q", "ctrl+c"),
        "quit",
        "Quit; `failover run` asks while turns are in flight, `attach` and `demo` leave at once (a demo's traffic is made up).",
        _GENERAL,
        footer=18,
        also="exit close bye q q! wq",
    ),
    Action("quit_tables", ("Q",), "quit, keep tables", "Quit and leave the last tables in the scrollback.", _GENERAL, also="exit print"),
)

_SHOWN = {
    "up": "↑", "down": "↓", "left": "←", "right": "→", "escape": "esc", "pageup": "pgup", "pagedown": "pgdn", "f1": "F1",
}  # fmt: skip
_SHOWN_ASCII = {"↑": "up", "↓": "down", "←": "left", "→": "right"}


def key_name(key: str, *, ascii_only: bool = False) -> str:
    """A key as people write it: `esc`, `^p`, `shift+tab`."""
    name = _SHOWN.get(key) or (f"^{key[5:]}" if key.startswith("ctrl+") else key)
    return _SHOWN_ASCII.get(name, name) if ascii_only else name


def keys_text(action: Action, *, ascii_only: bool = False) -> str:
    return " ".join(key_name(key, ascii_only=ascii_only) for key in action.keys)


def sections(actions: Iterable[Action]) -> dict[str, list[Action]]:
    """The actions under their headings, in the order of the registry."""
    out: dict[str, list[Action]] = {}
    for action in actions:
        out.setdefault(action.section, []).append(action)
    return out


def key_table_markdown() -> str:
    """The README's key table, between its `<!-- keys:begin -->` and `<!-- keys:end -->`. A test compares the two."""
    out: list[str] = []
    for section, actions in sections(ACTIONS).items():
        out += [f"| {section} | |", "|---|---|"]
        out += [f"| {' '.join(f'`{key_name(key)}`' for key in action.keys)} | {action.help} |" for action in actions]
        out.append("")
    return "\n".join(out).rstrip() + "\n"
