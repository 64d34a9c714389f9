"""The family `google-generative-ai`: Gemini's generateContent. No application speaks it to the gateway, so every body here was converted.
Nothing of HTTP itself, and no judgement of a failure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from urllib.parse import quote

from engine.domain.exchange import Payload
from engine.domain.failure import Failure
from engine.domain.ids import ModelRef
from engine.domain.settings import ProviderSettings
from engine.providers.family import Sign, UpstreamRequest
from engine.providers.reading import first_object, in_stream, later_object, mapping, mappings, parsed, text_of, whole_object
from engine.providers.sse import Event

_FINISHED = re.compile(rb'"finishReason"\s*:\s*"')


class GoogleGenerativeAI:
    """See `Family`."""

    def request(self, provider: ProviderSettings, ref: ModelRef, secret: str | None, payload: Payload) -> UpstreamRequest:
        headers = {"content-type": "application/json", "accept": "text/event-stream" if payload.stream else "application/json"}
        if secret is not None:
            # Keys go under Google's own name; OAuth access tokens (`ya29.`, JWTs) are a bearer's.
            if not secret.startswith("AIza") and (secret.startswith(("ya29.", "eyJ")) or provider.oauth is not None):
                headers["authorization"] = f"Bearer {secret}"
            else:
                headers["x-goog-api-key"] = secret
        return UpstreamRequest(_address(provider.base_url, ref.model, payload.stream), headers, payload.raw)

    def kept_as(self, data: bytes) -> str | None:
        return None

    def read_whole(self, body: bytes) -> Sign | Failure:
        answer = whole_object(body)
        if answer is Sign.END:
            # An error of a stream may come as a list of one.
            answer = next(iter(mappings(parsed(body))), answer)
        if isinstance(answer, (Sign, Failure)):
            return answer
        failure = _error_in(answer)
        if failure is not None:
            return failure
        return Sign.CONTENT if _says(answer) else Sign.END

    def read_event(self, event: Event) -> Sign | Failure:
        answer = first_object(event)
        if isinstance(answer, (Sign, Failure)):
            return answer
        if event.name == "error":
            return _error_in(answer) or Failure(status=200, body=text_of(event.data or b""))
        failure = _error_in(answer)
        if failure is not None:
            return failure
        if _says(answer):
            return Sign.CONTENT
        return Sign.END if any(candidate.get("finishReason") for candidate in mappings(answer.get("candidates"))) else Sign.PREAMBLE

    def plain_length(self, chunk: bytes) -> int:
        return 0  # each chunk is converted anyway

    def read_later_event(self, event: Event) -> Sign | Failure:
        data = later_object(event)
        if not isinstance(data, bytes):
            return Sign.JUNK if data is Sign.DONE else data
        if event.name == "error" or b'"error"' in data:
            sign = self.read_event(event)
            if sign is not Sign.CONTENT and sign is not Sign.PREAMBLE:
                return sign
        return Sign.END if _FINISHED.search(data) else Sign.CONTENT


def _says(answer: Mapping[str, object]) -> bool:
    for candidate in mappings(answer.get("candidates")):
        for part in mappings(mapping(candidate.get("content")).get("parts")):
            # A lone signature is the end of a thought, not one.
            if any(value for key, value in part.items() if key not in ("thought", "thoughtSignature")):
                return True
    return False


def _error_in(answer: Mapping[str, object]) -> Failure | None:
    error = answer.get("error")
    if error:
        code = mapping(error).get("code")
        # Google repeats the HTTP status in the body, and inside a 200 that is the only place that has it.
        status = code if isinstance(code, int) and 400 <= code <= 599 else 200
        return replace(in_stream({"error": error}), status=status)
    blocked = mapping(answer.get("promptFeedback")).get("blockReason")
    if blocked and not answer.get("candidates"):
        return Failure(status=200, message=f"the provider declined the prompt (blockReason: {str(blocked)[:60]})")
    return None


@lru_cache(maxsize=256)
def _address(base_url: str, model: str, stream: bool) -> str:
    base, _, query = base_url.partition("?")
    name = model.removeprefix("models/")
    asked = ["alt=sse"] if stream else []
    asked += [query] if query else []
    task = "streamGenerateContent" if stream else "generateContent"
    path = name if name.startswith(("tunedModels/", "publishers/")) else f"models/{quote(name, safe='')}"
    return base.rstrip("/") + f"/{path}:{task}" + ("?" + "&".join(asked) if asked else "")
