"""What rings: only what is configured, only on its conditions, and a webhook that is broken costs nobody anything."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import httpx
import pytest

from console.alerts import Alert, Webhook, alert_of
from console.around import Around
from engine.domain.operations import Event
from engine.domain.redaction import SINK
from engine.domain.settings import ConsoleSettings
from tests.console.fake import NOW, SNAPSHOT, FakeOperations
from tests.console.screenplay import Stage, on_stage

ALL = ("everything_down", "strict_pin", "long_window", "store_alarm")
DOWN = {"event": "alarm", "at": NOW, "kind": "all_down", "text": "everything is down"}
HOUR = 3_600_000


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (DOWN, "everything_down"),
        ({"event": "alarm", "kind": "pin:main", "text": "main has no usable profile"}, "strict_pin"),
        ({"event": "alarm", "kind": "store", "text": "x"}, "store_alarm"),
        ({"event": "alarm", "kind": "store_slow", "text": "x"}, "store_alarm"),
        (
            {"event": "window_opened", "at": NOW, "until": NOW + HOUR + 1, "kind": "disabled", "profile": "a:b"},
            "long_window",
        ),
        ({"event": "window_opened", "at": NOW, "until": NOW + HOUR, "kind": "cooldown"}, None),
        ({"event": "alarm", "kind": "config", "text": "x"}, None),
        ({"event": "alarm_cleared", "kind": "all_down"}, None),
        ({"event": "turn_finished"}, None),
    ],
)
def test_each_alert_has_its_condition(data: dict[str, object], kind: str | None):
    found = alert_of(data, ALL)
    assert (found.kind if found else None) == kind
    assert alert_of(data, ()) is None


async def test_a_webhook_posts_json_without_secrets_and_says_once_when_it_is_not_taken():
    SINK.add("sk-live-alert-0123456789")
    sent: list[httpx.Request] = []
    words: list[str] = []
    statuses = [200]

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(statuses[0])

    hook = Webhook("https://hook.test/x?token=abc", words.append, transport=httpx.MockTransport(answer), pause_s=0)
    alert = Alert("everything_down", "key sk-live-alert-0123456789 is dead", DOWN)
    await hook.send(alert)
    told = json.loads(sent[0].content)
    assert told["alert"] == "everything_down"
    assert "sk-live-alert" not in sent[0].content.decode()
    assert words == []
    statuses[0] = 503
    await hook.send(alert)
    assert len(sent) == 4
    assert words == ["the alert webhook does not take everything_down: it answered HTTP 503"]
    assert "abc" not in words[0]


async def heard(stage: Stage, data: dict[str, object]) -> None:
    for queue in stage.operations._queues:
        queue.put_nowait(Event(99, data))
    await asyncio.sleep(0.02)
    await stage.settled()


async def ringing(settings: ConsoleSettings, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """How often the bell rang, and every title that was set."""
    async with on_stage(around=Around(settings)) as stage:
        rung: list[int] = []
        written: list[str] = []
        monkeypatch.setattr(stage.app, "bell", lambda: rung.append(1))
        assert stage.app._driver is not None
        monkeypatch.setattr(stage.app._driver, "write", written.append)
        await asyncio.sleep(0.02)
        await heard(stage, DOWN)
        stage.operations.publish(alarms=("everything is \x1b]2;evil\a down",))
        await stage.news()
        return len(rung), "".join(text for text in written if text.startswith("\x1b]2;"))


async def test_bell_and_title_are_off_unless_configured(monkeypatch):
    assert await ringing(ConsoleSettings(), monkeypatch) == (0, "")
    assert await ringing(ConsoleSettings(alert_bell=True, alert_title=True, alert_on=("long_window",)), monkeypatch) != (1, "")


async def test_bell_rings_and_the_title_tells_what_stands_and_cannot_be_broken_out_of(monkeypatch):
    rung, titles = await ringing(ConsoleSettings(alert_bell=True, alert_title=True, alert_on=ALL), monkeypatch)
    assert rung == 1
    assert "\x1b]2;failover: ! everything is \\x1b]2;evil\\x07 down\a" in titles


async def test_ctrl_z_suspends_an_attached_console_and_refuses_where_the_gateway_would_stop(monkeypatch):
    async with on_stage(keys=("ctrl+z",)) as stage:
        assert any("the gateway of this process would stop" in toast for toast in stage.toasts())
    async with on_stage(FakeOperations(replace(SNAPSHOT)), around=Around(may_suspend=True)) as stage:
        asked: list[int] = []
        monkeypatch.setattr(stage.app, "action_suspend_process", lambda: asked.append(1))
        await stage.press("ctrl+z")
        assert asked == [1]
