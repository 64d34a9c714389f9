"""The operator API as a stranger with an HTTP client sees it."""

from __future__ import annotations

import json
import socket

import httpx
import pytest

from engine.domain.acts import ActResult as Result
from engine.domain.acts import Pin, Probe, SetOrder
from engine.domain.errors import ActRefused, UsageError
from engine.domain.ids import ProfileId, SessionKey
from engine.gateway.wire import dump, dump_by, load_act, load_by
from tests.operator.fake import TOKEN, FakeOperations, served

AUTH = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture
async def client():
    async with httpx.AsyncClient(trust_env=False) as found:
        yield found


async def test_every_view_and_act_needs_the_token(client):
    operations = FakeOperations()
    async with served(operations) as url:
        for name in ("snapshot", "events", "preview?session=support-bot", "decisions", "nonsense"):
            for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {TOKEN}"}, {"x-api-key": TOKEN}):
                answer = await client.get(f"{url}/operator/{name}", headers=headers)
                assert answer.status_code == 401, name
                assert TOKEN not in answer.text
        answer = await client.post(f"{url}/operator/acts", json={"act": "unpin", "session": "main"})
        assert answer.status_code == 401
    assert operations.acts == []


async def test_the_instance_is_told_without_a_token_and_on_every_answer(client):
    async with served(FakeOperations(), instance="i-77") as url:
        answer = await client.get(f"{url}/operator/instance")
        assert answer.json()["instance"] == "i-77"
        assert (await client.get(f"{url}/operator/snapshot")).headers["x-failover-instance"] == "i-77"


async def test_a_snapshot_is_json_in_snake_case_and_is_not_cached(client):
    async with served(FakeOperations()) as url:
        answer = await client.get(f"{url}/operator/snapshot", headers=AUTH)
    assert answer.headers["cache-control"] == "no-store"
    told = answer.json()
    assert told["profiles"][0]["window"]["state"] == "cooldown"
    assert told["sessions"][0]["in_flight"][0]["committed"] is False


async def test_an_act_is_post_only_so_that_no_link_can_act(client):
    operations = FakeOperations()
    async with served(operations) as url:
        answer = await client.get(f"{url}/operator/acts?act=reset&session=main", headers=AUTH)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert (await client.post(f"{url}/operator/snapshot", headers=AUTH)).status_code == 405
    assert operations.acts == []


async def test_an_act_says_who_acts(client):
    operations = FakeOperations()
    async with served(operations) as url:
        body = {"act": "pin", "session": "main", "profile": "acme:k1", "reason": "quota", "until": 5}
        answer = await client.post(f"{url}/operator/acts", headers={**AUTH, "x-failover-by": dump_by("ána (pts/3)")}, json=body)
        assert answer.json()["act_id"] == "a1"
        await client.post(f"{url}/operator/acts", headers=AUTH, json={"act": "probe", "session": "main"})
    assert operations.acts == [
        (Pin(SessionKey("main"), ProfileId("acme:k1"), "quota", 5), "ána (pts/3)"),
        (Probe(SessionKey("main")), "operator token"),
    ]


async def test_an_act_whose_sender_has_given_up_is_not_made_up_for_by_a_gateway_that_hung(client):
    operations = FakeOperations()
    async with served(operations) as url:
        body = dump(Probe(SessionKey("given-up")))
        head = f"POST /operator/acts HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {len(body)}\r\n\r\n"
        # This blocks the loop of the gateway, too: when it goes on, the act is there and its sender has gone.
        with socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0)) as sender:
            sender.sendall(head.encode() + body)
        await client.post(f"{url}/operator/acts", headers=AUTH, json={"act": "probe", "session": "waiting"})
    assert [act for act, _ in operations.acts] == [Probe(SessionKey("waiting"))]


