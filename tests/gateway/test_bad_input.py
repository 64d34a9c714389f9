"""Each line under "Bad input" of issue 4, the whole way: a clear answer, bounded memory, and nobody's health harmed by a caller's fault."""

from __future__ import annotations

import asyncio
import gzip
import json
import resource
import zlib
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.fakes.families import FAMILIES, answering, preamble
from tests.fakes.provider import Answer, Call, FakeProvider, Wire, bytes_only, hang, status, stream
from tests.gateway.family_house import FamilyHouse, family_house
from tests.gateway.test_across_families import CHAT, ENDS, MESSAGES, PATHS, SAID, TERMINAL, begun, post, second_of

MB = 1024 * 1024
by_dialect = pytest.mark.parametrize("dialect", PATHS)
by_family = pytest.mark.parametrize("family", FAMILIES)


def healthy(house: FamilyHouse) -> bool:
    return not any(house.engine.open_windows.values())


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# --- callers ---------------------------------------------------------------------------------------------------------------


@by_dialect
async def test_wrong_paths_methods_bodies_models_and_sessions_are_the_callers_to_mend(dialect: str) -> None:
    path, said = PATHS[dialect], SAID[dialect]
    async with family_house((CHAT,)) as house:
        client = house.gateway.client
        answers = {
            404: [await client.post(f"/v1{path}", json=said), await client.post(path, json={**said, "model": "nobody/has-it"})],
            405: [await client.request(method, path) for method in ("GET", "PUT", "DELETE", "PATCH")],
            400: [
                await client.post(path, content=b'{"half":'),
                await client.post(path, content=b"\xff\xfe\x00"),
                await client.post(path, content=b"a=b&c=d", headers={"content-type": "application/x-www-form-urlencoded"}),
                await client.post(path, content=b"[" * 100_000),
                await client.post(path, json=said, headers={"x-failover-session": "s" * 10_240}),
            ],
        }
        for code, found in answers.items():
            for answer in found:
                assert answer.status_code == code, answer.text
                assert len(answer.json()["error"]["message"]) > 20
        assert house.providers[CHAT].calls == []
        # A JSON body under another name is read all the same: some clients name none.
        assert (await client.post(path, content=json.dumps(said), headers={"content-type": "text/plain"})).status_code == 200
        assert healthy(house)


async def test_a_session_id_of_10_kb_in_a_body_is_hashed() -> None:
    async with family_house((CHAT,)) as house:
        heads = {"x-failover-session": ""}
        body = {**SAID[MESSAGES], "metadata": {"user_id": "u" * 10_240}}
        assert (await house.gateway.client.post(PATHS[MESSAGES], json=body, headers=heads)).status_code == 200
        keys = [str(session.key) for session in (await house.engine.snapshot()).sessions]
        assert [len(key) < 64 and key.startswith("sha256:") for key in keys] == [True]


@by_dialect
@by_family
async def test_a_caller_with_a_50_ms_deadline_harms_nobody_attempt_caller_fault(dialect: str, family: str) -> None:
    async with family_house((family, second_of(family))) as house:
        house.providers[family].on("*", hang())
        house.providers[second_of(family)].on("*", hang())
        timed = await house.gateway.client.post(PATHS[dialect], json=SAID[dialect], headers={"x-failover-timeout": "0.05"})
        assert (timed.status_code, timed.json()["error"]["code"]) == (504, "run_budget_exceeded")
        with pytest.raises(httpx.ReadTimeout):
            await house.gateway.client.post(PATHS[dialect], json=SAID[dialect], timeout=0.05)
        for call in house.providers[family].calls:
            await asyncio.wait_for(call.closed.wait(), 2)
        assert healthy(house)


