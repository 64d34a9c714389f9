"""What is known of well-known providers, so that a configuration need not say it: data only, one entry each.

Base URLs include the version part that the API family's paths follow (`/v1` + `/messages`). A default model is used by the
zero-config start alone; vendors retire models, and none of these ids was verified against a live service.
Nothing here reads the environment; `zero` and `build` do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One provider.

    base_url None: there is none for everybody; `endpoint_variable` names where a person's own is, `endpoint_suffix` follows it.
    variables: where its key is looked for, in this order. keyless: a local server that asks for none.
    default_model: unverified.
    """

    id: str
    base_url: str | None
    api: str
    variables: tuple[str, ...] = ()
    default_model: str | None = None
    keyless: bool = False
    endpoint_variable: str | None = None
    endpoint_suffix: str = ""


_ENTRIES = (
    CatalogueEntry("anthropic", "https://api.anthropic.com/v1", "anthropic-messages", ("ANTHROPIC_API_KEY",), "claude-opus-4-8"),
    CatalogueEntry("openai", "https://api.openai.com/v1", "openai-completions", ("OPENAI_API_KEY",), "gpt-5.5"),
    CatalogueEntry(
        "google",
        "https://generativelanguage.googleapis.com/v1beta",
        "google-generative-ai",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "gemini-3-pro",
    ),
    CatalogueEntry("openrouter", "https://openrouter.ai/api/v1", "openai-completions", ("OPENROUTER_API_KEY",), "openrouter/auto"),
    CatalogueEntry("groq", "https://api.groq.com/openai/v1", "openai-completions", ("GROQ_API_KEY",), "llama-3.3-70b-versatile"),
    CatalogueEntry("mistral", "https://api.mistral.ai/v1", "openai-completions", ("MISTRAL_API_KEY",), "mistral-large-latest"),
    CatalogueEntry("deepseek", "https://api.deepseek.com/v1", "openai-completions", ("DEEPSEEK_API_KEY",), "deepseek-chat"),
    CatalogueEntry("xai", "https://api.x.ai/v1", "openai-completions", ("XAI_API_KEY",), "grok-4"),
    CatalogueEntry(
        "together", "https://api.together.xyz/v1", "openai-completions", ("TOGETHER_API_KEY",), "meta-llama/Llama-3.3-70B-Instruct-Turbo"
    ),
    CatalogueEntry(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        "openai-completions",
        ("FIREWORKS_API_KEY",),
        "accounts/fireworks/models/llama-v3p3-70b-instruct",
    ),
    CatalogueEntry("cerebras", "https://api.cerebras.ai/v1", "openai-completions", ("CEREBRAS_API_KEY",), "llama-3.3-70b"),
    # A model there is a deployment that somebody named: there is no default to guess.
    CatalogueEntry(
        "azure-openai",
        None,
        "openai-completions",
        ("AZURE_OPENAI_API_KEY",),
        endpoint_variable="AZURE_OPENAI_ENDPOINT",
        endpoint_suffix="/openai/v1",
    ),
    CatalogueEntry("ollama", "http://127.0.0.1:11434/v1", "openai-completions", keyless=True),
    CatalogueEntry("lmstudio", "http://127.0.0.1:1234/v1", "openai-completions", keyless=True),
    CatalogueEntry("vllm", "http://127.0.0.1:8000/v1", "openai-completions", keyless=True),
)

CATALOGUE: Mapping[str, CatalogueEntry] = {entry.id: entry for entry in _ENTRIES}

BALANCE_KEYS_THEMSELVES = frozenset({"openrouter", "kilocode"})
"""Exempt from windows unless the configuration says otherwise, whether the catalogue knows them or not."""
