"""What rings: terminal bell and title, and a webhook, each off unless configured (spec/console.md, "Alerts"). From the engine's events to
alerts, and out. Which condition stands is the engine's word; a webhook that fails is told and never tried for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import httpx

from engine.domain.operations import Event
from engine.domain.redaction import SINK
from engine.domain.settings import ConsoleSettings

LONG_WINDOW_MS = 60 * 60_000
PATIENCE_S = 10.0
TRIES = 3
_STORE_KINDS = ("store", "store_slow", "store_trouble")


@dataclass(frozen=True, slots=True)
class Alert:
    """kind: as `console.alerts.on` names it."""

    kind: str
    text: str
    event: Mapping[str, object]


def alert_of(data: Mapping[str, object], wanted: tuple[str, ...]) -> Alert | None:
    """The alert that an event is, None if nobody wants to hear it. Pure."""
    kind, text = _kind_and_text(data)
    return Alert(kind, text, data) if kind in wanted else None


def _kind_and_text(data: Mapping[str, object]) -> tuple[str, str]:
    event, cause, text = data.get("event"), str(data.get("kind") or ""), str(data.get("text") or "")
    if event == "alarm" and cause == "all_down":
        return "everything_down", text
    if event == "alarm" and cause.startswith("pin:"):
        return "strict_pin", text
    if event == "alarm" and cause.startswith("store"):
        return "store_alarm", text
    at, until = data.get("at"), data.get("until")
    if event == "window_opened" and isinstance(at, int) and isinstance(until, int) and until - at > LONG_WINDOW_MS:
        return "long_window", f"{data.get('profile')} is {cause or 'out'} for more than an hour: {data.get('reason')}"
    return "", ""


class Webhook:
    """POSTs an alert as JSON, one after the other; a receiver that does not answer costs nobody anything. failed: told in words, once a
    failure. transport: for tests."""

    def __init__(self, url: str, failed: Callable[[str], None], *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._url = url
        self._failed = failed
        self._transport = transport

    async def send(self, alert: Alert) -> None:
        body = {"alert": alert.kind, "text": SINK.mask(alert.text), "event": SINK.mask_json(dict(alert.event))}
        problem = ""
        async with httpx.AsyncClient(transport=self._transport, timeout=PATIENCE_S, trust_env=False) as client:
            for attempt in range(TRIES):
                try:
                    answer = await client.post(self._url, json=body)
                    if answer.status_code < 400:
                        return
                    problem = f"it answered HTTP {answer.status_code}"
                    if answer.status_code < 500 and answer.status_code != 429:
                        break
                except httpx.HTTPError as error:
                    problem = type(error).__name__
                if attempt < TRIES - 1:
                    await asyncio.sleep(2.0**attempt)
        # Not the address: it may hold a token.
        self._failed(f"the alert webhook does not take {alert.kind}: {problem}")


async def follow(events: Callable[[], AsyncIterator[Event]], settings: ConsoleSettings, failed: Callable[[str], None]) -> None:
    """For a gateway without a screen: the webhook only, until cancelled."""
    if settings.alert_webhook is None or not settings.alert_on:
        return
    hook = Webhook(settings.alert_webhook, failed)
    async for event in events():
        alert = alert_of(event.data, settings.alert_on)
        if alert is not None:
            with suppress(Exception):
                await hook.send(alert)