async def test_a_refused_act_is_a_409_that_says_why(client):
    operations = FakeOperations(Result(False, "read-only"))
    async with served(operations) as url:
        answer = await client.post(f"{url}/operator/acts", headers=AUTH, json={"act": "reset", "session": "main"})
        assert (answer.status_code, answer.json()["message"]) == (409, "read-only")
        operations.result = ActRefused("No such profile", "acme:k9 is not stored", "see `failover profiles list`")
        answer = await client.post(f"{url}/operator/acts", headers=AUTH, json={"act": "clear", "profile": "acme:k9"})
        assert (answer.status_code, answer.json()["error"]["next"]) == (409, "see `failover profiles list`")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"{", "JSON"),
        (b"[]", "JSON"),
        (b"{}", "act: is missing"),
        (b'{"act": "pim"}', "act: "),
        (b'{"act": ["pin"]}', "act: "),
        (b'{"act": "pin", "session": "main"}', "profile: is missing"),
        (b'{"act": "pin", "session": "main", "profile": "a:b", "untill": 5}', "untill: "),
        (b'{"act": "pin", "session": "main", "profile": 5}', "profile: "),
        (b'{"act": "pin", "session": "main", "profile": "a:b", "until": "soon"}', "until: "),
        (b'{"act": "order", "provider": "acme", "profiles": ["a:b", 5]}', "profiles.1: "),
        (b'{"act": "clear", "profile": "a:b", "verify": "yes"}', "verify: "),
    ],
)
async def test_an_act_that_does_not_fit_is_refused_with_its_path(client, body, path):
    operations = FakeOperations()
    async with served(operations) as url:
        answer = await client.post(f"{url}/operator/acts", headers=AUTH, content=body)
    assert answer.status_code == 400
    said = answer.json()["error"]
    assert path in f"{said['title']}\n{said['happened']}"
    assert operations.acts == []


async def test_a_misspelt_act_is_answered_with_the_one_that_was_meant(client):
    async with served(FakeOperations()) as url:
        answer = await client.post(f"{url}/operator/acts", headers=AUTH, json={"act": "unpn", "session": "main"})
    assert answer.json()["error"]["next"] == "did you mean unpin?"


async def test_an_act_of_a_megabyte_is_not_read_to_its_end(client):
    async with served(FakeOperations()) as url:
        answer = await client.post(f"{url}/operator/acts", headers=AUTH, content=b" " * 1_000_000)
    assert answer.status_code == 413


async def test_decisions_are_asked_by_session_turn_and_limit(client):
    operations = FakeOperations()
    async with served(operations) as url:
        answer = await client.get(f"{url}/operator/decisions?session=support-bot&turn=t0&limit=5", headers=AUTH)
        assert answer.json()["decisions"][0]["turn"] == "t0"
        for limit in ("0", "100000", "many"):
            assert (await client.get(f"{url}/operator/decisions?limit={limit}", headers=AUTH)).status_code == 400
    assert operations.asked == [{"session": "support-bot", "turn": "t0", "limit": 5}]


async def test_a_reader_that_comes_back_gets_what_it_missed(client):
    operations = FakeOperations()
    operations.happen(1, event="turn_started", at=1)
    operations.happen(2, event="notice", at=2, text="line\u2028break")
    async with served(operations) as url:
        for how in ({"params": {"after": "1"}, "headers": AUTH}, {"headers": {**AUTH, "last-event-id": "1"}}):
            async with client.stream("GET", f"{url}/operator/events", **how) as answer:
                assert answer.headers["content-type"].startswith("text/event-stream")
                async for line in answer.aiter_lines():
                    if line.startswith("data"):
                        break
            assert json.loads(line.removeprefix("data: ")) == {"event": "notice", "at": 2, "text": "line\u2028break"}


async def test_an_unknown_route_lists_the_known_ones(client):
    async with served(FakeOperations()) as url:
        answer = await client.get(f"{url}/operator/shutdown", headers=AUTH)
    assert answer.status_code == 404
    assert "snapshot" in answer.json()["error"]["next"]


def test_every_act_survives_the_wire():
    for act in (Pin(SessionKey("s"), ProfileId("a:b")), SetOrder("acme", (ProfileId("a:1"), ProfileId("a:2"))), SetOrder("acme", None)):
        assert load_act(dump(act)) == act


def test_a_name_in_a_header_keeps_its_letters_and_loses_its_escapes():
    assert load_by(dump_by("ána\x1b[2J\r\nx-evil: 1")) == "ána[2Jx-evil: 1"
    assert "\r" not in dump_by("a\r\nb")
    assert len(load_by("x" * 5000)) <= 120


def test_the_acts_error_is_a_usage_error():
    with pytest.raises(UsageError):
        load_act(b"null")
