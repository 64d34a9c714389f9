"""How both of OpenAI's APIs are asked, there and at Azure: address, credential, model. What is asked and answered is the families'."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

from engine.domain.exchange import Payload
from engine.domain.ids import ModelRef
from engine.domain.settings import ProviderSettings
from engine.providers.body_rewrite import with_model
from engine.providers.family import UpstreamRequest


def openai_request(path: str, provider: ProviderSettings, ref: ModelRef, secret: str | None, payload: Payload) -> UpstreamRequest:
    """path: of the endpoint below the base URL."""
    headers = {"content-type": "application/json", "accept": "text/event-stream" if payload.stream else "application/json"}
    url, azure = _address(provider.base_url, path)
    if secret is not None:
        # Azure takes a key under its own name; its `authorization` is for Entra tokens, which are JWTs.
        if azure and not secret.startswith("eyJ"):
            headers["api-key"] = secret
        else:
            headers["authorization"] = f"Bearer {secret}"
    return UpstreamRequest(url, headers, with_model(payload.raw, payload.body, ref.model))


@lru_cache(maxsize=256)
def _address(base_url: str, path: str) -> tuple[str, bool]:
    """The endpoint of a base URL, and whether it is Azure's. A query stays where it is."""
    base, mark, query = base_url.partition("?")
    return base.rstrip("/") + path + mark + query, (urlsplit(base_url).hostname or "").endswith(".azure.com")
