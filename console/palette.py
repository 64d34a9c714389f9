"""The palette: every action of the registry by name, and the slash commands people know from chat. It opens; the desk acts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console import insight
from console.actions import Action, Scope, key_name, keys_text
from console.screens.picker import Choice, PickerScreen
from console.view import consequences
from console.view.availability import Situation, unavailable
from console.view.filters import matcher
from console.view.lines import Tone, pad, span
from engine.domain.acts import SelectModel

if TYPE_CHECKING:
    from console.app import FailoverApp

_SLASH = (
    ("/model", "select a model for the session: /model openai/gpt-5.5, /model default"),
    ("/new", "reset the session, as a chat's /new does"),
    ("/reset", "reset the session"),
    ("/status", "what the session is on, and why"),
)
_NAMES = 18
_HIDDEN = frozenset({"palette"})


def open_palette(app: FailoverApp, now: Situation) -> None:
    """Open it for the situation in which its key was pressed: that is what the choice will be about."""

    def choices(query: str) -> list[Choice]:
        text = query.strip()
        return _commands(text, now) if text.startswith("/") else [*_actions(app, text, now), *_commands(text, now)]

    def chosen(choice: str | None) -> None:
        if choice is not None:
            run(app, choice, now)

    name = now.frame.look.safe(now.session.key) if now.session is not None else "no session selected"
    app.push_screen(PickerScreen(f"Palette · {name}", choices, now.frame), chosen)


def _actions(app: FailoverApp, text: str, now: Situation) -> list[Choice]:
    ranked = [(_rank(action, text), action) for action in app.actions.values() if action.scope is Scope.LIVE and action.id not in _HIDDEN]
    return [_choice(app, action, now) for rank, action in sorted(ranked, key=lambda item: item[0] or 0) if rank is not None]


def _rank(action: Action, text: str) -> int | None:
    """How well it fits what was typed, 0 best: its key, its name, what it is called elsewhere, its sentence. None: not at all."""
    word = text.casefold()
    test = matcher(text)
    if test is None:
        return 0
    names = (action.label.casefold(), action.id)
    if text in map(key_name, action.keys) or word in names:
        return 0
    if any(name.startswith(word) for name in names):
        return 1
    also = action.also.casefold().split()
    if word in also:
        return 2
    if any(known.startswith(word) for known in also):
        return 3
    return 4 if test(f"{action.label} {action.id} {action.also} {action.help}".casefold()) else None


def _choice(app: FailoverApp, action: Action, now: Situation) -> Choice:
    refusal = unavailable(action, now)
    tone = Tone.DIM if refusal else Tone.STRONG
    line = (
        *pad(span(action.label, tone), _NAMES),
        *pad(span(keys_text(action, ascii_only=app.look.ascii_only), Tone.DIM if refusal else Tone.INFO), 11),
        (action.help, Tone.DIM if refusal else Tone.TEXT),
    )
    hint = f"Takes back: {now.frame.look.safe(now.undo)}" if action.id == "undo" and now.undo is not None else action.help
    return Choice(action.id, line, f"{hint}  (console.keys: {action.id})", refusal)


def _commands(text: str, now: Situation) -> list[Choice]:
    word, _, argument = text.partition(" ")
    refusal = "it works on a session, and none is selected" if now.session is None else None
    if word == "/model" and argument.strip() and now.session is not None:
        return _models(argument.strip(), now)
    found = [(name, help_text) for name, help_text in _SLASH if name.startswith(word or "/")]
    return [Choice(name, (*pad(span(name, Tone.STRONG), _NAMES + 11), (words, Tone.TEXT)), words, refusal) for name, words in found]


def _models(argument: str, now: Situation) -> list[Choice]:
    session = now.session
    if session is None:
        return []
    known = now.frame.snapshot.models if now.frame.snapshot is not None else ()
    refs = [ref for ref in ("default", *known) if argument.casefold() in ref.casefold()]
    if argument not in refs:
        refs.append(argument)
    return [
        Choice(f"/model {ref}", span(f"/model {now.frame.look.safe(ref)}", Tone.STRONG), consequences.model_hint(session, ref, now.frame))
        for ref in refs
    ]


def run(app: FailoverApp, choice: str, now: Situation) -> None:
    """Do what was chosen, on what the palette was opened for."""
    word, _, argument = choice.partition(" ")
    session = now.session
    if not word.startswith("/"):
        app.live.press(choice, now)
    elif session is None:
        app.say("no session is selected", "warning")
    elif word == "/model" and argument:
        app.acting.send(SelectModel(session.key, argument), f"model {argument} for {session.key}")
    elif word == "/model":
        app.acting.model(session, now.frame)
    elif word in ("/new", "/reset"):
        app.acting.reset(session, now.frame, word[1:])
    elif word == "/status":
        insight.open_text(app, "status", now)
