"""Textual bindings from the registry. A key always reaches its action, also where it does not apply: then the answer is why."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from console.actions import ACTIONS, Scope

_VERB = {Scope.LIST: "go", Scope.LIVE: "press"}


def bindings(scope: Scope) -> list[BindingType]:
    """One binding an action, with the action's id, so that the operator's keymap finds it."""
    return [
        Binding(",".join(action.keys), f"{_VERB[scope]}('{action.id}')", action.label, id=action.id, show=False)
        for action in ACTIONS
        if action.scope is scope
    ]
