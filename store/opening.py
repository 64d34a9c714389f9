"""Open, use, close: for commands that touch the state for a moment (`failover profiles add`). Chooses no store and changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from engine.domain.store import StateStore, Stored


@asynccontextmanager
async def opened(store: StateStore) -> AsyncIterator[Stored]:
    """What is stored; afterwards everything is written and closed, also after an error: an open connection's thread would keep the
    process alive. Raises StoreError."""
    try:
        yield await store.open()
    finally:
        await store.close()
