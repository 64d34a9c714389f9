"""Each dialect at the gateway's door: routes, errors in its own shape, lists, sessions, images, references, notices."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from engine.domain.ids import ProfileId, SessionKey
from engine.domain.settings import ModelPolicy
from engine.domain.stored_answers import StoredAnswer
from tests.gateway.fake_engine import FakeEngine, FakeTurn, Gateway, broke_off, entry, failed, ref, running_gateway, settings

ANTHROPIC = {"anthropic-version": "2023-06-01"}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "hi"}]},
    "/v1/responses": {"input": "hi"},
    "/v1/messages": {"max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    "/v1/messages/count_tokens": {"messages": [{"role": "user", "content": "hi"}]},
}
by_path = pytest.mark.parametrize("path", BODIES)


def code_of(answer: httpx.Response, path: str) -> str:
    """The error's code; the shape is that of the path's dialect."""
    body = answer.json()
    if "/messages" in path:
        assert body["type"] == "error"
        assert isinstance(body["error"]["type"], str)
    else:
        assert set(body) == {"error"}
        assert {"message", "type", "param", "code"} <= set(body["error"])
    assert body["error"]["message"]
    return str(body["error"]["code"])


@by_path
async def test_errors_are_in_the_callers_dialect(path: str):
    async with running_gateway(FakeEngine(settings(gateway={"body_limit_mb": 0.01})), token="t0ken") as gateway:
        key = {"x-api-key": "t0ken"}
        post = gateway.client.post
        assert code_of(await gateway.client.get(path), path) == "method_not_allowed"
        assert code_of(await post(path, json=BODIES[path]), path) == "invalid_api_key"
        assert code_of(await post(path, content=b"{", headers=key), path) == "invalid_json"
        assert code_of(await post(path, json={}, headers=key), path) == "invalid_request"
        assert code_of(await post(path, json={**BODIES[path], "model": "nobody/m"}, headers=key), path) == "model_not_found"
        assert code_of(await post(path, content=b"x" * 20_000, headers=key), path) == "request_too_large"
        assert code_of(await post(path, json=BODIES[path], headers={**key, "host": "evil.example"}), path) == "host_not_allowed"


@by_path
async def test_a_failed_turn_is_told_in_the_callers_dialect(path: str):
    limited = failed("rate_limit", entry("acme/big", "rate_limit", 429), entry("zeta/std", "rate_limit", 429), soonest_s=40)
    async with running_gateway(FakeEngine(None, FakeTurn(result=limited))) as gateway:
        answer = await gateway.client.post(path, json=BODIES[path])
    assert (answer.status_code, code_of(answer, path)) == (429, "all_models_rate_limited")
    assert answer.headers["x-should-retry"] == "false"
    assert answer.json()["error"]["type"] == "rate_limit_error"


async def test_an_unknown_path_answers_like_its_caller():
    async with running_gateway(FakeEngine()) as gateway:
        assert code_of(await gateway.client.post("/v1/complete", headers=ANTHROPIC), "/v1/messages") == "not_found"
        assert code_of(await gateway.client.post("/v1/embeddings"), "/v1/chat/completions") == "not_found"
        assert code_of(await gateway.client.get("/v1/models/nobody", headers=ANTHROPIC), "/v1/messages") == "model_not_found"


async def test_models_in_anthropics_shape_by_its_header():
    async with running_gateway(FakeEngine()) as gateway:
        listed = (await gateway.client.get("/v1/models", headers=ANTHROPIC)).json()
        assert (listed["data"][0]["type"], listed["data"][0]["id"], listed["has_more"]) == ("model", "auto", False)
        assert (listed["first_id"], listed["last_id"]) == ("auto", listed["data"][-1]["id"])
        one = (await gateway.client.get("/v1/models/acme/big", headers=ANTHROPIC)).json()
        assert (one["type"], one["id"], one["display_name"]) == ("model", "acme/big", "acme/big")


async def asked(path: str, headers: dict[str, str] | None = None, engine: FakeEngine | None = None, **body: Any) -> Any:
    engine = engine or FakeEngine()
    async with running_gateway(engine) as gateway:
        answer = await gateway.client.post(path, json={**BODIES[path], **body}, headers=headers)
        assert answer.status_code == 200, answer.text
    return engine.requests[-1]


@pytest.mark.parametrize(
    ("user", "session"),
    [
        ("user_abc_account__session_11-22", "11-22"),
        ('{"device_id": "d", "session_id": "s-1"}', "s-1"),
        ('{"device_id": "d"}', '{"device_id": "d"}'),
        ("someone", "someone"),
    ],
)
async def test_anthropics_user_id_names_the_session_inside_it(user: str, session: str):
    assert (await asked("/v1/messages", metadata={"user_id": user})).session == session


async def test_where_a_responses_body_names_its_session():
    assert (await asked("/v1/responses", prompt_cache_key="p", user="u")).session == "p"
    assert (await asked("/v1/responses", user="u")).session == "u"
    assert (await asked("/v1/responses", {"session_id": "codex-1"}, prompt_cache_key="p")).session == "codex-1"
    assert (await asked("/v1/responses", {"conversation_id": "codex-2"})).session == "codex-2"
    assert (await asked("/v1/messages", {"x-claude-code-session-id": "cc"}, metadata={"user_id": "u"})).session == "cc"


async def test_the_first_user_message_of_each_dialect_derives_a_session():
    same = await asked("/v1/responses", input=[{"role": "developer", "content": "x"}, {"role": "user", "content": "hi"}])
    assert same.session == (await asked("/v1/responses", input="hi")).session
    assert same.session == (await asked("/v1/messages")).session
    assert same.session != (await asked("/v1/responses", input="ho")).session


IMAGES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}]},
    "/v1/responses": {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:x"}]}]},
    "/v1/messages": {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"type": "image"}]}]}]},
}


@pytest.mark.parametrize("path", IMAGES)
async def test_a_request_with_an_image_uses_the_image_chain_when_there_is_one(path: str):
    assert not (await asked(path, **IMAGES[path])).image
    seeing = settings(image_model=ModelPolicy(ref("zeta/eyes"), ()))
    assert (await asked(path, engine=FakeEngine(seeing), **IMAGES[path])).image
    assert not (await asked(path, engine=FakeEngine(seeing))).image


async def test_counting_tokens_is_no_turn_of_the_session_selection_per_run():
    engine = FakeEngine()
    request = await asked("/v1/messages/count_tokens", engine=engine, stream=True)
    assert (request.per_run, request.silent) == (True, True)
    assert (engine.payloads[0].task, engine.payloads[0].stream) == ("count_tokens", False)
    assert request.inexpressible == {ref("acme/big"), ref("acme/small"), ref("zeta/std"), ref("zeta/ops")}


async def test_a_continued_response_stays_with_who_made_it():
    engine = FakeEngine()
    engine.answers["resp_1"] = StoredAnswer(ref("zeta/std"), ProfileId("zeta:k1"), SessionKey("desk"), 0)
    request = await asked("/v1/responses", engine=engine, previous_response_id="resp_1", user="u")
    assert (request.held_by, request.session) == ((ref("zeta/std"), "zeta:k1"), "desk")
    assert (request.held_somewhere, request.continues) == (False, ("resp_1",))
    other = await asked("/v1/responses", {"x-failover-session": "own"}, engine=engine, previous_response_id="resp_1")
    assert other.session == "own"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/responses", {"previous_response_id": "resp_9"}),
        ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}]}),
        ("/v1/responses", {"input": [{"type": "item_reference", "id": "msg_1"}]}),
        ("/v1/responses", {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]}),
        ("/v1/messages", {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]}]}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]}),
    ],
)
async def test_a_reference_that_was_never_seen_goes_to_one_account_only(path: str, body: dict[str, Any]):
    request = await asked(path, **body)
    assert (request.held_by, request.held_somewhere, len(request.continues)) == (None, True, 1)
    assert ref("claude/opus") not in request.inexpressible or path != "/v1/messages"


async def test_what_cannot_be_expressed_is_said_to_the_caller():
    result = failed("dialect_unsupported", entry("claude/opus", "dialect_unsupported", skipped=True), chain=["claude/opus", "acme/big"])
    engine = FakeEngine(settings(model=ModelPolicy(ref("claude/opus"), ())), FakeTurn(result=result))
    async with running_gateway(engine) as gateway:
        answer = await gateway.chat(n=3)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "dialect_unsupported")
    assert "several choices" in answer.json()["error"]["message"]


NOTICE = "↪️ Model Fallback: zeta/std (selected acme/big; rate limit)"
STREAMS = {
    "/v1/responses": [
        b'event: response.created\ndata: {"type": "response.created", "response": {}}\n\n',
        b'event: response.output_text.delta\ndata: {"type": "response.output_text.delta", "delta": "hel"}\n\nevent: response.outp',
        b'ut_text.delta\ndata: {"type": "response.output_text.delta", "delta": "lo"}\n\n',
    ],
    "/v1/messages": [
        b'event: message_start\ndata: {"type": "message_start", "message": {}}\n\n',
        b'event: content_block_delta\ndata: {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "h"}}\n\n',
        b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "h"}}\n\n',
        b'event: message_stop\ndata: {"type": "message_stop"}\n\n',
    ],
}


@pytest.mark.parametrize("path", STREAMS)
async def test_a_notice_is_a_comment_of_a_stream_and_inline_part_of_its_first_text(path: str):
    whole = b"".join(STREAMS[path])
    for notices in ("headers", "inline"):
        engine = FakeEngine(settings(gateway={"notices": notices}), FakeTurn(STREAMS[path], streamed=True, notices=(NOTICE,)))
        async with running_gateway(engine) as gateway:
            answer = await gateway.client.post(path, json={**BODIES[path], "stream": True})
        assert unquote(answer.headers["x-failover-notice"]) == NOTICE
        comment = f": {NOTICE}\n\n".encode()
        assert answer.content.startswith(comment)
        rest = answer.content.removeprefix(comment)
        if notices == "headers":
            assert rest == whole
        else:
            assert rest.decode().count(f"{NOTICE}\\n\\nh") == 1
            assert rest.count(b"\n\n") == whole.count(b"\n\n")
            assert rest.replace(f"{NOTICE}\\n\\n".encode(), b"") == whole


@pytest.mark.parametrize(
    ("path", "body", "at"),
    [
        ("/v1/messages", {"type": "message", "content": [{"type": "thinking"}, {"type": "text", "text": "hi"}]}, ("content", 1)),
        (
            "/v1/responses",
            {"output": [{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": "hi"}]}]},
            ("output", 1, "content", 0),
        ),
    ],
)
async def test_an_inline_notice_stands_before_the_text_of_a_whole_answer(path: str, body: Any, at: tuple[Any, ...]):
    engine = FakeEngine(settings(gateway={"notices": "inline"}), FakeTurn([json.dumps(body).encode()], notices=(NOTICE,)))
    async with running_gateway(engine) as gateway:
        found = (await gateway.client.post(path, json=BODIES[path])).json()
    for step in at:
        found = found[step]
    assert found["text"] == f"{NOTICE}\n\nhi"


@pytest.mark.parametrize("path", STREAMS)
async def test_attempt_committed_a_broken_stream_ends_with_the_dialects_own_error(path: str):
    engine = FakeEngine(None, FakeTurn([*STREAMS[path], broke_off()], streamed=True))
    async with running_gateway(engine) as gateway:
        answer = await gateway.client.post(path, json={**BODIES[path], "stream": True})
    assert answer.content.startswith(b"".join(STREAMS[path]))
    last = answer.content.removeprefix(b"".join(STREAMS[path])).decode()
    assert last.startswith("event: error\ndata: ")
    told = json.loads(last.partition("data: ")[2])
    assert (told["type"], told["error"]["code"], told["error"]["partial"]) == ("error", "answer_incomplete", True)


async def metrics(gateway: Gateway) -> dict[str, str]:
    answer = await gateway.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))


async def test_metrics_count_turns_failovers_windows_and_the_gateways_own_time():
    engine = FakeEngine(None, FakeTurn(), FakeTurn(result=failed("auth", entry("acme/big", "auth", 401))))
    engine.open_windows = {"cooldown": 2}
    async with running_gateway(engine) as gateway:
        await gateway.chat()
        await gateway.client.post("/v1/messages", json=BODIES["/v1/messages"])
        found = await metrics(gateway)
    assert found['failover_turns_total{outcome="ok",dialect="openai-completions"}'] == "1"
    assert found['failover_turns_total{outcome="failed",dialect="anthropic-messages"}'] == "1"
    assert found['failover_windows_open{kind="cooldown"}'] == "2"
    assert found["failover_turns_in_flight"] == "0"
    assert found["failover_overhead_seconds_count"] == found['failover_overhead_seconds_bucket{le="+Inf"}'] == "1"


async def test_metrics_ask_for_the_gateways_token_and_take_get_only():
    async with running_gateway(FakeEngine(), token="t0ken") as gateway:
        assert (await gateway.client.get("/metrics")).status_code == 401
        assert (await gateway.client.post("/metrics")).status_code == 405
        assert (await gateway.client.get("/metrics", headers={"authorization": "Bearer t0ken"})).status_code == 200
