"""The console's side of the operator API, against a real server on loopback."""

from __future__ import annotations

import asyncio
import socket

import httpx
import pytest

import console.remote
from console.remote import RemoteOperations
from engine.domain.acts import ActResult as Result
from engine.domain.acts import Clear, Reset, SetOff
from engine.domain.decisions import Matching
from engine.domain.errors import FailoverError, GatewayUnreachable
from engine.domain.foresight import Assumption, At, Fails
from engine.domain.ids import ProfileId, SessionKey
from tests.operator.fake import DECISION, NOW, PREVIEW, SNAPSHOT, TOKEN, FakeOperations, served

MAIN = SessionKey("main")


async def test_what_the_engine_says_arrives_as_the_same_objects():
    operations = FakeOperations()
    async with served(operations) as url, RemoteOperations(url, TOKEN, instance="i-1") as remote:
        assert await remote.snapshot() == SNAPSHOT
        assert await remote.preview(PREVIEW.session) == PREVIEW
        assert await remote.decisions(session=MAIN, limit=3) == [DECISION]
        assert await remote.act(Reset(MAIN), "ana (pts/3)") == operations.result
    assert operations.acts == [(Reset(MAIN), "ana (pts/3)")]


async def test_a_refusal_is_a_result_and_an_error_keeps_its_three_sentences():
    operations = FakeOperations(Result(False, "read-only", outcome="not_probeable"))
    async with served(operations) as url, RemoteOperations(url, TOKEN, instance="i-1") as remote:
        assert (await remote.act(Reset(MAIN), "ana")).message == "read-only"
        with pytest.raises(FailoverError) as told:
            await remote.preview(SessionKey("nobody"))
    assert (told.value.title, told.value.next_step) == ("No such session", "see `failover sessions`")


async def test_the_token_is_never_sent_to_another_program():
    seen: list[httpx.Request] = []

    def impostor(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"instance": "i-2"})

    remote = RemoteOperations("http://127.0.0.1:1", TOKEN, instance="i-1", transport=httpx.MockTransport(impostor))
    for ask in (remote.snapshot(), remote.act(Reset(MAIN), "ana"), anext(aiter(remote.events()))):
        with pytest.raises(GatewayUnreachable, match="Another program"):
            await ask
    assert {request.url.path for request in seen} == {"/operator/instance"}
    assert not any("authorization" in request.headers for request in seen)
    await remote.aclose()


async def test_a_proxy_of_the_environment_is_not_asked(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with served(FakeOperations()) as url, RemoteOperations(url, TOKEN) as remote:
        assert (await remote.snapshot()).revision == 7


async def test_nobody_there_is_said_with_the_next_step():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    async with RemoteOperations(url, TOKEN, instance="i-1") as remote:
        with pytest.raises(GatewayUnreachable) as told:
            await remote.snapshot()
        with pytest.raises(GatewayUnreachable):
            await anext(aiter(remote.events()))
    assert url in told.value.happened
    assert "failover serve" in told.value.next_step


async def test_an_act_without_an_answer_is_given_up_and_says_that_it_may_have_been_done(monkeypatch):
    monkeypatch.setattr(console.remote, "VIEW_S", 0.05)

    answered = asyncio.Event()

    class Hanging(FakeOperations):
        async def act(self, act, by):
            await answered.wait()
            return await super().act(act, by)

    async with served(Hanging()) as url, RemoteOperations(url, TOKEN) as remote:
        with pytest.raises(GatewayUnreachable, match="not reachable") as told:
            async with asyncio.timeout(5):
                await remote.act(Reset(MAIN), "ana")
        answered.set()
    assert "may have been done" in told.value.next_step


async def test_a_bug_of_the_engine_is_told_as_one_without_its_text():
    class Broken(FakeOperations):
        async def snapshot(self):
            raise RuntimeError("key sk-secret-1")

    async with served(Broken()) as url, RemoteOperations(url, TOKEN, instance="i-1") as remote:
        with pytest.raises(FailoverError, match="internal error") as told:
            await remote.snapshot()
    assert (told.value.happened, told.value.next_step) == ("RuntimeError in snapshot", "the gateway's log has the details")


async def test_a_wrong_token_says_so_and_does_not_repeat_it():
    async with served(FakeOperations()) as url, RemoteOperations(url, "wrong-token", instance="i-1") as remote:
        with pytest.raises(FailoverError, match="token is missing or wrong") as told:
            await remote.snapshot()
    assert "wrong-token" not in str(told.value)


@pytest.mark.parametrize("body", [b"<html>", b"{}", b"[]", b""])
async def test_an_answer_of_another_shape_is_no_traceback(body):
    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=body))
    async with RemoteOperations("http://127.0.0.1:1", TOKEN, transport=transport) as remote:
        for ask in (remote.snapshot(), remote.preview(MAIN), remote.decisions(), remote.act(Reset(MAIN), "ana")):
            with pytest.raises(GatewayUnreachable, match="another version"):
                await ask


