"""Taking over what applies from an OpenClaw configuration (`failover init --from FILE`): copied as it is, the rest named, no secret copied.

The file is not translated: it is judged by the loader, and what the loader refuses is taken out and listed. So there is no
second list of keys to keep in step with `schema`. The few spellings that mean the same are rewritten first.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.config.build import PRIMARY
from engine.config.load import find_problems
from engine.config.problems import Loc, Problem, path

COPIED_SECTIONS = ("agents", "auth", "models")
"""OpenClaw's `gateway` and `logging` are about its own processes."""

_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


@dataclass(frozen=True, slots=True)
class Copied:
    """config: valid. left: `path: why` for each thing that was not copied, in the order of the file."""

    config: Mapping[str, object]
    left: tuple[str, ...]


def copy_what_applies(data: Mapping[str, object], *, default_primary: str) -> Copied:
    """default_primary: the ref to start from if the file names none that can be used; it is then listed too."""
    config: dict[str, Any] = copy.deepcopy({key: value for key, value in data.items() if key in COPIED_SECTIONS})
    left = [f"{path((key,))}: not a section of ours" for key in data if key not in COPIED_SECTIONS]
    left += _rewrite_providers(config)
    while isinstance(found := find_problems(config, {}), list):
        if all(problem.loc == PRIMARY and not _exists(config, PRIMARY) for problem in found):
            _set_primary(config, default_primary)
            left.append(f"{path(PRIMARY)}: there was none to copy; {default_primary} stands there now, change it")
            continue
        targets = {
            _target(config, problem.loc): problem for problem in reversed(found) if problem.loc != PRIMARY or _exists(config, PRIMARY)
        }
        left += [f"{path(target)}: {_why(target, problem)}" for target, problem in reversed(targets.items())]
        # From the back, so that the places of a list keep their numbers until they are taken out.
        for target in sorted(targets, reverse=True):
            _remove(config, target)
    return Copied(config, tuple(left))


def _rewrite_providers(config: dict[str, Any]) -> Iterable[str]:
    """Model objects become ids, and a key that is a variable becomes a profile that names the variable."""
    providers = _at(config, ("models", "providers"))
    for name, provider in providers.items() if isinstance(providers, dict) else ():
        if not isinstance(provider, dict):
            continue
        if isinstance(provider.get("models"), list):
            provider["models"] = [model.get("id", model) if isinstance(model, dict) else model for model in provider["models"]]
        variable = _VARIABLE.fullmatch(key) if isinstance(key := provider.get("apiKey"), str) else None
        if variable:
            del provider["apiKey"]
            auth = config.setdefault("auth", {})
            if isinstance(auth, dict) and isinstance(profiles := auth.setdefault("profiles", {}), dict):
                reference = {"provider": name, "mode": "api_key", "keyRef": f"env:{variable[1]}"}
                profiles.setdefault(f"{name}:env", reference)
                yield f"{path(('models', 'providers', name, 'apiKey'))}: the profile {name}:env names its variable instead"


def _why(target: Loc, problem: Problem) -> str:
    if problem.text.startswith("unknown key"):
        return "no such setting here"
    return problem.text if target == problem.loc else f"{path(problem.loc[len(target) :])} is {problem.text}"


def _target(config: object, loc: Loc) -> Loc:
    """What to take out so that the problem is gone: the thing itself, or what lacks it."""
    while loc and not _exists(config, loc):
        loc = loc[:-1]
    return loc


def _at(config: Any, loc: Loc) -> Any:
    for part in loc:
        known = part in config if isinstance(config, dict) else isinstance(config, list) and isinstance(part, int) and part < len(config)
        if not known:
            return _NOTHING
        config = config[part]
    return config


_NOTHING = object()


def _exists(config: object, loc: Loc) -> bool:
    return _at(config, loc) is not _NOTHING


def _remove(config: object, loc: Loc) -> None:
    if _exists(config, loc):
        del _at(config, loc[:-1])[loc[-1]]


def _set_primary(config: dict[str, Any], ref: str) -> None:
    owner: dict[str, Any] = config
    for part in PRIMARY[:-1]:
        inner = owner.setdefault(str(part), {})
        owner = inner
    owner[str(PRIMARY[-1])] = ref
