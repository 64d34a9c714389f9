"""What is allowed and will still surprise somebody during an outage: the warnings about a valid configuration.

Each begins with its path. Nothing here refuses anything; errors are in `schema` and `build`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.config.catalogue import CATALOGUE
from engine.config.problems import Loc, Problem, did_you_mean, path, quoted
from engine.config.refs import Refs
from engine.config.schema import SECTIONS
from engine.domain.loopback import is_loopback
from engine.domain.settings import Settings

GATEWAY_WORDS = ("auto", "default")
"""What a request's model may be that is no model (spec/gateway.md): an alias or a name of that spelling is never reached."""


def ignored_sections(names: Iterable[str]) -> str | None:
    """One warning for all top-level sections that are not ours."""
    known = [f"{path((name,))}{did_you_mean(name, SECTIONS).replace('; d', ' (d').replace('?', '?)')}" for name in names]
    return f"ignored, not a section of this file: {', '.join(known)}" if known else None


def advice(settings: Settings, refs: Refs) -> Iterator[Problem]:
    """Warnings, those about refs first."""
    for loc, ref in refs.seen:
        provider = settings.providers.get(ref.provider)
        if provider is None:
            known = (*settings.providers, *CATALOGUE)
            hint = did_you_mean(ref.provider, known)
            yield Problem(loc, f"provider {quoted(ref.provider)} is not configured: {ref} will be skipped (gate.unknown-provider){hint}")
        elif provider.models and ref.model not in provider.models:
            yield Problem(loc, f"{ref.provider} does not list the model {quoted(ref.model)}{did_you_mean(ref.model, provider.models)}")
        profile = ref.model.rpartition("@")[2]
        if profile in settings.profiles and profile != ref.model:
            yield Problem(loc, f"a ref names no profile: {quoted('@' + profile)} is taken as a part of the model id")
    yield from _strict_agents(settings)
    yield from _profiles(settings)
    yield from _names(settings)
    if not is_loopback(settings.gateway.host) and settings.gateway.token_ref is None:
        yield Problem(("gateway", "host"), "not a loopback address, and gateway.token is not set: the start will be refused")


def _strict_agents(settings: Settings) -> Iterator[Problem]:
    chain = ", ".join(str(ref) for ref in settings.model.fallbacks or ())
    for place, agent in enumerate(settings.agents.values()):
        if chain and agent.model and agent.model.fallbacks is None:
            text = f"agent {quoted(agent.id)} has a model and no fallbacks: it is strict and ignores {chain} (selection.agent-primary)"
            yield Problem(("agents", "list", place, "model"), f"{text}; give it `fallbacks` to change that, `[]` to keep it")


def _profiles(settings: Settings) -> Iterator[Problem]:
    for key, profile in settings.profiles.items():
        if profile.provider not in settings.providers:
            hint = did_you_mean(profile.provider, (*settings.providers, *CATALOGUE))
            loc: Loc = ("auth", "profiles", key, "provider")
            yield Problem(loc, f"provider {quoted(profile.provider)} is not configured: nothing will use this profile{hint}")
    for provider, order in settings.order.items():
        for place, key in enumerate(order):
            owner = settings.profiles.get(key)
            if owner and owner.provider != provider:
                yield Problem(("auth", "order", provider, place), f"profile {quoted(key)} belongs to {owner.provider}: it is passed over")


def _names(settings: Settings) -> Iterator[Problem]:
    for name in settings.gateway.models:
        if name in GATEWAY_WORDS or name.startswith("agent/"):
            yield Problem(("gateway", "models", name), f"never reached: a request for {quoted(name)} means something else")
    for alias, ref in settings.aliases.items():
        if alias in GATEWAY_WORDS or alias.startswith("agent/"):
            loc = ("agents", "defaults", "models", str(ref), "alias")
            yield Problem(loc, f"never reached by an application: a request for {quoted(alias)} means something else")
