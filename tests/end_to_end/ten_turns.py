"""A second process on a gateway's state directory, without a gateway of its own: `python -m tests.end_to_end.ten_turns CONFIG STATE` says
`ready`, waits for a line, makes ten turns at once and prints how each ended."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import json5

from engine.config.load import load_settings
from engine.domain.clock import SystemClock
from engine.domain.exchange import Payload
from engine.domain.ids import SessionKey
from engine.domain.turns import TurnRequest
from engine.live.engine import FailoverEngine
from engine.providers.client import HttpUpstream
from store.paths import StateDirectory
from store.sqlite import SqliteStore


async def main(config: Any, state: Path) -> None:
    settings = load_settings(config, env=os.environ).settings
    engine = FailoverEngine(settings, SqliteStore(StateDirectory(state)), HttpUpstream(), clock=SystemClock(), environ=os.environ)
    await engine.start()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    said = {"model": "auto", "messages": [{"role": "user", "content": "hi"}]}
    payload = Payload("openai-completions", said, json.dumps(said).encode(), stream=False)

    async def turn(number: int) -> str:
        begun = engine.begin(TurnRequest(engine.new_turn_id(), SessionKey(f"second-{number}")), payload)
        async for _ in begun.chunks():
            pass
        return str((await begun.result()).outcome)

    outcomes = await asyncio.gather(*map(turn, range(10)))
    await engine.stop()
    print(json.dumps(outcomes), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json5.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])))
