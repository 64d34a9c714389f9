"""The screen's side of alerts: the bell, the terminal's title, and the webhook of a console that owns its engine. What is an alert is
decided in `console.alerts`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from console.alerts import Webhook, alert_of
from console.view.frame import Frame
from console.view.text import literal

if TYPE_CHECKING:
    from console.app import FailoverApp

_TITLE = 80


class Ringing:
    """Fed with every event of the engine. The title tells what stands now and is only ever set when it is configured."""

    def __init__(self, app: FailoverApp) -> None:
        self._app = app
        self._settings = app.around.settings
        self._title = ""
        self._sending = False
        own = app.owns_engine and self._settings.alert_webhook is not None
        self._hook = Webhook(self._settings.alert_webhook or "", partial(app.say, severity="warning")) if own else None

    def heard(self, data: Mapping[str, object]) -> None:
        alert = alert_of(data, self._settings.alert_on)
        if alert is None:
            return
        if self._settings.alert_bell:
            self._app.bell()
        if self._hook is not None:
            if not self._sending:
                self._sending = True
                self._app.run_worker(self._hook.run(), name="webhook", exit_on_error=False)
            self._hook.put(alert)

    def seen(self, frame: Frame) -> None:
        """The title follows what stands: alarms first, then who is on a fallback."""
        if not self._settings.alert_title or frame.snapshot is None:
            return
        snapshot = frame.snapshot
        fallback = sum(session.on_fallback for session in snapshot.sessions)
        words = f"! {snapshot.alarms[0]}" if snapshot.alarms else f"{fallback} on fallback" if fallback else "ok"
        title = literal(f"failover: {words}", _TITLE, True)
        driver = self._app._driver
        if title != self._title and driver is not None:
            self._title = title
            # OSC 2; the text is printable seven-bit by now and cannot end the sequence.
            driver.write(f"\x1b]2;{title}\a")
