"""Options that several commands share, so that they mean the same everywhere, and what they come to: a `Target`.
Nothing is opened or read here."""

from __future__ import annotations

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
class Listen:
    """Where a gateway listens; None = as configured. port 0: any free one."""

    host: str | None = None
    port: int | None = None


def target(command: Command) -> Command:
    """`--config` and `--state-dir`, as one parameter `target`."""

    def gather(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
        # The options do not reach the command one by one: they are parts of one noun.
        made: Target = ctx.params.get("target") or Target()
        ctx.params["target"] = replace(made, **{param.name or "": value})
        return value

    for option in (
        click.option(
            "--state-dir",
            type=click.Path(path_type=Path),
            envvar="FAILOVER_STATE_DIR",
            callback=gather,
            expose_value=False,
            help="Where credentials, sessions and the running gateway's address lie.",
        ),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            callback=gather,
            expose_value=False,
            help="The configuration file [else FAILOVER_CONFIG, ./failover.json5, the user's config directory].",
        ),
    ):
        command = option(command)
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


def as_json(command: Command) -> Command:
    """`--json`, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")(command)
