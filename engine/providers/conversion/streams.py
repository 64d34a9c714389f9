"""A streamed answer, event by event, from a provider's family to the caller's dialect. The library (0.13.0) gets the words right and the
frame of events wrong in places: blocks that never end, indexes that repeat, ends told twice. The frame is put right here, per dialect.
A stream without the end that its family asks for never gets here to its end: `engine.providers.streamed` has seen to that."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine.domain.exchange import Payload
from engine.providers.conversion.answers import prefixed, ready_events, tidy_block, tidy_item, tidy_response
from engine.providers.conversion.expressible import CHAT, MESSAGES
from engine.providers.reading import dumped, mapping, mappings, parsed
from engine.providers.sse import Event, EventCutter, parse_event

Chunk = dict[str, Any]


class Frame:
    """Puts the library's events for one dialect right."""

    def hear(self, meant: Chunk) -> None:
        """The library's own event behind those that follow. Raises ValueError for what it would put wrong."""

    def take(self, event: Chunk) -> Iterator[Chunk]:
        yield event

    def written(self, event: Chunk) -> bytes:
        return b"event: " + str(event.get("type")).encode() + b"\ndata: " + dumped(event) + b"\n\n"

    def end(self) -> bytes:
        """What follows the last event."""
        return b""


class StreamConverter:
    """`feed` the provider's bytes, then `end` once. raises: what a failed conversion is told as."""

    def __init__(self, frame: Frame, api: str, process: Callable[[Chunk], list[Chunk]], raises: type[Exception]) -> None:
        self._frame = frame
        self._api = api
        self._process = process
        self._raises = raises
        self._cutter = EventCutter()
        self._begun = self._finished = False

    def feed(self, chunk: bytes) -> bytes:
        """What it comes to in the caller's dialect, possibly nothing yet."""
        return b"".join(self._converted(event) for event in self._cutter.feed(chunk))

    def end(self) -> bytes:
        rest = self._cutter.rest
        last = self._converted(parse_event(rest)) if rest.strip() else b""
        if self._api == CHAT:
            last += self._told({"choices": []})  # the library waits for the event with the usage, which many vendors never send
        return last + self._frame.end()

    def _converted(self, event: Event) -> bytes:
        if event.oversized:
            raise self._raises("an event of the answer is too long to be converted")
        if event.data is None:
            return b""
        found = parsed(event.data)
        if not isinstance(found, dict):
            return b""  # `[DONE]`, or a line that was judged as junk
        return self._told(found)

    def _told(self, event: Chunk) -> bytes:
        try:
            written = []
            for whole in self._with_reason(event) if self._api == CHAT else (event,):
                for ready in ready_events(self._api, whole):
                    for made in self._process(ready):
                        written += [self._frame.written(tidied) for tidied in self._frame.take(made)]
            return b"".join(written)
        except Exception as error:
            raise self._raises(f"the answer could not be converted ({type(error).__name__})") from error

    def _with_reason(self, event: Chunk) -> Iterator[Chunk]:
        """The library never ends an answer whose vendor says `[DONE]` without a finish reason."""
        choices = mappings(event.get("choices"))
        if not choices and self._begun and not self._finished:
            self._finished = True
            yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        self._begun = self._begun or bool(choices)
        self._finished = self._finished or any(choice.get("finish_reason") for choice in choices)
        yield event


def frame_for(source: Payload, model: str) -> Frame:
    if source.api == CHAT:
        return ChatFrame(model, usage=bool(mapping(source.body.get("stream_options")).get("include_usage")))
    return MessagesFrame(model) if source.api == MESSAGES else ResponsesFrame(model, source.body)


