"""Our HTTP alone, for the gateway's benchmark: the real gateway application and upstream client around a turn that is one attempt and
nothing else. What `failover serve` takes more is the engine and its store."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping

from engine.domain.exchange import Answer, Answered, AttemptFailed, Payload
from engine.domain.ids import ModelRef, SessionKey, TurnId
from engine.domain.settings import GatewaySettings, ModelPolicy, ProviderSettings, Settings
from engine.domain.turns import TurnOutcome, TurnRequest, TurnResult
from engine.gateway.app import GatewayApp
from engine.gateway.guard import Guard
from engine.gateway.server import GatewayServer, bind
from engine.providers.client import HttpUpstream

BIG = ModelRef("acme", "big")
OK = TurnResult(TurnId("t"), SessionKey("s"), TurnOutcome.OK, BIG, BIG, None, "", (BIG,), (), (), (), None, (), 1)


class OneAttempt:
    """A `Turn`."""

    def __init__(self, attempt: asyncio.Task[Answer | AttemptFailed]) -> None:
        self._attempt = attempt

    async def answer(self) -> Answered | TurnResult:
        got = await self._attempt
        assert not isinstance(got, AttemptFailed), got
        self._answer = got
        return Answered(got, BIG, BIG, None, 1, None, ())

    def chunks(self) -> AsyncIterator[bytes]:
        return self._answer.chunks()

    def cancel(self) -> None:
        self._attempt.cancel()

    async def result(self) -> TurnResult:
        return OK


class NoEngine:
    """An `Engine`."""

    draining = False
    ready = True
    open_windows: Mapping[str, int] = {}

    def __init__(self, upstream: str) -> None:
        self._provider = ProviderSettings("acme", f"http://{upstream}/v1", "openai-completions")
        self._upstream = HttpUpstream()
        self.settings = Settings(ModelPolicy(BIG), providers={"acme": self._provider}, gateway=GatewaySettings(port=0))

    def stored_answer(self, name: str) -> None:
        return None

    def new_turn_id(self) -> TurnId:
        return TurnId("t")

    def begin(self, request: TurnRequest, payload: Payload, *, derived_for: str | None = None) -> OneAttempt:
        attempt = self._upstream.attempt(self._provider, BIG, "made-up-key-1", payload, limit_ms=None, retry_max_wait_ms=None)
        return OneAttempt(asyncio.get_running_loop().create_task(attempt))


async def main(upstream: str) -> None:
    """Serves on a free loopback port, printed as the first line, until killed. upstream: `127.0.0.1:PORT`."""
    engine = NoEngine(upstream)
    server = GatewayServer(GatewayApp(engine, Guard()), bind(engine.settings.gateway, None))
    print(server.address.rpartition(":")[2], flush=True)
    await server.serve()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
