"""Which session a request belongs to (spec/gateway.md)."""

from __future__ import annotations

import pytest

from engine.gateway.reply import Refused
from engine.gateway.session_key import HEADERS, Conversation, conversation_of
from tests.gateway.fake_engine import ref


def found(headers: dict[str, str] | None = None, *ids: str, message: object = "hi", client: str = "127.0.0.1") -> Conversation:
    return conversation_of(headers or {}, ids, message, client)


def test_headers_come_first_in_their_order_then_the_bodys_ids():
    everything = {name: f"id-of-{name}" for name in HEADERS}
    for name in HEADERS:
        assert found(everything, "cache-key", "user").key == f"id-of-{name}"
        del everything[name]
    assert found({}, "cache-key", "user").key == "cache-key"
    assert found({}, " ", "user").key == "user"
    assert found({"x-failover-session": "  "}, "user").key == "user"


@pytest.mark.parametrize("bad", ["x" * 201, "a\tb", "a\x7fb", "a\x1b[0m", "derived:me"])
def test_a_header_id_is_at_most_200_printable_characters(bad: str):
    with pytest.raises(Refused) as refused:
        found({"x-session-id": bad})
    assert refused.value.status == 400
    assert "x-session-id" in refused.value.message
    assert found({"x-session-id": "x" * 200}).key == "x" * 200


def test_a_header_id_may_be_in_any_script():
    assert found({"x-session-id": "会話".encode().decode("latin-1")}).key == "会話"


@pytest.mark.parametrize("long", ["y" * 201, "a\nb", "derived:me"])
def test_a_body_id_that_cannot_be_a_key_is_hashed(long: str):
    key = found({}, long).key
    assert key.startswith("sha256:")
    assert len(key) < 60
    assert found({}, long).key == key != found({}, long + "z").key


def test_a_model_has_a_record_of_its_own():
    assert found({"x-session-id": "s"}).of_model(ref("acme/big")) == "s#acme/big"
    assert found({"x-session-id": "s"}).of_model(None) == "s"


def test_else_caller_and_first_message_make_a_derived_session():
    one = found({"user-agent": "OpenAI/Python 3.57", "authorization": "Bearer secret-key"})
    again = found({"user-agent": "OpenAI/Python 3.57", "authorization": "Bearer secret-key"})
    assert one == again
    assert one.key.startswith("derived:")
    assert one.caller is not None
    assert one.caller.startswith("OpenAI/Python at 127.0.0.1")
    assert "secret" not in f"{one}"
    others = [
        found({"user-agent": "curl/8", "authorization": "Bearer secret-key"}),
        found({"user-agent": "OpenAI/Python 3.57", "authorization": "Bearer other"}),
        found({"user-agent": "OpenAI/Python 3.57", "authorization": "Bearer secret-key"}, client="10.0.0.9"),
    ]
    assert len({one.caller, *(other.caller for other in others)}) == 4
    next_chat = found({"user-agent": "OpenAI/Python 3.57", "authorization": "Bearer secret-key"}, message=[{"type": "text"}])
    assert next_chat.key != one.key
    assert next_chat.caller == one.caller


def test_sessions_with_an_id_are_not_derived():
    assert found({"x-session-id": "s"}).caller is None
    assert found({}, "user").caller is None
