"""The official SDKs, sync and async, streamed and not, against a provider of each API family: each dialect of an application meets each
family (issue 4, "Must show" 1). What the SDK's own objects say is what counts."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import openai
import pytest

from tests.fakes.families import CALLS, FAMILIES, INPUT, OUTPUT, failing
from tests.fakes.provider import Answer
from tests.gateway.family_house import FamilyHouse, family_house

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n0000").decode()
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"at": {"type": "integer"}}, "required": ["at"]}
Spoken = tuple[str, list[tuple[str, dict[str, Any]]], tuple[int, int], str]
"""Text, tool calls, tokens in and out, the word for why it ended."""


@pytest.fixture
async def house() -> AsyncIterator[FamilyHouse]:
    async with family_house() as running:
        yield running


# --- chat completions ------------------------------------------------------------------------------------------------------

CHAT_TOOLS: Any = [{"type": "function", "function": {"name": "look", "description": "looks", "parameters": SCHEMA}}]
IMAGE_URL = f"data:image/png;base64,{PNG}"
CHAT_IMAGES: Any = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "what is it?"},
            {"type": "image_url", "image_url": {"url": IMAGE_URL}},
            {"type": "image_url", "image_url": {"url": IMAGE_URL}},
        ],
    }
]


def chat_whole(answer: Any) -> Spoken:
    message, usage = answer.choices[0].message, answer.usage
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
    return message.content, calls, (usage.prompt_tokens, usage.completion_tokens), answer.choices[0].finish_reason


def chat_streamed(chunks: list[Any]) -> Spoken:
    text, finish, usage = "", "", (0, 0)
    calls: dict[int, list[str]] = {}
    for chunk in chunks:
        if chunk.usage is not None:
            usage = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
            for call in choice.delta.tool_calls or ():
                known = calls.setdefault(call.index, ["", ""])
                known[0] += call.function.name or ""
                known[1] += call.function.arguments or ""
    assert sorted(calls) == list(range(len(calls)))
    return text, [(name, json.loads(given)) for _, (name, given) in sorted(calls.items())], usage, finish


async def ask_chat(house: FamilyHouse, way: str, **request: Any) -> Spoken:
    if "stream" in way:
        request.update(stream=True, stream_options={"include_usage": True})
    if "sync" in way.split():

        def ask() -> Any:
            with house.openai() as client:
                answer = client.chat.completions.create(**request)
                return list(answer) if "stream" in way else answer

        got = await asyncio.to_thread(ask)
    else:
        async with house.async_openai() as client:
            got = await client.chat.completions.create(**request)
            got = [chunk async for chunk in got] if "stream" in way else got
    return chat_streamed(got) if "stream" in way else chat_whole(got)


# --- responses -------------------------------------------------------------------------------------------------------------

RESPONSES_TOOLS: Any = [{"type": "function", "name": "look", "description": "looks", "parameters": SCHEMA, "strict": False}]
RESPONSES_IMAGES: Any = [
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "what is it?"},
            {"type": "input_image", "image_url": IMAGE_URL, "detail": "auto"},
            {"type": "input_image", "image_url": IMAGE_URL, "detail": "auto"},
        ],
    }
]


def responses_whole(answer: Any) -> Spoken:
    calls = [(item.name, json.loads(item.arguments)) for item in answer.output if item.type == "function_call"]
    assert [item.type for item in answer.output] == sorted((i.type for i in answer.output), key=ORDER.index)
    return answer.output_text, calls, (answer.usage.input_tokens, answer.usage.output_tokens), answer.status


ORDER = ["reasoning", "message", "function_call"]


def responses_streamed(events: list[Any]) -> Spoken:
    assert [event.sequence_number for event in events] == sorted({event.sequence_number for event in events})
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    done = [event.text for event in events if event.type == "response.output_text.done"]
    assert done == ([text] if text else [])
    ended = [event.item.id for event in events if event.type == "response.output_item.done"]
    assert len(ended) == len(set(ended))
    last = events[-1]
    assert last.type == "response.completed"
    whole = responses_whole(last.response)
    assert whole[0] == text
    return whole


async def ask_responses(house: FamilyHouse, way: str, **request: Any) -> Spoken:
    if "stream" in way:
        request["stream"] = True
    if "sync" in way.split():

        def ask() -> Any:
            with house.openai() as client:
                answer = client.responses.create(**request)
                return list(answer) if "stream" in way else answer

        got = await asyncio.to_thread(ask)
    else:
        async with house.async_openai() as client:
            got = await client.responses.create(**request)
            got = [event async for event in got] if "stream" in way else got
    return responses_streamed(got) if "stream" in way else responses_whole(got)


# --- messages --------------------------------------------------------------------------------------------------------------

MESSAGES_TOOLS: Any = [{"name": "look", "description": "looks", "input_schema": SCHEMA}]
_SOURCE = {"type": "base64", "media_type": "image/png", "data": PNG}
MESSAGES_IMAGES: Any = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "what is it?"}, {"type": "image", "source": _SOURCE}, {"type": "image", "source": _SOURCE}],
    }
]


def messages_whole(answer: Any) -> Spoken:
    text = "".join(block.text for block in answer.content if block.type == "text")
    calls = [(block.name, block.input) for block in answer.content if block.type == "tool_use"]
    return text, calls, (answer.usage.input_tokens, answer.usage.output_tokens), answer.stop_reason


async def ask_messages(house: FamilyHouse, way: str, **request: Any) -> Spoken:
    """Streamed by the SDK's own accumulator, which trusts the frame of blocks."""
    request.setdefault("max_tokens", 100)
    if "sync" in way.split():

        def ask() -> Any:
            with house.anthropic() as client:
                if "stream" not in way:
                    return client.messages.create(**request)
                with client.messages.stream(**request) as stream:
                    return stream.get_final_message()

        return messages_whole(await asyncio.to_thread(ask))
    async with house.async_anthropic() as client:
        if "stream" not in way:
            return messages_whole(await client.messages.create(**request))
        async with client.messages.stream(**request) as stream:
            return messages_whole(await stream.get_final_message())