async def test_500_callers_that_vanish_leave_nothing_behind() -> None:
    async with family_house((CHAT, MESSAGES)) as house:
        provider = house.providers[CHAT]
        provider.on("*", stream(*begun(CHAT), None))
        body = json.dumps({**SAID[CHAT], "stream": True}).encode()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n" % len(body)

        async def vanish(n: int) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", house.gateway.port)
            if n % 5 == 0:
                writer.write(head + body[: len(body) // 2])  # in the middle of its own request
            else:
                writer.write(head + body)
                if n % 2:
                    await reader.readuntil(b"data: ")
            writer.transport.abort()

        for first in range(0, 500, 50):
            await asyncio.gather(*(vanish(n) for n in range(first, first + 50)))
        for call in provider.calls:
            await asyncio.wait_for(call.closed.wait(), 10)
        await asyncio.wait_for(house.gateway.app.idle.wait(), 10)
        assert house.providers[MESSAGES].calls == []
        assert healthy(house)
        provider.on("*", answering(CHAT))
        assert ENDS[CHAT] in (await post(house, CHAT)).content


# --- providers -------------------------------------------------------------------------------------------------------------


async def half_a_chunk(_call: Call, wire: Wire) -> None:
    await wire.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
    await wire.raw(b'400\r\ndata: {"half')
    await asyncio.Event().wait()


async def endless(_call: Call, wire: Wire) -> None:
    await wire.head(200, {"content-type": "application/json", "transfer-encoding": "chunked"})
    for _ in range(1024):
        await wire.chunk(b"[" + b" " * (MB - 1))


async def endless_preamble(_call: Call, wire: Wire) -> None:
    await wire.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
    for _ in range(1024):
        await wire.chunk(b": nothing\n\n" * 90_000)


async def huge_headers(_call: Call, wire: Wire) -> None:
    await wire.raw(b"HTTP/1.1 200 OK\r\n" + b"x-junk: " + b"j" * MB + b"\r\n\r\n")


HALF = bytes_only(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4000\r\n\r\n{"id": "x", "mod')
BAD: dict[str, Answer] = {
    "half of the length it said": HALF,
    "html": status(200, "<html><body>Welcome to the hotel's wifi</body></html>", {"content-type": "text/html"}),
    "half a chunk then silence": half_a_chunk,
    "1 GB without end": endless,
    "a preamble of 1 GB": endless_preamble,
    "headers of 1 MB": huge_headers,
    "gzip rubbish": status(200, b"\x1f\x8b" + b"rubbish" * 9, {"content-encoding": "gzip"}),
    "a bomb": status(200, gzip.compress(b"{" + b" " * 300 * MB, 1), {"content-encoding": "gzip"}),
    "a redirect": status(307, "", {"location": "http://127.0.0.1:9/elsewhere"}),
}


@by_family
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("bad", BAD)
async def test_what_a_provider_sends_instead_of_an_answer_is_a_failed_attempt(family: str, streamed: bool, bad: str) -> None:
    second = second_of(family)
    before = peak_mb()
    async with family_house((family, second), patience_s=0.3) as house:
        house.providers[family].on("*", BAD[bad])
        answer = await post(house, CHAT, streamed=streamed)
        assert (answer.status_code, answer.headers["x-failover-served"]) == (200, house.model(second)), answer.text
        assert b"hotel" not in answer.content
        assert len(house.providers[family].calls) == 1
    assert peak_mb() - before < 220


def half_a_chunk_later(family: str) -> Answer:
    async def answer(_call: Call, wire: Wire) -> None:
        await wire.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        await wire.chunk(b"".join(begun(family)))
        await wire.raw(b'400\r\ndata: {"half')
        await asyncio.Event().wait()

    return answer


def gzip_rubbish_later(family: str) -> Answer:
    packing = zlib.compressobj(wbits=31)
    packed = packing.compress(b"".join(begun(family))) + packing.flush(zlib.Z_SYNC_FLUSH)
    return stream(packed, b"\xff" + b"rubbish" * 9, headers={"content-encoding": "gzip"})


def shorter_than_it_said(family: str) -> Answer:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 90000\r\n\r\n"
    return bytes_only(head + b"".join(begun(family)))


@by_dialect
@by_family
@pytest.mark.parametrize("later", [half_a_chunk_later, gzip_rubbish_later, shorter_than_it_said])
async def test_what_a_provider_sends_after_its_first_words_ends_the_answer_partial(
    dialect: str, family: str, later: Callable[[str], Answer]
) -> None:
    async with family_house((family, second_of(family)), patience_s=0.3) as house:
        house.providers[family].on("*", later(family))
        answer = await post(house, dialect)
        assert answer.status_code == 200
        assert b"hello" in answer.content
        assert b"answer_incomplete" in answer.content
        assert TERMINAL[dialect] in answer.content
        assert ENDS[dialect] not in answer.content
        assert house.providers[second_of(family)].calls == []


@by_dialect
@by_family
@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
async def test_an_event_of_10_mb_passes_or_ends_the_answer_and_fills_no_memory(dialect: str, family: str, first: bool) -> None:
    before = peak_mb()
    async with family_house((family,)) as house:
        line = b"data: {" + b" " * 10 * MB + b"}\n\n"
        provider = house.providers[family]
        provider.on("*", stream(*([] if first else begun(family)), line, end=False))
        answer = await post(house, dialect)
        assert answer.status_code == 200
        assert first or answer.content.startswith(b"".join(preamble(family))[:20] if dialect == family else b"")
        assert b"answer_incomplete" in answer.content[-2000:]
    assert peak_mb() - before < 150


@by_family
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_redirect_takes_no_key_elsewhere(family: str, streamed: bool) -> None:
    async with family_house((family,)) as house:
        elsewhere = FakeProvider()
        await elsewhere.start()
        try:
            house.providers[family].on("*", status(307, "", {"location": f"{elsewhere.base_url}/chat/completions"}))
            answer: Any = await post(house, CHAT, streamed=streamed)
            assert answer.status_code >= 500
            assert (elsewhere.connections, elsewhere.calls) == (0, [])
        finally:
            await elsewhere.stop()
