"""The start without a configuration file: the providers whose keys are in the environment become the chain (spec/gateway.md).

It writes the configuration that a person would have written, as data, so that everything else is decided by the one loader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.config.catalogue import CATALOGUE, CatalogueEntry
from engine.config.load import Loaded, load_settings
from engine.domain.errors import ConfigError


def providers_in_environment(env: Mapping[str, str]) -> Iterator[tuple[CatalogueEntry, str]]:
    """(entry, variable) of each provider of the catalogue whose key is set, in catalogue order. An empty variable is not set."""
    for entry in CATALOGUE.values():
        variable = next((name for name in entry.variables if env.get(name, "").strip()), None)
        if variable is not None:
            yield entry, variable


def zero_config(env: Mapping[str, str]) -> dict[str, object] | None:
    """The configuration that the environment amounts to; None if no provider with a default model has a key in it."""
    found = list(providers_in_environment(env))
    chain = [f"{entry.id}/{entry.default_model}" for entry, _ in found if entry.default_model]
    if not chain:
        return None
    profiles = {
        f"{entry.id}:env": {"provider": entry.id, "mode": "api_key", "keyRef": f"env:{variable}"}
        for entry, variable in found
        if entry.default_model
    }
    return {"agents": {"defaults": {"model": {"primary": chain[0], "fallbacks": chain[1:]}}}, "auth": {"profiles": profiles}}


def load_zero_config(env: Mapping[str, str], *, generation: int = 1) -> Loaded:
    """Raises ConfigError, with the next step, if the environment holds no key to start with. Its note is for the start to say."""
    config = zero_config(env)
    if config is None:
        variables = ", ".join(entry.variables[0] for entry in CATALOGUE.values() if entry.default_model)
        raise ConfigError(
            "There is no configuration",
            ("agents.defaults.model.primary: no configuration file was found, and no provider's key is in the environment",),
            f"run `failover init`, or set one of {variables}; `failover demo` needs neither",
        )
    loaded = load_settings(config, env=env, generation=generation)
    chain = ", ".join(str(ref) for ref in (loaded.settings.primary, *(loaded.settings.model.fallbacks or ())))
    variables = ", ".join(variable for entry, variable in providers_in_environment(env) if entry.default_model)
    note = f"no configuration file: using {chain} (from {variables}; `failover init` writes a file to change this)"
    return Loaded(loaded.settings, loaded.warnings, (note,))
