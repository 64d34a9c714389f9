"""The one way in: text or data of a configuration becomes `Settings`, or an error that lists everything that is wrong.

The live engine, the reload, `config check` and every scenario of `simulate` come through here, so it must be fast: the validators
are built once, when `schema` is imported. Finding and reading the file is in `files`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import json5
from pydantic import ValidationError

from engine.config.advice import advice, ignored_sections
from engine.config.build import build
from engine.config.environment import read_environment
from engine.config.problems import Loc, Problem, nulls, said
from engine.config.schema import FORM_TAGS, SECTIONS, File, known_keys
from engine.domain.errors import ConfigError
from engine.domain.settings import Settings

CHECK = "mend it and check with: failover config check"
TITLE = "The configuration is not valid"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid configuration. warnings: what is allowed and may surprise, each beginning with its path or its variable.
    notes: what the start should say (a start without a file says what it found)."""

    settings: Settings
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def load_settings(config: str | Mapping[str, object], *, env: Mapping[str, str], generation: int = 1) -> Loaded:
    """Raises ConfigError whose `problems` each begin with a path (`agents.defaults.model.fallbacks[0]: ...`)."""
    data = parse(config) if isinstance(config, str) else config
    found = find_problems(data, env, generation)
    if isinstance(found, Loaded):
        return found
    raise ConfigError(TITLE, tuple(str(problem) for problem in found), "mend these and check with: failover config check")


def find_problems(data: object, env: Mapping[str, str], generation: int = 1) -> Loaded | list[Problem]:
    """The loaded configuration, or all its problems with their places (`init --from` takes those places out)."""
    if not isinstance(data, Mapping):
        return [Problem((), "must be an object with sections such as agents, auth and models")]
    ours = {key: value for key, value in data.items() if key in SECTIONS}
    try:
        file = File.model_validate(ours)
    except ValidationError as error:
        wrong = [_problem(details["loc"], said(details, known_keys(details["loc"][:-1]))) for details in error.errors(include_url=False)]
        absent = list(nulls(ours))
        return absent + [problem for problem in wrong if problem.loc not in {null.loc for null in absent}]
    if absent := list(nulls(ours)):
        return absent
    environment = read_environment(env)
    problems: list[Problem] = []
    doubts: list[Problem] = []
    settings, refs = build(file, environment, env, generation, problems, doubts)
    if problems:
        return problems
    ignored = ignored_sections(key for key in data if key not in SECTIONS)
    said_of_it = (str(doubt) for doubt in (*doubts, *advice(settings, refs)))
    return Loaded(settings, (*((ignored,) if ignored else ()), *environment.warnings, *said_of_it))


def _problem(loc: Loc, text: str) -> Problem:
    # "[key]" is pydantic's mark for the key of a map, not a place in the file.
    return Problem(tuple(part for part in loc if part not in FORM_TAGS and part != "[key]"), text)


def parse(text: str) -> Mapping[str, object]:
    """JSON5 to data. Raises ConfigError with the line and the column of the first thing that cannot be read."""
    try:
        try:
            # Every JSON file is JSON5, and the JSON5 reader is a thousand times slower.
            data = json.loads(text)
        except ValueError:
            data = json5.loads(text)
    except RecursionError:
        raise ConfigError(TITLE, ("the file: nested too deeply",), CHECK) from None
    except ValueError as error:
        raise ConfigError(TITLE, (_syntax(str(error), text),), CHECK) from None
    if not isinstance(data, dict):
        raise ConfigError(TITLE, ("the file: must be an object with sections such as agents, auth and models",), CHECK)
    return cast(dict[str, object], data)


def _syntax(message: str, text: str) -> str:
    if not text.strip():
        return "the file: it is empty"
    match = re.fullmatch(r"<string>:(\d+) (.*) at column (\d+)", message, re.DOTALL)
    if match is None:
        return "the file: not JSON5"
    line, what, column = match.groups()
    what = what.replace("\n", "\\n").replace("\r", "\\r")
    return f"line {line}, column {column}: {what[0].lower()}{what[1:]}"
