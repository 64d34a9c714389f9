"""`failover serve`: the gateway without a screen. Prints its address when it accepts requests, re-reads the configuration on SIGHUP, drains
on SIGINT and SIGTERM. How its parts are put together is in `wiring`."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from pathlib import Path

import click

from console.alerts import follow
from console.cli.logs import start_logging
from console.cli.options import Listen, Target, listen, log_file, shared, target
from console.cli.output import hint, safe, say
from console.cli.wiring import Gateway, Plan, plan

log = logging.getLogger("failover.serve")


@click.command("serve")
@listen
@click.option("--read-only", is_flag=True, help="Refuse every act of an operator, in the engine itself.")
@shared
@log_file
@target
def serve_command(host: str | None, port: int | None, read_only: bool, shared: bool, log_file: Path | None, target: Target) -> None:
    """Run the gateway, without a screen. `failover attach` shows it.

    \b
    Signals: SIGTERM and SIGINT finish the requests under way, then end; a second one ends at once. SIGHUP reads the configuration again.
    ctrl+z stops the gateway too: requests wait until `fg` or `bg`, and both are said.
    Examples:
      failover serve
      failover serve --port 0 --state-dir /var/lib/failover
      failover serve --shared --port 4142     beside another one
    """
    planned = plan(target, Listen(host, port), read_only=read_only, shared=shared)
    start_logging(log_file, planned.loaded.settings.store)
    asyncio.run(_serve(planned))


async def _serve(planned: Plan) -> None:
    gateway = await Gateway.start(planned)
    loop = asyncio.get_running_loop()
    asked = asyncio.Event()
    reloads: set[asyncio.Task[None]] = set()

    def stop() -> None:
        if asked.is_set():
            gateway.hurry()
        asked.set()

    def reload() -> None:
        task = loop.create_task(_reload(gateway))
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    _tell_of_suspension(loop)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    loop.add_signal_handler(signal.SIGHUP, reload)
    for note in (*planned.loaded.notes, *planned.loaded.warnings, *gateway.operations.told_at_start):
        hint(safe(note))
    # Without a screen there is no bell and no title; who is to be told by webhook is told from here.
    settings = planned.loaded.settings.console
    ringing = loop.create_task(follow(gateway.operations.events, settings, log.warning), name="failover-webhook")
    try:
        say(f"gateway {gateway.url}")
        await asked.wait()
    finally:
        ringing.cancel()
        await gateway.stop()


def _tell_of_suspension(loop: asyncio.AbstractEventLoop) -> None:
    """Who types ctrl+z at a shell wants the process to stop; what that does to traffic is said before and after."""
    since: list[float] = []

    def stop() -> None:
        hint("serve: stopped; requests wait until it goes on (`fg`, `bg` or SIGCONT)")
        since[:] = [time.monotonic()]
        os.kill(os.getpid(), signal.SIGSTOP)

    def go_on() -> None:
        took = f" after {time.monotonic() - since.pop():.0f} s" if since else ""
        hint(f"serve: goes on{took}; requests that came meanwhile have waited")

    loop.add_signal_handler(signal.SIGTSTP, stop)
    loop.add_signal_handler(signal.SIGCONT, go_on)


async def _reload(gateway: Gateway) -> None:
    ok, message = await gateway.operations.reload()
    log.log(logging.INFO if ok else logging.WARNING, "reload: %s", message)
