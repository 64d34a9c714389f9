"""`failover run` and `failover attach`: the console on a gateway of this process or of another. Both speak to the operator API over
loopback: there is one way to reach an engine, and a terminal that stalls cannot stall traffic. What is drawn is `console.app`'s business,
which is imported only when something is drawn."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from console.around import Around
from console.bundle import BundleOperations
from console.cli.identity import operator
from console.cli.logs import start_logging
from console.cli.options import Appearance, Listen, Target, appearance, listen, log_file, shared, target
from console.cli.output import hint, safe
from console.cli.reach import no_gateway, remote
from console.remote import RemoteOperations
from console.terminal import SavedTerminal, StopSignals, guarded, never_suspend
from engine.config.files import find_config, read_config
from engine.domain.errors import ConfigError, UsageError
from engine.domain.settings import ConsoleSettings, StoreSettings
from store.instance import running
from store.paths import StateDirectory

TOKEN_VARIABLE = "FAILOVER_OPERATOR_TOKEN"


@click.command("run")
@listen
@click.option("--read-only", is_flag=True, help="Refuse every act of an operator, in the engine itself.")
@shared
@appearance
@log_file
@target
def run_command(
    host: str | None, port: int | None, read_only: bool, shared: bool, looks: Appearance, log_file: Path | None, target: Target
) -> int:
    """Run the gateway with its screen: `serve` and `attach` in one. Leaving the screen ends both.

    \b
    Examples:
      failover run
      failover run --port 0 --read-only
    """
    need_terminal("failover serve")
    from console.cli.wiring import GatewayThread, plan

    planned = plan(target, Listen(host, port), read_only=read_only, shared=shared)
    settings = planned.loaded.settings
    start_logging(log_file, settings.store, screen=True)
    for note in planned.loaded.notes:
        hint(safe(note))
    never_suspend()
    gateway = GatewayThread(planned)
    return show(
        RemoteOperations(gateway.url, gateway.token, instance=gateway.instance),
        Showing(looks, settings.console, planned.directory, lambda hurry: gateway.stop(hurry=hurry), True, read_only),
    )


@click.command("attach")
@click.argument("url", required=False)
@click.option(
    "--token-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help=f"The operator token of URL [else {TOKEN_VARIABLE}]."
)
@appearance
@log_file
@target
def attach_command(url: str | None, token_file: Path | None, looks: Appearance, log_file: Path | None, target: Target) -> int:
    """Show a running gateway: the one of the state directory, or the one at URL. Leaving ends only the screen."""
    need_terminal("failover status")
    directory = StateDirectory.locate(target.state_dir)
    operations = _reach(directory, url, token_file)
    # Whoever listens there must answer before anything is drawn.
    asyncio.run(_look(operations))
    start_logging(log_file, StoreSettings(), screen=True)
    around = Around(may_suspend=True)
    return show(operations, Showing(looks, _own_settings(target), directory, around=around))


@dataclass(frozen=True, slots=True)
class Showing:
    """What a screen is shown with. stop: ends what is behind it and returns when that has drained, or soon after the given event is set;
    called at the end in any case, perhaps twice."""

    looks: Appearance
    settings: ConsoleSettings
    directory: StateDirectory
    stop: Callable[[threading.Event], None] = field(default=lambda hurry: None)
    owns_engine: bool = False
    read_only: bool = False
    around: Around = field(default_factory=Around)


def show(operations: RemoteOperations | BundleOperations, showing: Showing) -> int:
    """The console until it is left or the process is told to stop. The exit status: 0, or 1 after a crash of the screen."""
    from console.app import FailoverApp

    saved = SavedTerminal()
    looks, settings = showing.looks, showing.settings
    with StopSignals() as stops:
        try:
            app = FailoverApp(
                operations,
                by=operator(),
                owns_engine=showing.owns_engine,
                read_only=showing.read_only,
                copy_file=showing.directory.root / "copied.txt" if showing.directory.root.is_dir() else None,
                around=replace(showing.around, settings=settings, bundles=showing.around.bundles or showing.directory.root / "incidents"),
                keymap=settings.keys,
                theme=looks.theme or settings.theme or "dark",
                utc=settings.time == "utc" if looks.utc is None else looks.utc,
                ascii_only=looks.ascii_only,
                reduced_motion=looks.reduced_motion,
            )
            with asyncio.Runner() as runner:
                loop = runner.get_loop()
                with guarded(lambda: showing.stop(stops.again), lambda: _leave(loop, app.exit), stops, saved):
                    left = app.run(mouse=settings.mouse and not looks.no_mouse, loop=loop)
                    if isinstance(operations, RemoteOperations):
                        loop.run_until_complete(operations.aclose())
        finally:
            # The screen is gone; what is still under way is finished, unless somebody is in a hurry.
            showing.stop(stops.again if stops.asked.is_set() else stops.asked)
    if left:
        click.echo(left)
    return app.return_code or 0


def _own_settings(target: Target) -> ConsoleSettings:
    """Keys, theme and clock as this person configured them; a screen on somebody else's gateway needs no configuration."""
    try:
        path = find_config(target.config, os.environ)
        return read_config(path, os.environ).settings.console if path is not None else ConsoleSettings()
    except ConfigError as wrong:
        hint(f"the configuration is not used: {safe(wrong.title)}")
        return ConsoleSettings()


def _leave(loop: asyncio.AbstractEventLoop, leave: Callable[[str], None]) -> None:
    # A loop that has ended has left already.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(leave, "")


def need_terminal(instead: str) -> None:
    """Raises UsageError without a terminal to draw on."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("There is no terminal to draw on", "standard input or standard error is no terminal", f"without one: {instead}")


def _reach(directory: StateDirectory, url: str | None, token_file: Path | None) -> RemoteOperations:
    gateway = running(directory)
    if url is None or (gateway is not None and url.rstrip("/") == gateway.address and token_file is None):
        if gateway is None:
            raise no_gateway(directory)
        return remote(directory, gateway)
    # The directory's token is for the directory's gateway: another address gets only a token that was given for it.
    token = token_file.read_text(encoding="utf-8").strip() if token_file is not None else os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        raise UsageError("There is no operator token for that address", url, f"give --token-file or {TOKEN_VARIABLE}")
    if "://" not in url:
        url = f"http://{url}"
    return RemoteOperations(url, token)


async def _look(operations: RemoteOperations) -> None:
    """Its connections are closed again: they belong to this loop."""
    try:
        await operations.snapshot()
    finally:
        await operations.aclose()
