"""What opens over the live screen leaves once: keys that arrive together (a stalled ssh) must not leave the screen behind it as well."""

from __future__ import annotations

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

T = TypeVar("T")


class Modal(ModalScreen[T]):
    """A second `dismiss`, or one while another screen is on top, does nothing."""

    _left = False

    @property
    def ways_out(self) -> str:
        """What the operator is told who pressed a key that means nothing here."""
        return "esc goes back"

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        if self._left or not self.is_active:
            return AwaitComplete()
        self._left = True
        return super().dismiss(result)
