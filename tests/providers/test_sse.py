"""Event streams are cut into events with their bytes as they came, whatever the chunks."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.providers import sse
from engine.providers.sse import EventCutter

STREAM = b': hello\n\ndata: {"a": 1}\n\nevent: error\r\ndata: x\r\ndata: y\r\n\r\ndata:z\r\rid: 7\n\n'


def test_events_have_name_data_and_their_own_bytes():
    events = list(EventCutter().feed(STREAM))
    assert [(e.name, e.data) for e in events] == [("", None), ("", b'{"a": 1}'), ("error", b"x\ny"), ("", b"z"), ("", None)]
    assert b"".join(e.raw for e in events) == STREAM


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_chunk_borders_do_not_matter(cuts: list[int]):
    borders = [0, *sorted(cuts), len(STREAM)]
    cutter = EventCutter()
    events = [e for a, b in itertools.pairwise(borders) for e in cutter.feed(STREAM[a:b])]
    whole = list(EventCutter().feed(STREAM))
    assert [(e.name, e.data) for e in events if e.data] == [(e.name, e.data) for e in whole if e.data]
    assert b"".join(e.raw for e in events) + cutter.rest == STREAM


def test_an_event_without_end_fills_no_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sse, "EVENT_LIMIT", 1000)
    cutter = EventCutter()
    sent = b"data: " + b"x" * 100
    out = []
    for _ in range(100):
        out += list(cutter.feed(sent))
        assert len(cutter.rest) <= 1000
    out += list(cutter.feed(b"\n\ndata: next\n\n"))
    assert all(e.oversized for e in out[:-1])
    assert out[-1].data == b"next"
    assert b"".join(e.raw for e in out) == sent * 100 + b"\n\ndata: next\n\n"
