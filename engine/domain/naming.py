"""Field names: snake_case inside, the camelCase of the spec in JSON. One place, so that no name is spelled twice."""

from functools import cache


@cache
def camel(name: str) -> str:
    """`cooldown_until` -> `cooldownUntil`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@cache
def snake(name: str) -> str:
    """`cooldownUntil` -> `cooldown_until`: the inverse of `camel`."""
    return "".join("_" + c.lower() if c.isupper() else c for c in name)