async def test_events_arrive_in_order_and_a_stopping_gateway_ends_them():
    operations = FakeOperations()
    operations.happen(1, event="turn_started", at=1)
    async with served(operations) as url, RemoteOperations(url, TOKEN, instance="i-1") as remote:
        found = aiter(remote.events(after=0))
        assert (await anext(found)).data["event"] == "turn_started"
        operations.happen(2, event="notice", at=2, text="two\nlines")
        event = await anext(found)
        assert (event.seq, event.data["text"]) == (2, "two\nlines")
        operations.end()
        with pytest.raises(GatewayUnreachable, match="ended the event stream"):
            await anext(found)


async def test_a_stream_that_falls_silent_is_noticed(monkeypatch):
    monkeypatch.setattr(console.remote, "SILENCE_S", 0.05)
    async with served(FakeOperations()) as url, RemoteOperations(url, TOKEN, instance="i-1") as remote:
        with pytest.raises(GatewayUnreachable, match="not reachable"):
            async with asyncio.timeout(5):
                await anext(aiter(remote.events()))


async def test_a_quiet_stream_gives_signs_of_life(monkeypatch):
    monkeypatch.setattr("engine.gateway.operator.HEARTBEAT_S", 0.02)
    monkeypatch.setattr(console.remote, "SILENCE_S", 0.5)
    operations = FakeOperations()
    async with served(operations) as url, RemoteOperations(url, TOKEN, instance="i-1") as remote:
        waiting = asyncio.ensure_future(anext(aiter(remote.events())))
        await operations.read.wait()
        # Longer than the silence that ends a stream.
        done, _ = await asyncio.wait({waiting}, timeout=0.6)
        assert not done
        operations.happen(1, event="alarm", at=1)
        assert (await waiting).data["event"] == "alarm"


async def test_after_a_restart_the_instance_is_checked_again():
    async with served(FakeOperations()) as url, RemoteOperations(url, TOKEN, instance="i-1") as remote:
        await remote.snapshot()
        port = int(url.rpartition(":")[2])
    async with served(FakeOperations(), instance="i-2", port=port):
        with pytest.raises(GatewayUnreachable):
            await remote.snapshot()
        with pytest.raises(GatewayUnreachable, match="Another program"):
            await remote.snapshot()
    await remote.aclose()


async def test_the_next_gateway_of_a_directory_is_found_at_its_new_address_with_its_events_from_the_start():
    first, second = FakeOperations(), FakeOperations()
    first.happen(1, event="notice", at=1, text="the first's")
    second.happen(1, event="notice", at=2, text="the second's")
    place: list[tuple[str, str, str]] = []
    async with served(first) as url:
        remote = RemoteOperations(url, TOKEN, instance="i-1", anew=lambda: place[0])
        assert (await anext(aiter(remote.events(after=0)))).data["text"] == "the first's"
    async with served(second, instance="i-2") as other, remote:
        place.append((other, TOKEN, "i-2"))
        with pytest.raises(GatewayUnreachable):
            await remote.snapshot()
        found = await anext(aiter(remote.events(after=1)))
    assert found.data["text"] == "the second's"


def test_the_console_can_be_read_from_without_textual():
    import subprocess
    import sys

    code = "import sys, console.remote; print([m for m in sys.modules if m.split('.')[0] in ('textual', 'starlette', 'uvicorn')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_decisions_are_asked_by_provider_reason_and_time():
    operations = FakeOperations()
    matching = Matching("acme", "billing", 1, 2)
    async with served(operations) as url, RemoteOperations(url, TOKEN, instance="i-1") as remote:
        await remote.decisions(session=MAIN, limit=3, matching=matching)
    assert operations.asked == [{"session": "main", "turn": None, "limit": 3, "matching": matching}]


async def test_what_if_moves_and_detail_arrive_as_they_were_asked_and_answered():
    operations = FakeOperations()
    assumed: list[Assumption] = [Fails("acme:k1", status=429, wait_s=9), At(NOW + 1), Clear(ProfileId("acme:k1")), SetOff("zeta", "audit")]
    async with served(operations) as url, RemoteOperations(url, TOKEN) as remote:
        found = await remote.what_if(SessionKey("support-bot"), assumed)
        assert (found.active, found.before, found.taken[0].text) == ("zeta/std", PREVIEW, "assumed")
        assert (await remote.moves(assumed)).examined == 2
        assert (await remote.detail(SessionKey("support-bot"))).session == "support-bot"
    assert operations.assumed == [(SessionKey("support-bot"), tuple(assumed)), (None, tuple(assumed))]
    assert operations.acts == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"nonsense", "not understood"),
        (b'{"session": "main", "assumptions": ["x"]}', "assumptions[0]"),
        (b'{"session": "main", "assumptions": [{"assume": "fails", "target": 7}]}', "assumptions[0].target"),
        (b'{"session": "main", "assumptions": [{"act": "probe", "session": "main"}]}', "needs a real call"),
        (b'{"assumptions": []}', "for which session"),
    ],
)
async def test_a_question_that_does_not_fit_says_where(body: bytes, words: str):
    operations = FakeOperations()
    async with served(operations) as url, httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"{url}/operator/what_if", content=body, headers={"authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 400
        assert words in answer.text
        assert (await client.get(f"{url}/operator/what_if", headers={"authorization": f"Bearer {TOKEN}"})).status_code == 405
    assert operations.assumed == []
