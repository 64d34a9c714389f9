"""A whole answer before and after the library: what it miscounts, and what it puts in a way that the caller's SDK would misread (version
0.13.0). What an answer says is never changed here."""

from __future__ import annotations

import time
from collections.abc import Mapping
from copy import copy
from typing import Any
from uuid import uuid4

from engine.domain.exchange import Payload
from engine.providers.conversion.expressible import CHAT, GOOGLE, MESSAGES

_EXPECTED: dict[str, object] = {
    "completed_at": None,
    "error": None,
    "incomplete_details": None,
    "usage": None,
    "background": False,
    "previous_response_id": None,
    "service_tier": "default",
}
"""What the Responses API always has and another family does not say."""

_ECHOED: dict[str, object] = {
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "prompt_cache_key": None,
    "reasoning": None,
    "safety_identifier": None,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
}
"""What it repeats of the request."""

_BARE_TOOL: dict[str, object] = {"description": None, "parameters": None, "strict": None}

_ORDER = {"reasoning": 0, "message": 1}


def ready_events(api: str, event: dict[str, Any]) -> list[dict[str, Any]]:
    """One event of a stream for the library. Gemini says its last words and that they are the last in one; the library loses them."""
    ready = ready_answer(api, event)
    candidates = ready.get("candidates")
    first = candidates[0] if api == GOOGLE and isinstance(candidates, list) and candidates else None
    if not isinstance(first, dict) or "finishReason" not in first or not (first.get("content") or {}).get("parts"):
        return [ready]
    said = {**ready, "candidates": [{key: value for key, value in first.items() if key != "finishReason"}]}
    said.pop("usageMetadata", None)
    return [said, {**ready, "candidates": [{**first, "content": {"role": "model", "parts": []}}]}]


def ready_answer(api: str, answer: dict[str, Any]) -> dict[str, Any]:
    """A whole answer for the library."""
    if api == MESSAGES:
        return _without_unused(answer)
    usage = answer.get("usageMetadata")
    if api == GOOGLE and isinstance(usage, dict):
        spoken, thought = usage.get("candidatesTokenCount"), usage.get("thoughtsTokenCount")
        if isinstance(thought, int):
            # Google counts thoughts beside the answer, everybody else within it.
            return {**answer, "usageMetadata": {**usage, "candidatesTokenCount": (spoken if isinstance(spoken, int) else 0) + thought}}
    return answer


def _without_unused(answer: dict[str, Any]) -> dict[str, Any]:
    """Anthropic says null for what was not used; the library adds it up."""
    ready = dict(answer)
    message = answer.get("message")
    if isinstance(message, dict):
        ready["message"] = _without_unused(message)
    if isinstance(answer.get("usage"), dict):
        ready["usage"] = {key: value for key, value in answer["usage"].items() if value is not None}
    return ready


def tidy_answer(source: Payload, made: dict[str, Any], model: str) -> dict[str, Any]:
    """In place. source: what was asked, in the caller's dialect. model: where the provider named none."""
    api = source.api
    made["model"] = made.get("model") or model
    if api == CHAT:
        made["id"] = prefixed(made.get("id"), "chatcmpl-")
        made["created"] = made.get("created") or int(time.time())
        for choice in made.get("choices", []):
            message = choice.get("message", {})
            for call in message.get("tool_calls") or ():
                call.pop("_provider_metadata", None)
            if message.get("tool_calls") and choice.get("finish_reason") == "stop":
                choice["finish_reason"] = "tool_calls"  # agents look at this, not at the calls
    elif api == MESSAGES:
        made["id"] = prefixed(made.get("id"), "msg_")
        content = made.get("content", [])
        for block in content:
            tidy_block(block)
        if made.get("stop_reason") == "end_turn" and any(block.get("type") == "tool_use" for block in content):
            made["stop_reason"] = "tool_use"
    else:
        tidy_response(made, model, source.body)
    return made


def tidy_block(block: dict[str, Any]) -> None:
    """A block of an Anthropic message."""
    block.pop("_provider_metadata", None)
    if block.get("type") == "thinking":
        block["signature"] = ""  # a foreign one would be refused later, and a missing one breaks some clients


def tidy_response(response: dict[str, Any], model: str, asked: Mapping[str, object]) -> None:
    """A response of the Responses API, in an event or whole: members that clients take for granted, and the order in which it was said."""
    response["id"] = prefixed(response.get("id"), "resp_")
    response["model"] = response.get("model") or model
    for member, value in _EXPECTED.items():
        response.setdefault(member, copy(value))
    for member, value in _ECHOED.items():
        given = asked.get(member)
        response[member] = copy(value) if given is None else given
    response["tools"] = [
        {**_BARE_TOOL, **tool} if isinstance(tool, dict) and tool.get("type") == "function" else tool for tool in response["tools"]
    ]
    response["store"] = False
    output = response.get("output", [])
    for item in output:
        tidy_item(item)
    response["output"] = sorted(output, key=lambda item: _ORDER.get(item.get("type"), 2))


def tidy_item(item: dict[str, Any]) -> None:
    """An output item. Encrypted thoughts of another family mean nothing to OpenAI."""
    item.pop("encrypted_content", None)
    item.pop("_provider_metadata", None)
    if item.get("type") == "message":
        item.setdefault("status", "completed")
        for part in item.get("content", []):
            if part.get("type") == "output_text":
                part.setdefault("annotations", [])
                part.setdefault("logprobs", [])


def prefixed(found: object, prefix: str) -> str:
    text = str(found or "")
    if text in ("", prefix):
        return prefix + uuid4().hex
    return text if text.startswith(prefix) else prefix + text
