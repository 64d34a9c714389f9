"""What a provider of each API family answers to one and the same conversation, over `FakeProvider`'s real sockets: text, thoughts, tool
calls (two in parallel), the size of the images it was sent, usage, errors in the family's own shape. Strict where real ones are: a request
that a provider would refuse is refused here. For tests alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.fakes.provider import Answer, Call, Wire, data, status, stream

FAMILIES = ("openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai")
CALLS: Sequence[tuple[str, dict[str, Any]]] = (("look", {"at": 1}), ("look", {"at": 2}))
INPUT, OUTPUT, THOUGHT = 11, 7, 3
"""Tokens. THOUGHT are among OUTPUT, but for Google, which counts them beside it."""


@dataclass(frozen=True)
class Said:
    """One answer, of whatever family."""

    text: str = "hello there"
    thought: str = ""
    calls: Sequence[tuple[str, dict[str, Any]]] = ()


def answering(family: str, said: Said | None = None, *, fail_after: int | None = None, thinking: bool = True) -> Answer:
    """said None: what the request asks for: two tool calls when it offers tools and has no result yet, a count of its images when it has
    some, else a greeting. fail_after: the connection drops after so many events of a stream."""

    async def answer(call: Call, wire: Wire) -> None:
        if not _PATHS[family].fullmatch(call.path):
            await failing(family, 404, f"Invalid URL (POST {call.path})", "not_found_error")(call, wire)
            return
        problem = _refusal(family, call)
        if problem is not None:
            await failing(family, 400, problem, "invalid_request_error")(call, wire)
            return
        speech = said if said is not None else _fitting(family, call)
        speech = speech if thinking else replace(speech, thought="")
        if _streams(family, call):
            events = _EVENTS[family](speech, call.model)
            if fail_after is not None:
                events = events[:fail_after]
            await stream(*events, end=fail_after is None)(call, wire)
        else:
            repeated = {"reasoning": call.body["reasoning"]} if family == "openai-responses" and "reasoning" in call.body else {}
            await status(200, {**_WHOLE[family](speech, call.model), **repeated})(call, wire)

    return answer


def failing(family: str, code: int, message: str, kind: str, headers: Mapping[str, str] | None = None) -> Answer:
    return status(code, error_body(family, code, message, kind), headers)


def error_body(family: str, code: int, message: str, kind: str) -> dict[str, Any]:
    if family == "anthropic-messages":
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    if family == "google-generative-ai":
        return {"error": {"code": code, "message": message, "status": kind.upper()}}
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def overloaded_in_stream(family: str) -> Answer:
    """200, the stream's preamble, and then the family's own event that the provider is overloaded."""
    text = "The model is overloaded. Please try again later."
    match family:
        case "anthropic-messages":
            broken = _named({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
        case "openai-responses":
            failed = {**_response("m"), "status": "failed", "error": {"code": "server_is_overloaded", "message": text}}
            broken = _named({"type": "response.failed", "response": failed, "sequence_number": 2})
        case "google-generative-ai":
            broken = data({"error": {"code": 503, "message": text, "status": "UNAVAILABLE"}})
        case _:
            broken = data({"error": {"message": text, "type": "overloaded_error", "code": "overloaded"}})
    return stream(*preamble(family), broken)


def stream_events(family: str, said: Said) -> list[bytes]:
    """A whole streamed answer, event by event."""
    return _EVENTS[family](said, "m")


def preamble(family: str) -> list[bytes]:
    """The events before any content."""
    events = stream_events(family, Said("x"))
    return events[: {"anthropic-messages": 2, "openai-responses": 2, "google-generative-ai": 0}.get(family, 1)]


# --- what a request asks for -----------------------------------------------------------------------------------------------


_PATHS = {
    "openai-completions": re.compile(r".*/chat/completions"),
    "openai-responses": re.compile(r".*/responses"),
    "anthropic-messages": re.compile(r".*/messages(/count_tokens)?"),
    "google-generative-ai": re.compile(r".*:(generateContent|streamGenerateContent\?alt=sse)"),
}


def _streams(family: str, call: Call) -> bool:
    return ":streamGenerateContent" in call.path if family == "google-generative-ai" else bool(call.body.get("stream"))


def _fitting(family: str, call: Call) -> Said:
    body = call.body
    text = json.dumps(body)
    results = {
        "openai-completions": '"role": "tool"',
        "openai-responses": "function_call_output",
        "anthropic-messages": "tool_result",
        "google-generative-ai": "functionResponse",
    }
    if body.get("tools"):
        if results[family] not in text:
            return Said("let me look", "which one?", CALLS)
        return Said(f"seen {text.count(results[family])}")
    images = {
        "openai-completions": '"type": "image_url"',
        "openai-responses": '"type": "input_image"',
        "anthropic-messages": '"type": "image"',
        "google-generative-ai": '"inlineData"',
    }
    count = text.count(images[family])
    return Said(f"I see {count}") if count else Said(thought="hm")


def _refusal(family: str, call: Call) -> str | None:
    """What the real ones refuse and a careless conversion would send."""
    body = call.body
    known = _KNOWN[family]
    unknown = [member for member in body if member not in known]
    if unknown:
        return f"Unknown parameter: {unknown[0]}"
    if family == "anthropic-messages":
        return None if call.path.endswith("/count_tokens") else _anthropic_refusal(body)
    if family == "openai-completions":
        for message in body["messages"]:
            extra = [member for member in message if member not in ("role", "content", "tool_calls", "tool_call_id", "name", "refusal")]
            if extra:
                return f"Unknown parameter: messages.{extra[0]}"
    if family == "google-generative-ai":
        for before, after in zip(body["contents"], body["contents"][1:], strict=False):
            asked = sum("functionCall" in part for part in before["parts"])
            answered = sum("functionResponse" in part for part in after["parts"])
            if asked != answered:
                return "the number of function response parts is not equal to the number of function call parts"
    return None


def _anthropic_refusal(body: dict[str, Any]) -> str | None:
    if not isinstance(body.get("max_tokens"), int):
        return "max_tokens: Field required"
    roles = [message["role"] for message in body["messages"]]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2):
        return "messages: roles must alternate"
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            extra = set(block) - _BLOCK
            if extra:
                return f"messages: Extra inputs are not permitted: {sorted(extra)[0]}"
    return None


_BLOCK = frozenset(
    (
        *("type", "text", "source", "id", "name", "input", "tool_use_id", "content", "is_error"),
        *("cache_control", "citations", "caller"),
    )
)
_CHAT = """model messages stream stream_options tools tool_choice parallel_tool_calls max_tokens max_completion_tokens temperature top_p
stop seed n user response_format reasoning_effort prompt_cache_key metadata store frequency_penalty"""
_RESPONSES = """model input instructions stream tools tool_choice parallel_tool_calls max_output_tokens temperature top_p text reasoning
store include prompt_cache_key user metadata previous_response_id"""
_MESSAGES = """model messages system stream tools tool_choice max_tokens temperature top_p top_k stop_sequences metadata thinking
output_config"""
_GOOGLE = "contents tools toolConfig generationConfig systemInstruction"
_KNOWN = {name: frozenset(text.split()) for name, text in zip(FAMILIES, (_CHAT, _RESPONSES, _MESSAGES, _GOOGLE), strict=True)}


# --- whole answers ---------------------------------------------------------------------------------------------------------


def _chat_whole(said: Said, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text, "refusal": None, "annotations": []}
    if said.thought:
        message["reasoning_content"] = said.thought
    if said.calls:
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for n, (name, given) in enumerate(said.calls, 1)
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if said.calls else "stop", "logprobs": None}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": _CHAT_USAGE}


_CHAT_USAGE = {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT}


def _response(model: str) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "in_progress",
        "model": model,
        "output": [],
        **dict.fromkeys(_NULL),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "background": False,
        "frequency_penalty": 0.0,
        "metadata": {},
        "presence_penalty": 0.0,
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
    }


_NULL = (
    *("completed_at", "error", "incomplete_details", "instructions", "max_output_tokens", "max_tool_calls"),
    *("previous_response_id", "prompt_cache_key", "reasoning", "safety_identifier", "usage"),
)


def _output(said: Said) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if said.thought:
        summary = [{"type": "summary_text", "text": said.thought}]
        items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "gAAAA"})
    if said.text:
        content = [{"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}]
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content})
    for n, (name, given) in enumerate(said.calls, 1):
        call = {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": name, "arguments": json.dumps(given)}
        items.append({**call, "status": "completed"})
    return items


def _responses_whole(said: Said, model: str) -> dict[str, Any]:
    usage = {
        "input_tokens": INPUT,
        "output_tokens": OUTPUT,
        "total_tokens": INPUT + OUTPUT,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": THOUGHT},
    }
    return {**_response(model), "status": "completed", "completed_at": 2, "output": _output(said), "usage": usage}


def _anthropic_whole(said: Said, model: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if said.thought:
        content.append({"type": "thinking", "thinking": said.thought, "signature": "c2ln"})
    if said.text:
        content.append({"type": "text", "text": said.text, "citations": None})
    content += [
        {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": given, "caller": {"type": "direct"}}
        for n, (name, given) in enumerate(said.calls, 1)
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if said.calls else "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "container": None,
        "usage": {**dict.fromkeys(_UNUSED), "input_tokens": INPUT, "output_tokens": OUTPUT},
    }


_UNUSED = (
    *("cache_creation", "cache_creation_input_tokens", "cache_read_input_tokens", "inference_geo"),
    *("output_tokens_details", "server_tool_use", "service_tier"),
)


def _google_parts(said: Said) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": said.thought, "thought": True}] if said.thought else []
    parts += [{"text": said.text}] if said.text else []
    return parts + [{"functionCall": {"name": name, "args": given}, "thoughtSignature": "dHM="} for name, given in said.calls]


def _google_whole(said: Said, model: str) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": _google_parts(said)}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": _GOOGLE_USAGE, "modelVersion": model, "responseId": "r1"}


_GOOGLE_USAGE = {
    "promptTokenCount": INPUT,
    "candidatesTokenCount": OUTPUT - THOUGHT,
    "thoughtsTokenCount": THOUGHT,
    "totalTokenCount": INPUT + OUTPUT,
}


# --- streams ---------------------------------------------------------------------------------------------------------------


def _named(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\n".encode() + data(event)


def _halves(text: str) -> list[str]:
    middle = max(1, len(text) // 2)
    return [text[:middle], text[middle:]]


def _chat_events(said: Said, model: str) -> list[bytes]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": part} for part in _halves(said.thought) if part]
    deltas += [{"content": part} for part in _halves(said.text) if part]
    for n, (name, given) in enumerate(said.calls):
        head = {"index": n, "id": f"call_{n + 1}", "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [head]})
        deltas += [{"tool_calls": [{"index": n, "function": {"arguments": part}}]} for part in _halves(json.dumps(given))]
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
    finish = "tool_calls" if said.calls else "stop"
    choices: list[list[dict[str, Any]]] = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": finish}])
    return [*(data({**base, "choices": c}) for c in choices), data({**base, "choices": [], "usage": _CHAT_USAGE}), data("[DONE]")]


def _responses_events(said: Said, model: str) -> list[bytes]:
    events: list[dict[str, Any]] = [{"type": kind, "response": _response(model)} for kind in ("response.created", "response.in_progress")]
    for n, item in enumerate(_output(said)):
        begun: dict[str, Any] = {**item, "status": "in_progress"}
        place = {"item_id": item["id"], "output_index": n}
        if item["type"] == "message":
            spot = {**place, "content_index": 0}
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            events.append({"type": "response.output_item.added", "output_index": n, "item": {**begun, "content": []}})
            events.append({"type": "response.content_part.added", **spot, "part": part})
            events += [{"type": "response.output_text.delta", **spot, "delta": text, "logprobs": []} for text in _halves(said.text) if text]
            events.append({"type": "response.output_text.done", **spot, "text": said.text, "logprobs": []})
            events.append({"type": "response.content_part.done", **spot, "part": {**part, "text": said.text}})
        elif item["type"] == "reasoning":
            spot = {**place, "summary_index": 0}
            part = {"type": "summary_text", "text": ""}
            events.append({"type": "response.output_item.added", "output_index": n, "item": {**begun, "summary": []}})
            events.append({"type": "response.reasoning_summary_part.added", **spot, "part": part})
            events.append({"type": "response.reasoning_summary_text.delta", **spot, "delta": said.thought})
            events.append({"type": "response.reasoning_summary_text.done", **spot, "text": said.thought})
            events.append({"type": "response.reasoning_summary_part.done", **spot, "part": {**part, "text": said.thought}})
        else:
            events.append({"type": "response.output_item.added", "output_index": n, "item": {**begun, "arguments": ""}})
            events += [
                {"type": "response.function_call_arguments.delta", **place, "delta": text} for text in _halves(item["arguments"]) if text
            ]
            events.append({"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]})
        events.append({"type": "response.output_item.done", "output_index": n, "item": item})
    events.append({"type": "response.completed", "response": _responses_whole(said, model)})
    return [_named({**event, "sequence_number": n}) for n, event in enumerate(events)]


def _anthropic_events(said: Said, model: str) -> list[bytes]:
    whole = _anthropic_whole(said, model)
    head = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": head}, {"type": "ping"}]
    for n, block in enumerate(whole["content"]):
        deltas: list[dict[str, Any]]
        empty: dict[str, Any]
        match block["type"]:
            case "thinking":
                empty = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": said.thought}, {"type": "signature_delta", "signature": "c2ln"}]
            case "text":
                empty = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": text} for text in _halves(said.text) if text]
            case _:
                empty = {**block, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": text} for text in ("", *_halves(json.dumps(block["input"])))]
        events.append({"type": "content_block_start", "index": n, "content_block": empty})
        events += [{"type": "content_block_delta", "index": n, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": n})
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events += [{"type": "message_delta", "delta": end, "usage": {"output_tokens": OUTPUT}}, {"type": "message_stop"}]
    return [_named(event) for event in events]


def _google_events(said: Said, model: str) -> list[bytes]:
    parts: list[dict[str, Any]] = []
    for part in _google_parts(said):
        if "functionCall" in part:
            parts.append(part)
        else:
            parts += [{**part, "text": text} for text in _halves(part["text"]) if text]
    events: list[dict[str, Any]] = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], "modelVersion": model, "responseId": "r1"}
        for part in parts
    ]
    events[-1]["candidates"][0]["finishReason"] = "STOP"
    events[-1]["usageMetadata"] = _GOOGLE_USAGE
    # Google ends its lines as Windows does.
    return [data(event).replace(b"\n\n", b"\r\n\r\n") for event in events]


_WHOLE = {
    "openai-completions": _chat_whole,
    "openai-responses": _responses_whole,
    "anthropic-messages": _anthropic_whole,
    "google-generative-ai": _google_whole,
}
_EVENTS = {
    "openai-completions": _chat_events,
    "openai-responses": _responses_events,
    "anthropic-messages": _anthropic_events,
    "google-generative-ai": _google_events,
}
