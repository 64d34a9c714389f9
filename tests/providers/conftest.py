"""A fake provider and our client against it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.provider import FakeProvider, running_provider
from tests.providers.attempts import Attempts


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    async with running_provider() as fake:
        yield fake


@pytest.fixture
async def attempt(provider: FakeProvider) -> AsyncIterator[Attempts]:
    attempts = Attempts(provider.base_url)
    yield attempts
    await attempts.upstream.aclose()
