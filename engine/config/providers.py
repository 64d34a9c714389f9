"""`models.providers.*` made whole: what the file says, over what the catalogue knows, over the defaults. No profile is looked at
but to tell whether a local server is used with a key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.config.catalogue import BALANCE_KEYS_THEMSELVES, CATALOGUE, CatalogueEntry
from engine.config.problems import Loc, Problem, did_you_mean, quoted
from engine.config.schema import OAuth, Provider
from engine.config.values import given, url_problem
from engine.domain.settings import OAuthSettings, ProviderSettings

_DEFAULT = ProviderSettings("", "", "")
_NOTHING_SAID = Provider()


def build_providers(
    said: Mapping[str, Provider],
    named: Iterable[str],
    with_profile: frozenset[str],
    env: Mapping[str, str],
    problems: list[Problem],
    doubts: list[Problem],
) -> dict[str, ProviderSettings]:
    """Every provider of the file, and those of the catalogue that the file only names (in a ref or a profile), in this order.

    with_profile: providers that have a profile in the file: a keyless server among them is used with its key.
    """
    built: dict[str, ProviderSettings] = {}
    for key, provider in said.items():
        name = key.lower()
        loc = ("models", "providers", key)
        if "/" in name or name != name.strip():
            problems.append(Problem(loc, "a provider id has no `/` and no spaces around it: a ref could not name it"))
        else:
            if name in built:
                doubts.append(there_twice(loc, name))
            entry = CATALOGUE.get(name)
            base_url, api = provider.base_url or endpoint(entry, env), provider.api or (entry and entry.api)
            hint = "" if entry else f"; the catalogue does not know {quoted(name)}{did_you_mean(name, CATALOGUE)}"
            if not base_url:
                problems.append(Problem((*loc, "baseUrl"), f"required{hint}"))
            if not api:
                problems.append(Problem((*loc, "api"), f"required{hint}"))
            built[name] = _settings(name, provider, base_url or "", api or "", name in with_profile)
    for name in named:
        if name not in built and (entry := CATALOGUE.get(name)) and (base_url := endpoint(entry, env)):
            built[name] = _settings(name, _NOTHING_SAID, base_url, entry.api, name in with_profile)
    return built


def there_twice(loc: Loc, provider: str) -> Problem:
    """Two spellings of one provider: as with a JSON key that is there twice, the later one counts."""
    return Problem(loc, f"provider {quoted(provider)} is there twice (ids are lower-cased): this one counts")


def endpoint(entry: CatalogueEntry | None, env: Mapping[str, str]) -> str | None:
    """The base URL that the catalogue knows, or that the environment gives where everybody has an own one."""
    if entry is None:
        return None
    own = env.get(entry.endpoint_variable, "").strip().rstrip("/") if entry.endpoint_variable else ""
    return own + entry.endpoint_suffix if own and url_problem(own) is None else entry.base_url


def _settings(name: str, said: Provider, base_url: str, api: str, has_profile: bool) -> ProviderSettings:
    entry = CATALOGUE.get(name)
    return ProviderSettings(
        id=name,
        base_url=base_url.rstrip("/"),
        api=api,
        models=tuple(dict.fromkeys(model if isinstance(model, str) else model.id for model in said.models)),
        max_retries=given(said.max_retries, _DEFAULT.max_retries),
        keyless=said.auth == "none" or (entry is not None and entry.keyless and not has_profile),
        cooldowns=given(said.cooldowns, name not in BALANCE_KEYS_THEMSELVES),
        connect_timeout_s=given(said.connect_timeout_seconds, _DEFAULT.connect_timeout_s),
        timeout_s=given(said.timeout_seconds, _DEFAULT.timeout_s),
        first_byte_s=given(said.first_byte_seconds, _DEFAULT.first_byte_s),
        idle_timeout_s=given(said.idle_timeout_seconds, _DEFAULT.idle_timeout_s),
        oauth=_oauth(said.oauth),
    )


def _oauth(said: OAuth | None) -> OAuthSettings | None:
    return said if said is None else OAuthSettings(said.token_url, said.client_id, said.client_secret_ref, tuple(said.scopes))
