"""`failover demo`: the real engine, gateway and store in a temporary folder, with fake providers that misbehave on a script and clients
that send traffic (`engine.simulation.demo`). No real key is read and nothing outside the folder is touched."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import click

from console.around import Around
from console.cli.lines import event_line
from console.cli.logs import start_logging
from console.cli.options import Appearance, Listen, Span, appearance
from console.cli.output import hint, say, say_record
from console.cli.wiring import GatewayThread, Plan
from console.remote import RemoteOperations
from console.terminal import never_suspend
from engine.config.load import load_settings
from engine.domain.clock import SystemClock
from engine.domain.errors import GatewayUnreachable, UsageError
from engine.domain.ids import MAIN_AGENT
from engine.domain.settings import ConsoleSettings, StoreSettings
from engine.domain.store import PutCredential
from engine.simulation.demo.cast import config, credentials
from engine.simulation.demo.scenarios import OUTAGE, SCENARIOS
from engine.simulation.demo.script import Scenario
from engine.simulation.demo.tally import Tally
from engine.simulation.demo.world import DemoWorld
from store.opening import opened
from store.paths import StateDirectory
from store.sqlite import SqliteStore

SPEED = 10.0
"""An outage is over in half a minute, and a countdown of 30 s can still be followed with the eye."""

DRAIN_S = 3.0


@click.command("demo")
@click.option("--scenario", type=click.Choice(list(SCENARIOS)), default=OUTAGE.name, show_default=True, help="What goes wrong.")
@click.option("--speed", type=Span(0.1, 1000), default=SPEED, show_default=True, help="How much faster policy time runs.")
@click.option("--headless", is_flag=True, help="No screen: events on standard output.")
@click.option("--seconds", type=Span(1, 86_400), help="With --headless: how long (real seconds) [else until ctrl+C].")
@click.option("--json", "as_json", is_flag=True, help="With --headless: one JSON object an event, the last one a summary.")
@click.option("--seed", type=int, default=0, show_default=True, help="Who asks when, and how long answers take.")
@click.option("--tour", is_flag=True, help="Explain what is happening, step by step.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the gateway [else any free one].")
@appearance
def demo_command(
    scenario: str, speed: float, headless: bool, seconds: float | None, as_json: bool, seed: int, tour: bool, port: int, looks: Appearance
) -> int:
    """See it work: fake providers that fail on a script, real everything else. Needs no key and no configuration.

    \b
    Scenarios: outage (a rate-limit burst, a fallback, the way back), billing (accounts run dry), revoked-key, overload,
    subscription-reset, flapping, everything-down. On the screen, ! breaks and heals things by hand.
    Examples:
      failover demo
      failover demo --scenario billing --speed 60
      failover demo --headless --seconds 25 --speed 60 --json
    """
    if headless and tour:
        raise click.UsageError("--tour explains a screen, and --headless has none")
    if not headless and (as_json or seconds is not None):
        raise click.UsageError("--seconds and --json belong to --headless")
    if not headless and not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        advice = "failover demo --headless --seconds 25 --speed 60 --json"
        raise UsageError(
            "The demo draws on a terminal, and there is none", "standard input, output or error is no terminal", f"without one: {advice}"
        )
    start_logging(None, StoreSettings(), screen=True)
    if not headless:
        never_suspend()
    with Demo(SCENARIOS[scenario], speed, seed, port) as demo:
        if headless:
            hint(demo.invitation)
            asyncio.run(_headless(demo, seconds, as_json))
            return 0
        return _shown(demo, looks, tour)


def _shown(demo: Demo, looks: Appearance, tour: bool) -> int:
    from console.cli.screen import Showing, show

    say(demo.invitation)
    gateway = demo.gateway
    operations = RemoteOperations(gateway.url, gateway.token, instance=gateway.instance)
    around = Around(director=demo.world.director, tour=tour, bundles=Path.cwd())
    showing = Showing(looks, ConsoleSettings(), demo.directory, lambda hurry: demo.close(), owns_engine=False, around=around)
    return show(operations, showing)


class Demo:
    """World, gateway and folder of one demo; all of it is gone after `close`."""

    def __init__(self, scenario: Scenario, speed: float, seed: int, port: int) -> None:
        self.scenario = scenario
        self.speed = speed
        self.clock = SystemClock(speed)
        self._stack = ExitStack()
        try:
            self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="failover-demo-", ignore_cleanup_errors=True)))
            self.directory = StateDirectory(self.folder / "state")
            self.world = DemoWorld(scenario, self.clock, seed=seed)
            self._stack.callback(self.world.stop)
            self.gateway = GatewayThread(self._plan(port))
            self._stack.callback(self.gateway.stop, DRAIN_S)
            self._stack.callback(self.world.quiet)
            self.world.begin(self.gateway.url)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Traffic first, then the gateway, which drains, then providers and folder. Safe to call twice."""
        self._stack.close()

    @property
    def invitation(self) -> str:
        """Lines to try against it."""
        messages = [{"role": "user", "content": "hello"}]
        body = json.dumps({"model": "auto", "messages": messages})
        url = self.gateway.url
        return "\n".join(
            (
                f"demo: {self.scenario.name}: {self.scenario.tells}; policy time ×{self.speed:g}",
                f"  curl -i {url}/v1/chat/completions -H 'content-type: application/json' -d '{body}'",
                f'  python -c \'from openai import OpenAI; c = OpenAI(base_url="{url}/v1", api_key="demo"); '
                f'print(c.chat.completions.create(model="auto", messages={json.dumps(messages)}).choices[0].message.content)\'',
                f"  failover status --state-dir {self.directory.root}",
            )
        )

    def _plan(self, port: int) -> Plan:
        addresses = self.world.start()
        path = self.folder / "failover.json5"
        path.write_text(json.dumps(config(addresses), indent=2), encoding="utf-8")
        asyncio.run(_stock(self.directory))
        # env={}: the variables of whoever shows this are not looked at, a real key least of all.
        loaded = load_settings(config(addresses), env={})
        listen = Listen("127.0.0.1", port)
        return Plan(self.directory, path, loaded, listen, environ={}, mode="DEMO", clock=self.clock, speed=self.speed)


