"""The event ring: numbered, masked, bounded, and nobody waits for a reader."""

from __future__ import annotations

import asyncio

from engine.domain.redaction import Redactor
from engine.live.bus import EventBus


def bus(kept: int = 4) -> EventBus:
    redactor = Redactor()
    redactor.add("sk-very-secret")
    return EventBus(lambda: 7, redactor, kept)


async def taken(events, count: int) -> list[dict[str, object]]:
    return [dict((await anext(events)).data) for _ in range(count)]


async def test_a_reader_gets_what_it_missed_and_then_what_comes():
    ring = bus()
    ring.publish("turn_started", turn="1")
    ring.publish("turn_started", turn="2")
    events = ring.subscribe(after=1)
    assert await taken(events, 1) == [{"event": "turn_started", "at": 7, "turn": "2"}]
    upcoming = asyncio.ensure_future(taken(events, 1))
    await asyncio.sleep(0)
    ring.publish("alarm", text="x")
    assert await upcoming == [{"event": "alarm", "at": 7, "text": "x"}]


async def test_without_a_place_only_what_comes_after_the_call_is_read():
    ring = bus()
    ring.publish("turn_started", turn="1")
    events = ring.subscribe()
    ring.publish("turn_started", turn="2")
    assert (await taken(events, 1))[0]["turn"] == "2"


async def test_a_reader_that_falls_behind_is_told_how_much_it_missed():
    ring = bus(kept=4)
    events = ring.subscribe(after=0)
    for turn in range(10):
        ring.publish("turn_started", turn=str(turn))
    found = await taken(events, 5)
    assert found[0] == {"event": "gap", "at": 7, "missed": 6}
    assert [event["turn"] for event in found[1:]] == ["6", "7", "8", "9"]


async def test_a_place_of_another_engines_life_means_from_the_start():
    ring = bus()
    ring.publish("turn_started", turn="1")
    assert (await taken(ring.subscribe(after=900), 1))[0]["turn"] == "1"


async def test_readers_end_when_the_bus_is_closed():
    ring = bus()
    ring.publish("turn_started", turn="1")
    reading = [asyncio.ensure_future(_all(ring.subscribe(after=0))) for _ in range(3)]
    await asyncio.sleep(0)
    ring.close()
    assert await asyncio.gather(*reading) == [1, 1, 1]


async def _all(events) -> int:
    return len([event async for event in events])


async def test_secrets_are_masked_and_absent_values_left_out():
    ring = bus()
    ring.publish("notice", text="key sk-very-secret", profile=None, before={"a": ["sk-very-secret"]})
    event = await anext(ring.subscribe(after=0))
    assert event.data == {"event": "notice", "at": 7, "text": "key ***", "before": {"a": ["***"]}}