# --- the matrix ------------------------------------------------------------------------------------------------------------

WAYS = ["sync whole", "sync stream", "async whole", "async stream"]
by_family = pytest.mark.parametrize("family", FAMILIES)
by_way = pytest.mark.parametrize("way", WAYS)
STOPPED = {
    "openai-completions": ("stop", "tool_calls"),
    "openai-responses": ("completed",) * 2,
    "anthropic-messages": ("end_turn", "tool_use"),
}


@by_family
@by_way
async def test_chat_completions_text_tools_and_images(house: FamilyHouse, family: str, way: str) -> None:
    base: dict[str, Any] = {"model": house.model(family)}
    said: Any = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}]
    assert await ask_chat(house, way, messages=said, **base) == ("hello there", [], (INPUT, OUTPUT), "stop")
    assert (await ask_chat(house, way, messages=CHAT_IMAGES, **base))[0] == "I see 2"
    text, calls, tokens, ended = await ask_chat(house, way, messages=said, tools=CHAT_TOOLS, **base)
    assert (text, calls, tokens, ended) == ("let me look", list(CALLS), (INPUT, OUTPUT), "tool_calls")
    asked = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for n, (name, given) in enumerate(calls)
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "a cat"} for call in asked]
    history = [*said, {"role": "assistant", "content": text, "tool_calls": asked}, *results]
    assert (await ask_chat(house, way, messages=history, tools=CHAT_TOOLS, **base))[0] == "seen 2"


@by_family
@by_way
async def test_responses_text_tools_and_images(house: FamilyHouse, family: str, way: str) -> None:
    base: dict[str, Any] = {"model": house.model(family), "instructions": "be kind"}
    assert await ask_responses(house, way, input="hi", **base) == ("hello there", [], (INPUT, OUTPUT), "completed")
    assert (await ask_responses(house, way, input=RESPONSES_IMAGES, **base))[0] == "I see 2"
    text, calls, tokens, ended = await ask_responses(house, way, input="hi", tools=RESPONSES_TOOLS, **base)
    assert (text, calls, tokens, ended) == ("let me look", list(CALLS), (INPUT, OUTPUT), "completed")
    history: list[Any] = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": text}]
    for n, (name, given) in enumerate(calls):
        history.append({"type": "function_call", "call_id": f"call_{n}", "name": name, "arguments": json.dumps(given)})
    history += [{"type": "function_call_output", "call_id": f"call_{n}", "output": "a cat"} for n in range(len(calls))]
    assert (await ask_responses(house, way, input=history, tools=RESPONSES_TOOLS, **base))[0] == "seen 2"


@by_family
@by_way
async def test_messages_text_tools_and_images(house: FamilyHouse, family: str, way: str) -> None:
    base: dict[str, Any] = {"model": house.model(family), "system": "be kind"}
    said: Any = [{"role": "user", "content": "hi"}]
    assert await ask_messages(house, way, messages=said, **base) == ("hello there", [], (INPUT, OUTPUT), "end_turn")
    assert (await ask_messages(house, way, messages=MESSAGES_IMAGES, **base))[0] == "I see 2"
    text, calls, tokens, ended = await ask_messages(house, way, messages=said, tools=MESSAGES_TOOLS, **base)
    assert (text, calls, tokens, ended) == ("let me look", list(CALLS), (INPUT, OUTPUT), "tool_use")
    asked = [{"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": given} for n, (name, given) in enumerate(calls)]
    results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "a cat"} for call in asked]
    history = [*said, {"role": "assistant", "content": [{"type": "text", "text": text}, *asked]}, {"role": "user", "content": results}]
    assert (await ask_messages(house, way, messages=history, tools=MESSAGES_TOOLS, **base))[0] == "seen 2"


ERRORS = [
    (400, "invalid_request_error", "that is not valid", "BadRequestError"),
    (401, "authentication_error", "invalid api key", "AuthenticationError"),
    (403, "permission_error", "you may not", "PermissionDeniedError"),
    (404, "not_found_error", "model: m does not exist", "NotFoundError"),
    (429, "rate_limit_error", "rate limit reached", "RateLimitError"),
    (500, "api_error", "internal server error", "InternalServerError"),
]


@by_family
@pytest.mark.parametrize(("status", "kind", "text", "name"), ERRORS, ids=[error[3] for error in ERRORS])
async def test_errors_are_the_sdks_own_classes(family: str, status: int, kind: str, text: str, name: str) -> None:
    async with family_house(cooldowns=False) as house:
        await errors(house, family, status, failing(family, status, text, kind), name)


async def errors(house: FamilyHouse, family: str, status: int, answer: Answer, name: str) -> None:
    house.providers[family].on("*", answer)
    base: dict[str, Any] = {"model": house.model(family)}
    for way in ("async whole", "async stream"):
        with pytest.raises(getattr(openai, name)) as chat:
            await ask_chat(house, way, messages=[{"role": "user", "content": "hi"}], **base)
        with pytest.raises(getattr(openai, name)):
            await ask_responses(house, way, input="hi", **base)
        with pytest.raises(getattr(anthropic, name)) as message:
            await ask_messages(house, way, messages=[{"role": "user", "content": "hi"}], **base)
        for error in (chat.value, message.value):
            assert error.status_code == status
            assert error.response.headers["x-should-retry"] == "false"
        assert message.value.body["type"] == "error"
