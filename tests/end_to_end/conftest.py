"""Two providers for a gateway to fail over between."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.fakes.provider import FakeProvider, running_provider


@pytest_asyncio.fixture
async def acme() -> AsyncIterator[FakeProvider]:
    async with running_provider() as provider:
        yield provider


@pytest_asyncio.fixture
async def zeta() -> AsyncIterator[FakeProvider]:
    async with running_provider() as provider:
        yield provider
