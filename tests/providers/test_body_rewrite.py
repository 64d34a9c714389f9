"""The model is replaced and nothing else is (spec/gateway.md, "Same dialect on both sides")."""

from __future__ import annotations

import json

import pytest

from engine.providers.body_rewrite import with_model


def rewritten(raw: bytes) -> bytes:
    return with_model(raw, json.loads(raw), "org/new:1")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"model":"a","temperature":1.0}', b'{"model":"org/new:1","temperature":1.0}'),
        (b'{ "temperature" : 1e0 ,\n "model" : "a\\"b" }', b'{ "temperature" : 1e0 ,\n "model" : "org/new:1" }'),
        (b'{"model":null,"x":[1.50]}', b'{"model":"org/new:1","x":[1.50]}'),
        (b'{"messages":[1.0]}', b'{"model":"org/new:1","messages":[1.0]}'),
        (b'{"messages":"say \\"model\\": \\"x\\"","model":"a"}', b'{"messages":"say \\"model\\": \\"x\\"","model":"org/new:1"}'),
    ],
)
def test_every_other_byte_stays_as_it_came(raw: bytes, expected: bytes):
    assert rewritten(raw) == expected


@pytest.mark.parametrize(
    "raw",
    [
        b'{"messages":[{"model":"inner"}],"model":"a"}',
        b'{"metadata":{"model":"a"},"model":"a"}',
        b'{"messages":["model"],"model":"a"}',
        b'{"model":"a","model":"b"}',
        b'{"mod\\u0065l":"a","metadata":{"model":"a"}}',
        b'{"model":7,"x":1}',
        b"{}",
        '{"model":"a"}'.encode("utf-16"),
        b'{"x":"\\ud800","model":"a","y":{"model":1}}',
    ],
)
def test_a_body_that_could_be_misread_is_encoded_anew(raw: bytes):
    assert json.loads(rewritten(raw)) == {**json.loads(raw), "model": "org/new:1"}