class ChatFrame(Frame):
    """Chat completions. usage: the caller asked for it; others would trip over an event without choices."""

    def __init__(self, model: str, *, usage: bool) -> None:
        self._model = model
        self._usage = usage
        self._created = int(time.time())
        self._opened = False
        self._id = ""
        self._tools: dict[int, int] = {}

    def take(self, event: Chunk) -> Iterator[Chunk]:
        if not event.get("choices") and not self._usage:
            return
        self._id = self._id or prefixed(event.get("id"), "chatcmpl-")
        event.update(id=self._id, created=event.get("created") or self._created)
        event["model"] = event.get("model") or self._model
        for choice in event.get("choices", []):
            delta = choice.get("delta", {})
            if not self._opened:
                self._opened = True
                delta["role"] = "assistant"
            for call in delta.get("tool_calls") or ():
                # The Responses API counts all output items; clients keep calls in a list by this number.
                call["index"] = self._tools.setdefault(call.get("index", 0), len(self._tools))
                call.pop("_provider_metadata", None)
            if self._tools and choice.get("finish_reason") == "stop":
                choice["finish_reason"] = "tool_calls"
        yield event

    def written(self, event: Chunk) -> bytes:
        return b"data: " + dumped(event) + b"\n\n"

    def end(self) -> bytes:
        return b"data: [DONE]\n\n"


class MessagesFrame(Frame):
    """Anthropic's messages: one block at a time, each with a number of its own and an end."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._index = -1
        self._open: str | None = None
        self._calls = False
        self._calling: object = None

    def hear(self, meant: Chunk) -> None:
        if meant.get("type") == "tool_call_start":
            self._calling = meant.get("tool_call_id")
        elif meant.get("type") == "tool_call_delta" and meant.get("tool_call_id") != self._calling:
            # Anthropic's blocks come one after the other: the arguments would end up in the wrong call.
            raise ValueError("parallel calls that are told mixed")

    def take(self, event: Chunk) -> Iterator[Chunk]:
        kind = event.get("type")
        if kind == "message_start":
            message = event["message"]
            message["model"] = message.get("model") or self._model
            message["id"] = prefixed(message.get("id"), "msg_")
        elif kind == "content_block_start":
            yield from self._close()
            block = event["content_block"]
            tidy_block(block)
            self._open = block.get("type")
            self._calls = self._calls or self._open == "tool_use"
            self._index += 1
            event["index"] = self._index
        elif kind == "content_block_delta":
            if mapping(event.get("delta")).get("type") == "signature_delta":
                return  # of another family
            if self._open is None:
                raise ValueError("a part of a block that has ended")
            event["index"] = self._index
        elif kind == "content_block_stop":
            yield from self._close()
            return
        elif kind == "message_delta":
            yield from self._close()
            delta = event.get("delta", {})
            if self._calls and delta.get("stop_reason") == "end_turn":
                delta["stop_reason"] = "tool_use"
        yield event

    def _close(self) -> Iterator[Chunk]:
        if self._open is not None:
            self._open = None
            yield {"type": "content_block_stop", "index": self._index}


class ResponsesFrame(Frame):
    """The Responses API: each end told once, with its item, and numbers without gaps."""

    def __init__(self, model: str, asked: Mapping[str, object]) -> None:
        self._model = model
        self._asked = asked
        self._number = 0
        self._ends: dict[tuple[object, ...], Chunk] = {}

    def take(self, event: Chunk) -> Iterator[Chunk]:
        kind, index = str(event.get("type")), event.get("output_index", 0)
        if kind.startswith("response.reasoning_summary.part."):
            kind = event["type"] = kind.replace("summary.part.", "summary_part.")
        if index < 0:
            return
        if kind in ("response.output_text.done", "response.content_part.done"):
            # The library tells them after each block, text or not: the last one counts, and comes with the item's end.
            self._ends[index, kind] = event
            return
        if kind == "response.output_item.done":
            for key in [key for key in self._ends if key[0] == index]:
                yield self._numbered(self._ends.pop(key))
        if "response" in event:
            tidy_response(event["response"], self._model, self._asked)
        if "item" in event:
            if kind == "response.output_item.done":
                tidy_item(event["item"])
            else:
                event["item"].pop("_provider_metadata", None)
        yield self._numbered(event)

    def _numbered(self, event: Chunk) -> Chunk:
        event["sequence_number"] = self._number
        self._number += 1
        return event
