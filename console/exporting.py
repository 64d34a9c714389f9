"""`x`: what is on the screen and behind it, as an incident bundle on disk. What a bundle is stands in `console.bundle`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from console import bundle
from engine.domain.errors import FailoverError

if TYPE_CHECKING:
    from console.app import FailoverApp


async def export(app: FailoverApp) -> None:
    """Says where it is, or why there is none."""
    folder = app.around.bundles
    if folder is None:
        app.say("this console has no folder to export to", "warning")
        return
    # The screen first: a moment later it may show something else.
    picture = app.export_screenshot(title="failover")
    try:
        found = await bundle.gather(app.operations, app.by)
        place = await asyncio.to_thread(bundle.write, found, folder, picture)
    except FailoverError as error:
        app.say(f"not exported: {error.title}", "error")
    except OSError as error:
        app.say(f"not exported: {error.strerror or type(error).__name__} ({error.filename or folder})", "error")
    else:
        app.say(f"exported to {place}")
