"""A picture of the running app, and waiting until it is drawn: for the README and for tests. No engine is started here."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console.app import FailoverApp
from engine.domain.operations import Operations


async def export(operations: Operations, path: Path, size: tuple[int, int], keys: tuple[str, ...] = (), **options: Any) -> None:
    """A picture of the running app as SVG, after `keys` were pressed. For the README and for looking at changes."""
    app = FailoverApp(operations, **{"ticker": False, **options})
    async with app.run_test(size=size, notifications=True) as pilot:
        await settle(app, pilot)
        for key in keys:
            await pilot.press(key)
            await settle(app, pilot)
        picture = app.export_screenshot(title="failover")
    await asyncio.to_thread(path.write_text, picture, encoding="utf-8")


async def settle(app: FailoverApp, pilot: Pilot[str]) -> None:
    """Until the first snapshot, and whatever was asked for since, is drawn."""
    for _ in range(500):
        await pilot.pause(0.0)
        asked = [worker for worker in app.workers if worker.name != "link" and not worker.is_finished]
        if not asked and (app.link.snapshot is not None or app.link.trouble is not None):
            break
        await asyncio.sleep(0.005)
    for _ in range(2):
        await pilot.pause(0.0)
