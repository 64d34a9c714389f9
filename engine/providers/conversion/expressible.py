"""Can a request be put to another family at all (`gate.dialect-unsupported`)? Only what would change the answer's meaning counts: a hint
that is left out is a note. Asked before a candidate is tried, so it only looks, and at each part once. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.domain.exchange import COUNT_TOKENS
from engine.providers.reading import mapping, mappings

CHAT, RESPONSES, MESSAGES, GOOGLE = "openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"

OPTIONAL_TOOLS = ("web_search",)
"""Hosted tools that only help: without them the model answers from what it knows."""


def why_inexpressible(api: str, body: Mapping[str, object], target: str, task: str = "") -> str | None:
    """What stands in the way, in words for the caller; None: nothing does, as far as can be seen."""
    if task == COUNT_TOKENS:
        return "tokens are counted by Anthropic's own API only"
    reasons = {CHAT: _chat, RESPONSES: _responses, MESSAGES: _messages}.get(api)
    if reasons is None:
        return f"a request in {api} cannot be converted"
    return next(reasons(body, target), None)


def _chat(body: Mapping[str, object], target: str) -> Iterator[str]:
    n = body.get("n")
    if isinstance(n, int) and n > 1:
        yield "several choices (`n`)"
    if body.get("logprobs"):
        yield "`logprobs`"
    if body.get("audio") or "audio" in _list(body.get("modalities")):
        yield "an answer in audio"
    if body.get("functions"):
        yield "the old `functions`; send `tools`"
    for tool in mappings(body.get("tools")):
        yield from _tool(tool.get("type"), ("function", "custom"), body)
    for message in mappings(body.get("messages")):
        if mapping(message.get("audio")):
            yield "an earlier answer in audio"
        if message.get("function_call"):
            yield "the old `function_call`; send `tool_calls`"
        for part in mappings(message.get("content")):
            kind = part.get("type")
            if kind == "file":
                yield "a file"  # the library (0.13) loses it without a word
            if kind == "input_audio" and target != GOOGLE:
                yield "audio"
            if kind == "image_url" and target == GOOGLE and _remote(mapping(part.get("image_url")).get("url")):
                yield _REMOTE


def _responses(body: Mapping[str, object], target: str) -> Iterator[str]:
    if body.get("previous_response_id") or body.get("conversation"):
        yield "a conversation that is stored at another provider"
    if body.get("background"):
        yield "a response in the background"
    if body.get("prompt"):
        yield "a prompt that is stored at another provider"
    for tool in mappings(body.get("tools")):
        yield from _tool(tool.get("type"), ("function", "custom"), body)
    for item in mappings(body.get("input")):
        kind = item.get("type", "message")
        if kind == "item_reference":
            yield "a reference to a stored item"
        if kind not in ("message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"):
            yield f"an item of the type {str(kind)[:40]}"
        tooled = kind in ("function_call_output", "custom_tool_call_output")
        for part in mappings(item.get("output") if tooled else item.get("content")):
            shown = part.get("type")
            if shown == "input_file" or part.get("file_id"):
                yield "a file"
            if shown == "input_audio":
                yield "audio"
            if shown == "input_image" and target == GOOGLE:
                if tooled:
                    yield _TOOL_IMAGE
                if _remote(part.get("image_url")):
                    yield _REMOTE


def _messages(body: Mapping[str, object], target: str) -> Iterator[str]:
    if body.get("mcp_servers"):
        yield "MCP servers that the provider calls"
    if body.get("container"):
        yield "a container that is kept at another provider"
    for tool in mappings(body.get("tools")):
        yield from _tool(tool.get("type", "custom"), ("custom",), body)
    for message in mappings(body.get("messages")):
        for block in mappings(message.get("content")):
            kind = block.get("type")
            inner = mappings(block.get("content")) if kind == "tool_result" else []
            for part in (block, *inner):
                yield from _block(part, target, in_tool=part is not block)
            if kind in ("server_tool_use", "web_search_tool_result", "mcp_tool_use", "mcp_tool_result", "container_upload"):
                yield f"a block of the type {kind}"


def _block(block: Mapping[str, object], target: str, *, in_tool: bool) -> Iterator[str]:
    kind, source = block.get("type"), mapping(block.get("source"))
    if source.get("type") == "file":
        yield "a file that is stored at another provider"
    if kind == "document" and (in_tool or target != GOOGLE or source.get("type") != "base64"):
        yield "a document"
    if kind == "image" and target == GOOGLE:
        if in_tool:
            yield _TOOL_IMAGE
        if source.get("type") == "url":
            yield _REMOTE


_REMOTE = "an image by its address"
"""Google takes none, and the library (0.13) would download it by itself, from wherever a request says, on our network."""

_TOOL_IMAGE = "an image in a tool's result"
"""The library (0.13) puts it there as text, a megabyte of base64."""


def _tool(kind: object, known: tuple[str, ...], body: Mapping[str, object]) -> Iterator[str]:
    if kind in known:
        return
    chosen = body.get("tool_choice")
    forced = isinstance(chosen, dict) and chosen.get("type") == kind
    if not (isinstance(kind, str) and kind.startswith(OPTIONAL_TOOLS)) or forced:
        yield f"the provider's own tool {str(kind)[:60]}"


def _remote(url: object) -> bool:
    return isinstance(url, str) and not url.startswith("data:")


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