async def _stock(directory: StateDirectory) -> None:
    store = SqliteStore(directory)
    async with opened(store):
        await store.commit([PutCredential(MAIN_AGENT, profile, credential) for profile, credential in credentials().items()])


async def _headless(demo: Demo, seconds: float | None, as_json: bool) -> None:
    """Prints events until the time is over or somebody stops it, then what the traffic's end still brings, then the summary."""
    tally = Tally()
    loop = asyncio.get_running_loop()
    begun = loop.time()

    async def show() -> None:
        async with RemoteOperations(demo.gateway.url, demo.gateway.token, instance=demo.gateway.instance) as operations:
            try:
                async for event in operations.events(after=0):
                    tally.add(event.data)
                    say_record(event.data) if as_json else say(event_line(event.data))
            except GatewayUnreachable:
                # The gateway has drained and ended the stream: everything has been told.
                return

    showing = asyncio.create_task(show())
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, showing.cancel)
    done, _ = await asyncio.wait({showing}, timeout=seconds)
    if not done:
        await asyncio.to_thread(demo.world.quiet)
        await asyncio.to_thread(demo.gateway.stop, DRAIN_S)
        await asyncio.wait({showing}, timeout=DRAIN_S)
    showing.cancel()
    await asyncio.gather(showing, return_exceptions=True)
    took = round(loop.time() - begun, 1)
    summary = tally.summary(at=demo.clock.now_ms(), scenario=demo.scenario.name, speed=demo.speed, seconds=took)
    say_record(summary) if as_json else say(event_line(summary))
