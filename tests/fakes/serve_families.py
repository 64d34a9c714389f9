"""The fake providers of all four families as one process, for tools that test an API from outside: `python -m
tests.fakes.serve_families` prints their base URLs as JSON and serves until killed."""

from __future__ import annotations

import asyncio
import contextlib
import json

from tests.fakes.families import FAMILIES, answering
from tests.fakes.provider import running_provider


async def main() -> None:
    async with contextlib.AsyncExitStack() as stack:
        fakes = {family: await stack.enter_async_context(running_provider(answering(family, thinking=False))) for family in FAMILIES}
        print(json.dumps({family: fake.base_url for family, fake in fakes.items()}), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
