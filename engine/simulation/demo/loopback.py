"""An HTTP server of the demo's on a free loopback port, in the running loop. The gateway's own server is `engine.gateway.server`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp

GOODBYE_S = 1


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[str]:
    """Its address, `http://127.0.0.1:PORT`. Afterwards nothing of it is left, whoever still waited for an answer."""
    settings = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=GOODBYE_S,
    )
    settings.load()
    server = uvicorn.Server(settings)
    # What `Server.serve` does, without its signal handlers and its ten wake-ups a second.
    server.lifespan = settings.lifespan_class(settings)
    await server.startup()
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        await server.shutdown()
