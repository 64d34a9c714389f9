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
FIRST_PAUSE_S = 1.0
MAX_WAITING = 100
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
    failure. transport: for tests. patience_s: of one try, whatever the receiver does; pause_s: before the second, doubled for the third."""

    def __init__(
        self,
        url: str,
        failed: Callable[[str], None],
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        patience_s: float = PATIENCE_S,
        pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        self._url = url
        self._failed = failed
        self._waiting: asyncio.Queue[Alert] = asyncio.Queue(MAX_WAITING)
        self._transport = transport
        self._patience_s = patience_s
        self._pause_s = pause_s

    def put(self, alert: Alert) -> None:
        """Sent by `run`, in order; never waits. With MAX_WAITING before it, it is told and forgotten."""
        try:
            self._waiting.put_nowait(alert)
        except asyncio.QueueFull:
            self._failed(f"the alert webhook is too slow for {alert.kind}: {MAX_WAITING} alerts wait already")

    async def run(self) -> None:
        """Sends what was put, until cancelled."""
        while True:
            alert = await self._waiting.get()
            with suppress(Exception):
                await self.send(alert)

    async def send(self, alert: Alert) -> None:
        body = {"alert": alert.kind, "text": SINK.mask(alert.text), "event": SINK.mask_json(dict(alert.event))}
        problem = ""
        async with httpx.AsyncClient(transport=self._transport, timeout=self._patience_s, trust_env=False) as client:
            for attempt in range(TRIES):
                try:
                    # What it has to say is not read: it may never end. Nor may dribbling headers hold us.
                    async with asyncio.timeout(self._patience_s), client.stream("POST", self._url, json=body) as answer:
                        status = answer.status_code
                    if status < 400:
                        return
                    problem = f"it answered HTTP {status}"
                    if status < 500 and status != 429:
                        break
                except (httpx.HTTPError, TimeoutError) as error:
                    problem = type(error).__name__
                if attempt < TRIES - 1:
                    await asyncio.sleep(self._pause_s * 2**attempt)
        # Not the address: it may hold a token.
        self._failed(f"the alert webhook does not take {alert.kind}: {problem}")


async def follow(
    events: Callable[[], AsyncIterator[Event]], settings: ConsoleSettings, failed: Callable[[str], None], hook: Webhook | None = None
) -> None:
    """For a gateway without a screen: the webhook only, until cancelled. hook: instead of one for the configured address."""
    if settings.alert_webhook is None or not settings.alert_on:
        return
    hook = hook if hook is not None else Webhook(settings.alert_webhook, failed)
    sending = asyncio.create_task(hook.run(), name="failover-webhook-sender")
    try:
        async for event in events():
            alert = alert_of(event.data, settings.alert_on)
            if alert is not None:
                # A slow receiver must not hold up the reading: what the ring of events loses meanwhile may be the next alert.
                hook.put(alert)
    finally:
        sending.cancel()
        await asyncio.wait({sending})
