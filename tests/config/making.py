"""A small valid configuration and ways to change one place of it. No expectation is in here."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from engine.config.load import Loaded, load_settings
from engine.domain.errors import ConfigError

BASE: Mapping[str, Any] = {
    "agents": {"defaults": {"model": {"primary": "acme/big", "fallbacks": ["acme/small", "zeta/std"]}}},
    "models": {
        "providers": {
            "acme": {"baseUrl": "http://acme.test/v1", "api": "openai-completions"},
            "zeta": {"baseUrl": "http://zeta.test/v1", "api": "anthropic-messages"},
        }
    },
}


def with_value(value: object, *path: str | int) -> dict[str, Any]:
    """The base with `value` at `path`; objects on the way are made, lists are replaced by one of one element."""
    config: dict[str, Any] = copy.deepcopy(dict(BASE))
    owner: Any = config
    for part, following in itertools.pairwise(path):
        if isinstance(owner, dict):
            fresh: Any = [] if isinstance(following, int) else {}
            if not isinstance(owner.get(str(part)), type(fresh)):
                owner[str(part)] = fresh
            owner = owner[str(part)]
        else:
            if not owner:
                owner.append({})
            owner = owner[int(part)]
    if isinstance(owner, list):
        owner.append(value)
    else:
        owner[str(path[-1])] = value
    return config


def load(config: Mapping[str, object] = BASE, **env: str) -> Loaded:
    return load_settings(config, env=env)


def problems(config: object, **env: str) -> tuple[str, ...]:
    """What is wrong with it; nothing if it loads."""
    try:
        load_settings(config, env=env)  # type: ignore[arg-type]
    except ConfigError as refused:
        return refused.problems
    return ()


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=8) | st.sampled_from(["model", "id", "primary", "oauth"]), inner, max_size=3)
    ),
    max_leaves=8,
)
PLACES = [
    ("agents",),
    ("agents", "defaults"),
    ("agents", "defaults", "model"),
    ("agents", "defaults", "models"),
    ("agents", "list"),
    ("auth",),
    ("auth", "profiles"),
    ("auth", "order"),
    ("models", "providers"),
    ("models", "providers", "acme"),
    ("gateway",),
    ("gateway", "models"),
    ("console",),
    ("log",),
]
