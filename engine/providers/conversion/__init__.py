"""A request in the caller's dialect, put to a provider of another family, and the answer put back: one function, `convert`. The work is
`llm-rosetta`'s; what it gets wrong is put right around it (`requests`, `answers`, `streams`, each line with its reason), never inside.

Answers are judged before they come here: what a provider sent is read by its own family. Nothing here decides who is called.
"""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engine.domain.exchange import Payload
from engine.domain.settings import ProviderSettings
from engine.providers.conversion.answers import ready_answer, tidy_answer
from engine.providers.conversion.expressible import GOOGLE, why_inexpressible
from engine.providers.conversion.requests import ready_request, tidy_request
from engine.providers.conversion.streams import StreamConverter, frame_for
from engine.providers.reading import dumped, parsed

if TYPE_CHECKING:
    from llm_rosetta import ConversionPipeline

FORMATS: Mapping[str, str] = {
    "openai-completions": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic-messages": "anthropic",
    "google-generative-ai": "google",
}
"""A provider's `api` -> the library's name for it."""

_OWN_HEADERS = ("anthropic-", "openai-", "x-stainless-", "x-claude-", "x-codex-")
"""Of a caller's dialect and its SDK: they mean nothing to another family, and some would be refused."""

_LOCK = threading.Lock()
_LOADED = threading.Event()


class Inexpressible(Exception):
    """The request cannot be put to that family; the text says what stands in the way."""


class Unconvertible(Exception):
    """The library failed on an answer; the text names no content."""


@dataclass(slots=True)
class Converted:
    """payload: for the other family. notes: what was left out, for the decision log. `answer` or `stream`, once."""

    payload: Payload
    notes: tuple[str, ...]
    _pipeline: ConversionPipeline
    _source: Payload
    _model: str

    def answer(self, body: bytes) -> bytes:
        """A whole answer in the caller's dialect. Raises Unconvertible."""
        found = parsed(body)
        try:
            if not isinstance(found, dict):
                raise TypeError("no object")
            with _said():
                made = self._pipeline.convert_response(ready_answer(self.payload.api, found))
            return dumped(tidy_answer(self._source, made, self._model))
        except Exception as error:
            # Whatever a library does with what a provider sent must not end more than this answer.
            raise Unconvertible(f"the answer could not be converted ({type(error).__name__})") from error

    def stream(self) -> StreamConverter:
        """Raises Unconvertible later, from `feed`."""
        with _said():
            frame = frame_for(self._source, self._model)
            processor = self._pipeline.create_stream_processor(on_ir_event=frame.hear)
        return StreamConverter(frame, self.payload.api, processor.process_chunk, Unconvertible)


def is_likely(apis: Collection[str]) -> bool:
    """Whoever has providers of these APIs will have something to convert: a failover from one to another, or all traffic to Google."""
    return len(set(apis)) > 1 or GOOGLE in apis


async def load() -> None:
    """The library is there. Importing it takes 0.2 s, so that is done in a thread, while calls and timers go on; commands that convert
    nothing never do it."""
    if not _LOADED.is_set():
        await asyncio.to_thread(_load)


def _load() -> None:
    import llm_rosetta  # noqa: F401

    _LOADED.set()


def convert(payload: Payload, provider: ProviderSettings, model: str) -> Converted:
    """The request as `provider` takes it. `load` comes before. Raises Inexpressible."""
    source, target = FORMATS.get(payload.api), FORMATS.get(provider.api)
    if source is None or target is None:
        raise Inexpressible(f"a request in {payload.api} cannot be put to an API of {provider.api}")
    why = why_inexpressible(payload.api, payload.body, provider.api, payload.task)
    if why is not None:
        raise Inexpressible(why)
    ready, notes = ready_request(payload.api, payload.body, provider.api)
    from llm_rosetta import ConversionPipeline

    # A custom tool (free text instead of JSON) is OpenAI's; elsewhere it becomes a function with one argument, and its calls are put back.
    pipeline = ConversionPipeline(source, target, upstream_model=model, metadata_mode="strip", supports_custom_tools=False)
    try:
        with _said() as said:
            body = pipeline.convert_request(ready)
    except Exception as error:
        raise Inexpressible(f"the request could not be converted: {str(error)[:200]}") from error
    more = tidy_request(payload.body, body, provider, model, stream=payload.stream)
    listed = dict.fromkeys([*notes, *more, *(text[:120] for text in said), *(text[:120] for text in pipeline.warnings)])
    headers = {name: value for name, value in payload.headers.items() if not name.startswith(_OWN_HEADERS)}
    up = replace(payload, api=provider.api, body=body, raw=dumped(body), headers=headers)
    return Converted(up, tuple(listed)[:20], pipeline, payload, model)


@contextmanager
def _said() -> Iterator[list[str]]:
    """The library tells what it leaves out as Python warnings, each time: caught, so that none reaches a terminal. The lock is for the
    warnings module, which belongs to the whole process."""
    said: list[str] = []

    def hear(message: Any, *_: Any, **__: Any) -> None:
        said.append(str(message))

    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = hear
        yield said
