"""A request before and after the library: what must not reach it, and what it puts in a way that a provider would refuse (version 0.13.0).
Each step says why it is there; one that the library has learnt can go."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from engine.domain.naming import camel
from engine.domain.settings import ProviderSettings
from engine.providers.conversion.expressible import GOOGLE, MESSAGES, OPTIONAL_TOOLS, RESPONSES
from engine.providers.reading import mapping, mappings

_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
_ADAPTIVE = re.compile(r"claude-(?:\w+-)?(?:4-[6-9]|[5-9])")
_SIGNED = re.compile(r"gemini-(?:[3-9]|\d\d)")
UNSIGNED = "skip_thought_signature_validator"
"""What Google documents for calls that another model made: Gemini 3 refuses a call without a signature."""

OPENING = "Go on."
"""What a user says who has said nothing: an empty text is refused, too."""


def ready_request(api: str, body: Mapping[str, object], target: str) -> tuple[dict[str, Any], list[str]]:
    """For the library: a copy without what it would misread, and what was left out."""
    ready: dict[str, Any] = dict(body)
    notes: list[str] = []
    # It reads no format of ours right in every direction; `tidy_request` writes it.
    for member in ("response_format", "text", "stream_options", "metadata", "user", "store", "include", "prompt_cache_key"):
        ready.pop(member, None)
    output = {key: value for key, value in mapping(ready.pop("output_config", None)).items() if key != "format"}
    if output:
        ready["output_config"] = output
    items = "input" if api == RESPONSES else "messages"
    said = body.get(items)
    if isinstance(said, list):
        ready[items] = [kept for item in said if (kept := _without_thoughts(item, notes)) is not None]
    tools = body.get("tools")
    if isinstance(tools, list):
        kept_tools = [tool for tool in tools if not _optional(tool)]
        if len(kept_tools) < len(tools):
            notes.append("the provider's own web search")
        ready["tools"] = kept_tools
        if not kept_tools:
            ready.pop("tools")
            ready.pop("tool_choice", None)
    if api == MESSAGES and body.get("context_management"):
        ready.pop("context_management")
        notes.append("context_management")
    return ready, notes


def tidy_request(asked: Mapping[str, object], body: dict[str, Any], provider: ProviderSettings, model: str, *, stream: bool) -> list[str]:
    """Puts right what the library made of it, in place; what was left out comes back."""
    notes: list[str] = []
    wanted = _format(asked)
    match provider.api:
        case "openai-completions":
            _tidy_chat(body, wanted, stream=stream, openai=_is_openai(provider))
        case "openai-responses":
            _tidy_responses(body, wanted)
        case "anthropic-messages":
            _tidy_messages(body, wanted, model, notes)
        case _:
            _tidy_google(body, wanted, model, notes)
    if provider.api != GOOGLE:
        body["model"] = model
        if stream:
            body["stream"] = True
        else:
            body.pop("stream", None)
    return notes


def _without_thoughts(item: object, notes: list[str]) -> object:
    """Thoughts are signed by the provider that had them; another refuses the signature, or its absence."""
    if not isinstance(item, dict):
        return item
    if item.get("type") in _THOUGHTS:
        notes.append("thoughts of earlier turns")
        return None
    kept = {key: value for key, value in item.items() if key not in ("reasoning_content", "reasoning", "reasoning_details")}
    content = item.get("content")
    if isinstance(content, list):
        kept["content"] = [part for part in content if not (isinstance(part, dict) and part.get("type") in _THOUGHTS)]
    if len(kept) < len(item) or kept.get("content") != content:
        notes.append("thoughts of earlier turns")
    return kept


def _optional(tool: object) -> bool:
    return str(mapping(tool).get("type", "")).startswith(OPTIONAL_TOOLS)


def _format(asked: Mapping[str, object]) -> Mapping[str, object] | None:
    """The structured output that was asked for: {type, name?, schema?, strict?}."""
    chat = mapping(asked.get("response_format"))
    found = {**chat, **mapping(chat.get("json_schema"))} if chat else {}
    found = found or {**mapping(mapping(asked.get("text")).get("format"))} or {**mapping(mapping(asked.get("output_config")).get("format"))}
    found.pop("json_schema", None)
    return found if found.get("type") in ("json_schema", "json_object") else None


def _tidy_chat(body: dict[str, Any], wanted: Mapping[str, object] | None, *, stream: bool, openai: bool) -> None:
    body.pop("reasoning", None)  # of the Responses API; OpenAI refuses members that it does not know
    if not openai and "max_completion_tokens" in body:
        body["max_tokens"] = body.pop("max_completion_tokens")  # the name that every other vendor knows
    if stream:
        body["stream_options"] = {"include_usage": True}  # the caller's dialect always says what an answer cost
    if wanted is not None:
        schema = {key: value for key, value in wanted.items() if key != "type"}
        by_schema = {"type": "json_schema", "json_schema": {"name": "answer", **schema}}
        body["response_format"] = by_schema if wanted["type"] == "json_schema" else {"type": "json_object"}
    custom = {name for tool in mappings(body.get("tools")) if (name := mapping(tool.get("function")).get("name"))}
    for message in body.get("messages", []):
        for member in ("refusal", "reasoning_content"):
            message.pop(member, None)
        content = message.get("content")
        if isinstance(content, list) and message.get("role") != "user" and all(part.get("type") == "text" for part in content):
            # Lists of texts are understood by few but OpenAI; an empty one by nobody.
            message["content"] = "\n".join(part.get("text", "") for part in content)
        for call in message.get("tool_calls") or ():
            free = call.get("custom")
            if free is not None and free.get("name") in custom:
                # The tool became a function, its earlier calls did not.
                call.pop("custom")
                call.update(type="function", function={"name": free["name"], "arguments": json.dumps({"input": free.get("input")})})


def _tidy_responses(body: dict[str, Any], wanted: Mapping[str, object] | None) -> None:
    body.pop("text", None)
    if wanted is not None:
        named = {"name": "answer"} if wanted["type"] == "json_schema" else {}
        body["text"] = {"format": {**named, **wanted}}
    body["store"] = False  # nobody could ask for it again: the caller's dialect has no id for it
    for item in body.get("input", []):
        if isinstance(item, dict) and item.get("type") != "message":
            item.pop("id", None)  # made up by the library; upstream looks such an id up


def _tidy_messages(body: dict[str, Any], wanted: Mapping[str, object] | None, model: str, notes: list[str]) -> None:
    merged = _merged(body.get("messages", []), "content")
    called = False
    for message in merged:
        for block in message["content"] if isinstance(message["content"], list) else ():
            block.pop("caller", None)
            block.pop("_provider_metadata", None)
            called = called or block.get("type") == "tool_use"
    if merged and merged[0].get("role") == "assistant":
        # Anthropic takes no conversation in which the assistant spoke first; OpenAI does.
        merged.insert(0, {"role": "user", "content": OPENING})
        notes.append("that the assistant spoke first")
    body["messages"] = merged
    if "thinking" in body and (called or not _ADAPTIVE.search(model)):
        # Older models know no adaptive thinking; and with it on, earlier calls would need the thoughts that were left out.
        body.pop("thinking")
        body.pop("output_config", None)
        notes.append("reasoning effort")
    temperature = body.get("temperature")
    if isinstance(temperature, (int, float)) and temperature > 1:
        body["temperature"] = 1
        notes.append("a temperature above 1")
    if "thinking" in body:
        for member in ("temperature", "top_p", "top_k"):
            body.pop(member, None)
    if wanted is not None:
        if wanted["type"] == "json_schema":
            shape = {"type": "json_schema", "schema": wanted.get("schema", {})}
            body["output_config"] = {**mapping(body.get("output_config")), "format": shape}
        else:
            notes.append("response_format json_object")


def _tidy_google(body: dict[str, Any], wanted: Mapping[str, object] | None, model: str, notes: list[str]) -> None:
    for member in ("model", "stream", "response_mime_type", "response_schema"):
        body.pop(member, None)
    # It mixes two spellings; Google takes both, those who imitate it the documented one.
    for place in (
        body,
        *body.get("tools", ()),
        body.get("toolConfig") or body.get("tool_config") or {},
        body.get("generationConfig") or {},
    ):
        for name in [name for name in place if "_" in name]:
            place[camel(name)] = place.pop(name)
    # Gemini wants the results of parallel calls in one message.
    body["contents"] = _merged(body.get("contents", []), "parts")
    settings = body.setdefault("generationConfig", {})
    newer = _SIGNED.search(model) is not None
    if not newer and "thinkingLevel" in mapping(settings.get("thinkingConfig")):
        settings.pop("thinkingConfig")
        notes.append("reasoning effort")
    if wanted is not None:
        settings["responseMimeType"] = "application/json"
        if wanted["type"] == "json_schema":
            settings["responseJsonSchema"] = wanted.get("schema", {})
    if not settings:
        body.pop("generationConfig")
    for content in body["contents"]:
        for part in content["parts"]:
            if newer and "functionCall" in part:
                part.setdefault("thoughtSignature", UNSIGNED)


def _merged(messages: list[dict[str, Any]], member: str) -> list[dict[str, Any]]:
    """Neighbours of one role as one message: the library makes one of each tool result."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last is not None and last.get("role") == message.get("role"):
            last[member] = [*_parts(last.get(member)), *_parts(message.get(member))]
        else:
            merged.append(dict(message))
    return merged


def _parts(content: object) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _is_openai(provider: ProviderSettings) -> bool:
    host = urlsplit(provider.base_url).hostname or ""
    return host.endswith((".openai.com", ".azure.com"))
