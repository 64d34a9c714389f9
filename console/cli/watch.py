"""`failover watch`: events of the running gateway, one line each, for as long as somebody listens. It comes back by itself after a
restart of the gateway and says what it missed; it shows events and keeps none."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import click

from console.cli.lines import event_line
from console.cli.options import Target, target
from console.cli.output import hint, say, say_record
from console.cli.reach import no_gateway, remote
from console.view.text import literal
from engine.domain.errors import GatewayUnreachable
from store.instance import running
from store.paths import StateDirectory

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 10.0


@click.command("watch")
@click.option("--plain", is_flag=True, help="One line of words per event (the default).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per event.")
@click.option("--after", type=click.IntRange(min=0), help="Begin with the kept events after this number; 0: all that are kept.")
@click.option("--once", is_flag=True, help="End when the gateway ends, instead of waiting for the next one.")
@target
def watch_command(plain: bool, as_json: bool, after: int | None, once: bool, target: Target) -> int:
    """Show what happens, as it happens, until ctrl+C.

    \b
    Examples:
      failover watch
      failover watch --json | jq 'select(.event == "notice") | .text'
    """
    if plain and as_json:
        raise click.UsageError("--plain and --json exclude each other")
    try:
        asyncio.run(_watch(target, as_json, after, once))
    except KeyboardInterrupt:
        return 0
    return 0


async def _watch(target: Target, as_json: bool, after: int | None, once: bool) -> None:
    directory = StateDirectory.locate(target.state_dir)
    wait_s = FIRST_WAIT_S
    gateway = running(directory)
    if gateway is None:
        raise no_gateway(directory)
    async with remote(directory, gateway) as operations:
        while True:
            try:
                async with aclosing(operations.events(after)) as events:
                    async for event in events:
                        wait_s, after = FIRST_WAIT_S, event.seq
                        say_record(event.data) if as_json else say(event_line(event.data))
            except GatewayUnreachable as lost:
                if once:
                    return
                hint(f"watch: {literal(lost.title)}; trying again in {wait_s:g} s")
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)
