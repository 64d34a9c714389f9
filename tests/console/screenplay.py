"""How tests of the console drive it: an app on the fake engine with a fixed clock, keys, and the screen as text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from textual import events
from textual.keys import _character_to_key, key_to_character
from textual.pilot import Pilot
from textual.widgets import Static

from console.app import FailoverApp
from console.pictures import settle
from tests.console.fake import NOW, FakeOperations


@dataclass
class Stage:
    """A running console. `now` may be moved; nothing else in it reads a clock."""

    operations: FakeOperations
    now: int = NOW
    app: FailoverApp = field(init=False)
    pilot: Pilot[str] = field(init=False)

    async def press(self, *keys: str) -> None:
        """As the terminal would send them; not by the pilot, which waits for the whole machine to be idle after each."""
        driver = self.app._driver
        assert driver is not None
        for key in keys:
            name = _character_to_key(key) if len(key) == 1 else key
            driver.send_message(events.Key(name, key if len(key) == 1 else key_to_character(name)))
            await self.pilot.pause(0.0)
            await self.pilot.pause(0.0)
        await self.settled()

    async def burst(self, *keys: str) -> None:
        """All at once, as a stalled ssh delivers them: nothing is drawn in between."""
        driver = self.app._driver
        assert driver is not None
        for key in keys:
            name = _character_to_key(key) if len(key) == 1 else key
            driver.send_message(events.Key(name, key if len(key) == 1 else key_to_character(name)))
        for _ in range(10):
            await self.pilot.pause(0.0)
        await self.settled()

    async def settled(self) -> None:
        await settle(self.app, self.pilot)

    async def news(self) -> None:
        """What the fake published has arrived."""
        await self.app.link._fetch()
        await self.settled()

    async def type(self, text: str) -> None:
        await self.press(*("space" if char == " " else char for char in text))

    def lines(self) -> list[str]:
        width, height = self.app.size
        strips = self.app.screen._compositor.render_strips()
        return [strip.text for strip in strips][:height] if width else []

    def text(self) -> str:
        return "\n".join(self.lines())

    def hint(self) -> str:
        """What the open picker says of the choice under its cursor."""
        return str(self.app.screen.query_one("#picker-hint", Static).content)

    def toasts(self) -> list[str]:
        return [notification.message for notification in self.app._notifications]

    @property
    def selected(self) -> str | None:
        return self.app.live.selected_session

    @property
    def acts(self) -> list[object]:
        return [act for act, _ in self.operations.acts]


@asynccontextmanager
async def on_stage(
    operations: FakeOperations | None = None, *, size: tuple[int, int] = (160, 48), keys: tuple[str, ...] = (), **options: object
) -> AsyncIterator[Stage]:
    """The console on `operations`, its first frame drawn."""
    stage = Stage(operations or FakeOperations())
    options = {"clock": lambda: stage.now, "ticker": False, "utc": True, "by": "tester", **options}
    stage.app = FailoverApp(stage.operations, **options)  # type: ignore[arg-type]
    async with stage.app.run_test(size=size, notifications=True) as pilot:
        stage.pilot = pilot
        await stage.settled()
        if keys:
            await stage.press(*keys)
        yield stage
