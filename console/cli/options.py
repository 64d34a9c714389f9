"""Options that several commands share, so that they mean the same everywhere, and what they come to: a `Target`.
Nothing is opened or read here."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Target:
    """Which configuration and which state a command means; None = as spec/console.md says ("Common options")."""

    config: Path | None = None
    state_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class Appearance:
    """How a person wants to see the screen; None = as configured."""

    ascii_only: bool = False
    no_mouse: bool = False
    reduced_motion: bool = False
    utc: bool | None = None
    theme: str | None = None


@dataclass(frozen=True, slots=True)
class Listen:
    """Where a gateway listens; None = as configured. port 0: any free one."""

    host: str | None = None
    port: int | None = None


class Span(click.FloatRange):
    """A number between two bounds; one that is none (`nan`) lies in no range, and would pass every comparison."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail(f"{value!r} is not a number", param, ctx)
        return found


def target(command: Command) -> Command:
    """`--config` and `--state-dir`, as one parameter `target`."""
    part = _part_of("target", Target)
    for option in (
        click.option(
            "--state-dir",
            type=click.Path(path_type=Path),
            envvar="FAILOVER_STATE_DIR",
            callback=part,
            expose_value=False,
            help="Where credentials, sessions and the running gateway's address lie.",
        ),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            callback=part,
            expose_value=False,
            help="The configuration file [else FAILOVER_CONFIG, ./failover.json5, the user's config directory].",
        ),
    ):
        command = option(command)
    return command


def appearance(command: Command) -> Command:
    """The options of everything that draws a screen, as one parameter `looks`."""
    part = _part_of("looks", Appearance)
    for names, options in (
        (("--theme",), {"help": "Colours: dark, light or ansi [else as configured]."}),
        (("--utc/--local", "utc"), {"default": None, "help": "Clock times in UTC or local [else as configured]."}),
        (("--reduced-motion",), {"is_flag": True, "help": "Countdowns above a minute move once a minute."}),
        (("--no-mouse",), {"is_flag": True, "help": "Leave the mouse to the terminal."}),
        (("--ascii", "ascii_only"), {"is_flag": True, "help": "7-bit characters only."}),
    ):
        command = click.option(*names, callback=part, expose_value=False, **options)(command)
    return command


def log_file(command: Command) -> Command:
    """`--log-file`, for what runs long enough to have diagnostics."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option("--log-file", type=kind, help="Diagnostics go to this file [else as configured].")(command)


def listen(command: Command) -> Command:
    """`--host` and `--port`."""
    command = click.option(
        "--port", type=click.IntRange(0, 65535), help="Port of the gateway; 0: any free one [else as configured: 4141]."
    )(command)
    return click.option("--host", help="Address of the gateway [else as configured: 127.0.0.1].")(command)


def shared(command: Command) -> Command:
    """`--shared`, for what is a gateway."""
    return click.option("--shared", is_flag=True, help="Run beside other gateways on the state directory; for each of them.")(command)


def as_json(command: Command) -> Command:
    """`--json`, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")(command)


def _part_of(name: str, noun: Callable[[], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """The callback of an option that is a part of one noun: the command gets the noun, not the options one by one."""

    def gather(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        made = ctx.params.get(name) or noun()
        ctx.params[name] = replace(made, **{param.name or "": value})
        return value

    return gather
