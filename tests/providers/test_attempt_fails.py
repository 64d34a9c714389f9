"""One attempt that fails: what the classifier gets to see, and that nothing a provider sends costs memory or raises."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import ssl

import httpx
import pytest

from engine.domain.exchange import AttemptFailed
from engine.policy.classify import classify, never_connected
from engine.providers.client import ERROR_BODY_LIMIT, HttpUpstream
from engine.providers.failures import connection_failure
from tests.fakes import provider as fake
from tests.fakes.provider import DONE, ROLE, STOP, FakeProvider, data, event, stream
from tests.providers.attempts import Attempts, failure_of


async def test_an_error_brings_status_body_and_headers(provider: FakeProvider, attempt: Attempts):
    provider.on("big", fake.error(429, "slow down", headers={"retry-after": "7"}))
    failure = failure_of(await attempt())
    assert failure.status == 429
    assert json.loads(failure.body or "")["error"]["message"] == "slow down"
    assert failure.headers["retry-after"] == "7"
    assert failure.connected


async def test_a_redirect_is_a_failure_and_the_key_stays_here(provider: FakeProvider, attempt: Attempts):
    provider.on("big", fake.status(307, "", {"location": f"http://127.0.0.1:{provider.port}/elsewhere"}))
    failure = failure_of(await attempt())
    assert failure.status == 307
    assert len(provider.calls) == 1


IN_A_200 = [
    ({"error": {"message": "Rate limit exceeded", "code": 429}}, "rate_limit"),
    ({"error": "overloaded"}, "overloaded"),
    ({"object": "error", "message": "Rate limit reached", "code": 429}, "rate_limit"),
    ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}, "choices": None}, "billing"),
    ({"choices": [{"error": {"message": "overloaded"}, "message": {"content": ""}}]}, "overloaded"),
    ({"choices": [{"delta": {}, "message": {"content": ""}, "finish_reason": "error"}]}, "timeout"),
]


@pytest.mark.parametrize(("body", "reason"), IN_A_200)
async def test_an_error_inside_a_200_is_a_failure(provider: FakeProvider, attempt: Attempts, body: dict, reason: str):
    provider.on("big", fake.status(200, body), stream(ROLE, data(body), ROLE))
    for streamed in (False, True):
        failure = failure_of(await attempt(stream=streamed))
        assert failure.status == 200
        assert classify(failure, "acme").reason == reason


async def test_an_error_event_before_content_is_a_failure(provider: FakeProvider, attempt: Attempts):
    provider.on("big", stream(ROLE, b'event: error\ndata: {"message": "overloaded_error"}\n\n'), stream(b"event: error\n\n"))
    assert classify(failure_of(await attempt(stream=True)), "acme").reason == "overloaded"
    assert failure_of(await attempt(stream=True)).message == "the stream held an error without details"


async def test_an_error_as_json_to_a_streamed_request_is_a_failure(provider: FakeProvider, attempt: Attempts):
    body = {"error": {"message": "overloaded"}}
    plain = {"content-type": "text/plain"}
    provider.on("big", fake.status(200, body), fake.status(200, body, plain))
    for _ in range(2):
        assert classify(failure_of(await attempt(stream=True)), "acme").reason == "overloaded"


@pytest.mark.parametrize(
    "body",
    ["<!doctype html><html>rate limit</html>", "  <html></html>", '{"choices":[{"message":{"content":"rate lim', "upstream connect error"],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_pages_and_truncated_json_are_failures(provider: FakeProvider, attempt: Attempts, body: str, streamed: bool):
    provider.on("big", fake.status(200, body, {"content-type": "text/html"} if body.startswith("<") else {}))
    failure = failure_of(await attempt(stream=streamed))
    assert failure.status == 200
    assert failure.body or failure.message


async def test_half_an_answer_is_no_evidence(provider: FakeProvider, attempt: Attempts):
    provider.on("big", fake.status(200, '{"choices":[{"message":{"content":"the rate limit is'))
    assert classify(failure_of(await attempt()), "acme").reason is None


async def test_a_connection_cut_before_content_is_a_timeout_that_was_accepted(provider: FakeProvider, attempt: Attempts):
    for answer in (fake.drop(), fake.bytes_only(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"), fake.bytes_only(b"rubbish\r\n\r\n")):
        provider.on("big", answer)
        failure = failure_of(await attempt())
        assert classify(failure, "acme").reason == "timeout"
        assert not never_connected(failure)


async def test_a_stream_cut_before_content_is_a_failure(provider: FakeProvider, attempt: Attempts):
    provider.on("big", stream(ROLE, end=False))
    assert classify(failure_of(await attempt(stream=True)), "acme").reason == "timeout"


async def test_connection_refused_was_never_made(provider: FakeProvider, attempt: Attempts):
    await provider.stop()
    got = await attempt()
    failure = failure_of(got)
    assert (failure.code, failure.connected) == ("ECONNREFUSED", False)
    assert classify(failure, "acme").reason == "timeout"
    assert isinstance(got, AttemptFailed)
    assert got.calls == 1


async def test_an_unknown_host_was_never_connected(attempt: Attempts):
    failure = failure_of(await attempt(base_url="http://nowhere.invalid/v1"))
    assert (failure.code, failure.connected) == ("ENOTFOUND", False)


async def test_a_connect_timeout_was_never_connected():
    failure = connection_failure(httpx.ConnectTimeout("no connection to x:1 within 10 s"))
    assert not failure.connected
    assert classify(failure, "acme").reason == "timeout"
    # What remains of it in a turn's record says so, too.
    assert never_connected(type(failure)(message=failure.message))


async def test_a_handshake_broken_off_was_never_connected(provider: FakeProvider, attempt: Attempts):
    async def slam(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    server = await asyncio.start_server(slam, "127.0.0.1", 0)
    async with server:
        failure = failure_of(await attempt(base_url=f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"))
    assert not failure.connected
    assert classify(failure, "acme").reason == "timeout"


async def test_tls_to_a_plain_port_and_bad_certificates_are_not_that(attempt: Attempts):
    async def plain(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with server:
        failures = [failure_of(await attempt(base_url=f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"))]
    error = httpx.ConnectError("no connection")
    error.__cause__ = ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed certificate")
    failures.append(connection_failure(error))
    for failure in failures:
        assert failure.connected
        assert not never_connected(failure)
        assert classify(failure, "acme").reason is None


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/v1", "nonsense", "http://", "http://["])
async def test_a_bad_url_is_a_failure_and_no_call(attempt: Attempts, url: str):
    got = await attempt(base_url=url)
    assert isinstance(got, AttemptFailed)
    assert got.calls == 0


async def test_no_first_byte_in_time_is_an_accepted_timeout(provider: FakeProvider, attempt: Attempts):
    headers_only = stream(None)
    provider.on("big", fake.hang(), headers_only)
    for _ in range(2):
        failure = failure_of(await attempt(stream=True, first_byte_s=0.05))
        assert classify(failure, "acme").reason == "timeout"
        assert failure.connected
        assert not failure.caller_fault


async def test_a_whole_answer_has_its_total_time(provider: FakeProvider, attempt: Attempts):
    async def drip(_call: fake.Call, wire: fake.Wire) -> None:
        await wire.head(200, {"content-type": "application/json", "transfer-encoding": "chunked"})
        while True:
            await wire.chunk(b" ")
            await asyncio.sleep(0.01)

    provider.on("big", drip)
    assert classify(failure_of(await attempt(timeout_s=0.1)), "acme").reason == "timeout"
    await asyncio.wait_for(provider.calls[0].closed.wait(), 1)


async def test_a_stalled_preamble_is_a_timeout(provider: FakeProvider, attempt: Attempts):
    provider.on("big", stream(ROLE, None))
    assert classify(failure_of(await attempt(stream=True, idle_timeout_s=0.05)), "acme").reason == "timeout"


async def test_keep_alive_comments_do_not_hold_an_attempt_for_ever(provider: FakeProvider, attempt: Attempts):
    provider.on("big", stream(*(b": wait\n\n", 0.01) * 1000))
    assert classify(failure_of(await attempt(stream=True, timeout_s=0.15, first_byte_s=0.05)), "acme").reason == "timeout"


async def test_our_callers_limit_is_the_callers_fault(provider: FakeProvider, attempt: Attempts):
    provider.on("big", fake.hang())
    got = await attempt(limit_ms=30)
    assert isinstance(got, AttemptFailed)
    assert got.failure.caller_fault
    assert got.calls == 1
    await asyncio.wait_for(provider.calls[0].closed.wait(), 1)


async def test_attempt_retry_after_waits_for_each_answers_own_hint(provider: FakeProvider, attempt: Attempts):
    first, second = fake.error(429, "x", headers={"retry-after": "2"}), fake.error(503, "x", headers={"retry-after-ms": "50"})
    provider.on("big", first, second, fake.ok())
    answer = await attempt(max_retries=2)
    assert not isinstance(answer, AttemptFailed)
    assert answer.calls == 3
    assert attempt.slept == [2.0, 0.05]


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (429, {}),
        (429, {"retry-after": "61"}),
        (429, {"retry-after": "soon"}),
        (429, {"retry-after": "-1"}),
        (429, {"retry-after": "nan"}),
        (429, {"retry-after": "Mon, 01 Jan 1990 00:00:00 GMT"}),
        (400, {"retry-after": "1"}),
        (401, {"retry-after": "1"}),
    ],
)
async def test_attempt_retry_after_returns_at_once_otherwise(provider: FakeProvider, attempt: Attempts, status: int, headers: dict):
    provider.on("big", fake.error(status, "x", headers=headers))
    got = await attempt(max_retries=3)
    assert isinstance(got, AttemptFailed)
    assert (got.calls, attempt.slept) == (1, [])


async def test_attempt_retry_after_is_off_by_default_and_bounded(provider: FakeProvider, attempt: Attempts):
    provider.on("big", fake.error(503, "x", headers={"retry-after": "1"}))
    for retries, calls in ((0, 1), (2, 3)):
        got = await attempt(max_retries=retries)
        assert isinstance(got, AttemptFailed)
        assert got.calls == calls


async def test_attempt_retry_after_has_no_cap_when_it_is_removed(provider: FakeProvider, attempt: Attempts):
    provider.on("big", fake.error(408, "x", headers={"retry-after": "3600"}), fake.ok())
    await attempt(max_retries=1, retry_max_wait_ms=None)
    assert attempt.slept == [3600.0]


async def test_attempt_retry_after_longer_than_what_is_left_is_not_waited_for(provider: FakeProvider, attempt: Attempts):
    provider.on("big", fake.error(429, "x", headers={"retry-after": "30"}))
    failure = failure_of(await attempt(max_retries=1, limit_ms=5_000))
    assert failure.status == 429
    assert attempt.slept == []


async def test_an_endless_error_body_is_cut(provider: FakeProvider, attempt: Attempts):
    async def endless(_call: fake.Call, wire: fake.Wire) -> None:
        await wire.head(500, {"transfer-encoding": "chunked"})
        while True:
            await wire.chunk(b"x" * 65536)

    provider.on("big", endless)
    failure = failure_of(await attempt())
    assert failure.status == 500
    assert len(failure.body or "") == ERROR_BODY_LIMIT


async def test_a_dripping_error_body_is_cut(provider: FakeProvider, attempt: Attempts, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("engine.providers.client.ERROR_BODY_S", 0.05)

    async def drip(_call: fake.Call, wire: fake.Wire) -> None:
        await wire.head(500, {"transfer-encoding": "chunked"})
        await wire.chunk(b"half")
        await asyncio.Event().wait()

    provider.on("big", drip)
    assert failure_of(await attempt()).body == "half"


async def test_a_compressed_error_is_read_and_rubbish_is_survived(provider: FakeProvider, attempt: Attempts):
    packed = gzip.compress(b'{"error":{"message":"overloaded"}}')
    bomb = gzip.compress(b"0" * 30_000_000)
    rubbish = b"\x1f\x8b" + os.urandom(50)
    for body, text in ((packed, '{"error":{"message":"overloaded"}}'), (rubbish, None), (bomb, "0" * ERROR_BODY_LIMIT)):
        provider.on("big", fake.status(503, body, {"content-encoding": "gzip"}))
        failure = failure_of(await attempt())
        assert failure.status == 503
        assert failure.body == text


async def test_a_compressed_answer_is_unpacked_or_a_failure(provider: FakeProvider, attempt: Attempts):
    packed = gzip.compress(json.dumps(fake.completion("hi")).encode())
    provider.on("big", fake.status(200, packed, {"content-encoding": "gzip"}))
    answer = await attempt()
    assert not isinstance(answer, AttemptFailed)
    assert not answer.empty
    assert "content-encoding" not in answer.headers
    for body, encoding in ((packed[:-9], "gzip"), (b"rubbish", "gzip"), (packed, "br")):
        provider.on("big", fake.status(200, body, {"content-encoding": encoding}))
        assert failure_of(await attempt()).status == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\n" + b"x-flood: 1\r\n" * 100_000,
        b"HTTP/1.1 200 OK\r\nx-long: " + b"y" * 1_000_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000,
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;" + b"z" * 1_000_000,
        b"HTTP/1.1 200 OK\r\ncontent-length: -4\r\n\r\n",
        b"\x00" * 5000,
    ],
)
async def test_floods_of_headers_and_other_rubbish_are_failures(provider: FakeProvider, attempt: Attempts, raw: bytes):
    provider.on("big", fake.bytes_only(raw))
    failure = failure_of(await attempt(timeout_s=5))
    assert failure.error_type == "RemoteProtocolError"


async def test_an_interim_answer_is_not_the_answer(provider: FakeProvider, attempt: Attempts):
    body = json.dumps(fake.completion()).encode()
    real = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    provider.on("big", fake.bytes_only(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + real, close=False))
    for _ in range(2):
        answer = await attempt()
        assert not isinstance(answer, AttemptFailed)
        assert not answer.empty
    assert provider.connections == 1


async def test_an_answer_without_length_ends_with_its_connection(provider: FakeProvider, attempt: Attempts):
    provider.on("big", fake.bytes_only(b"HTTP/1.1 200 OK\r\n\r\n" + json.dumps(fake.completion()).encode()))
    answer = await attempt()
    assert not isinstance(answer, AttemptFailed)
    assert not answer.empty


async def test_a_second_answer_that_nobody_asked_for_is_never_anothers(provider: FakeProvider, attempt: Attempts):
    body = json.dumps(fake.completion("first")).encode()
    one = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    provider.on("big", fake.bytes_only(one + one.replace(b"first", b"stray"), close=False), fake.ok("second"))
    first, second = await attempt(), await attempt()
    assert not isinstance(first, AttemptFailed)
    assert not isinstance(second, AttemptFailed)
    assert b"second" in b"".join([c async for c in second.chunks()])


async def test_an_endless_answer_and_an_endless_preamble_are_failures(
    provider: FakeProvider, attempt: Attempts, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("engine.providers.client.ANSWER_LIMIT", 100_000)
    monkeypatch.setattr("engine.providers.streamed.HELD_LIMIT", 100_000)
    provider.on("big", fake.status(200, b" " * 200_000), stream(*[ROLE] * 2000))
    assert "longer than" in str(failure_of(await attempt()).message)
    assert "without end" in str(failure_of(await attempt(stream=True)).message)


async def test_garbage_without_a_line_end_is_never_taken_for_an_answer(
    provider: FakeProvider, attempt: Attempts, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("engine.providers.sse.EVENT_LIMIT", 50_000)
    monkeypatch.setattr("engine.providers.streamed.HELD_LIMIT", 100_000)
    provider.on("big", stream(*[b"x" * 10_000] * 200), stream(event({"content": "y" * 60_000}), STOP, DONE))
    assert "without content" in str(failure_of(await attempt(stream=True)).message)
    answer = await attempt(stream=True)
    assert not isinstance(answer, AttemptFailed)
    assert b"y" * 60_000 in b"".join([chunk async for chunk in answer.chunks()])


async def test_a_cancellation_that_is_not_ours_is_not_caught():
    class Cancelling(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise asyncio.CancelledError("This operation was aborted")

    attempts = Attempts("http://127.0.0.1:1/v1")
    attempts.upstream = HttpUpstream(Cancelling())
    with pytest.raises(asyncio.CancelledError):
        await attempts()


async def test_an_unknown_api_is_a_failure_and_no_call(attempt: Attempts):
    got = await attempt(api="smoke-signals")
    assert isinstance(got, AttemptFailed)
    assert got.calls == 0
