"""`Operations` of an engine in another thread or process, through its operator API. The console and the commands see a running
gateway only through this. It holds no state of the engine, draws nothing (no Textual here), and never tries again by itself:
that is its caller's business."""

from __future__ import annotations

import hmac
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

import httpx

from engine.domain.acts import Act, ActResult, BulkReturn, Clear, Probe
from engine.domain.decisions import EVERY, Matching
from engine.domain.errors import GatewayUnreachable
from engine.domain.foresight import Assumption, Moves, SessionDetail, WhatIf
from engine.domain.ids import SessionKey
from engine.domain.operations import Event
from engine.domain.snapshot import Preview, Snapshot
from engine.gateway.wire import (
    BY_HEADER,
    INSTANCE_HEADER,
    dump,
    dump_by,
    dump_question,
    load,
    load_error,
)

T = TypeVar("T")

CONNECT_S = 2.0
VIEW_S = 10.0
SILENCE_S = 9.0
"""An event stream that is silent for longer is dead: the gateway says something every 3 s, and a loss must show within 10 s."""

CALL_S = 300.0
"""A probe, or a clear that verifies, makes a real upstream call and waits for its first content."""

START_IT = "start it with `failover serve` or `failover run`"
LOOK_FIRST = "it may have been done: look at the notices before trying again"

_JSON = {"content-type": "application/json"}


class RemoteOperations:
    """Raises GatewayUnreachable when the gateway does not answer, is another one than `instance`, or goes away.

    instance: checked before the token is sent for the first time, and again after every loss; None trusts whoever answers at `url`.
    anew: where the gateway is now (address, token, instance), asked after a loss: the next one of a state directory has another
    instance, and perhaps another address. Raises FailoverError when there is none. Usable in one event loop; proxies of the environment
    are never asked.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        instance: str | None = None,
        anew: Callable[[], tuple[str, str, str]] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._instance = instance
        self._anew = anew
        self._lost_it = False
        self._heard: str | None = None
        self._checked = instance is None
        self._transport = transport
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes its connections; safe to call twice."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def snapshot(self) -> Snapshot:
        answer = await self._ask("GET", "snapshot")
        return self._understand(partial(load, Snapshot), answer)

    async def preview(self, session: SessionKey) -> Preview:
        answer = await self._ask("GET", "preview", params={"session": session})
        return self._understand(partial(load, Preview), answer)

    async def what_if(self, session: SessionKey, assumptions: Sequence[Assumption]) -> WhatIf:
        answer = await self._ask("POST", "what_if", content=dump_question(session, assumptions), headers=_JSON)
        return self._understand(partial(load, WhatIf), answer)

    async def moves(self, assumptions: Sequence[Assumption]) -> Moves:
        answer = await self._ask("POST", "moves", content=dump_question(None, assumptions), headers=_JSON)
        return self._understand(partial(load, Moves), answer)

    async def detail(self, session: SessionKey) -> SessionDetail:
        answer = await self._ask("GET", "detail", params={"session": session})
        return self._understand(partial(load, SessionDetail), answer)

    async def decisions(
        self, *, session: SessionKey | None = None, turn: str | None = None, limit: int = 100, matching: Matching = EVERY
    ) -> Sequence[Mapping[str, object]]:
        wanted = {"session": session, "turn": turn, "limit": limit, **asdict(matching)}
        answer = await self._ask("GET", "decisions", params={name: str(value) for name, value in wanted.items() if value is not None})
        return self._understand(_load_decisions, answer)

    async def act(self, act: Act, by: str) -> ActResult:
        headers = {BY_HEADER: dump_by(by), **_JSON}
        # No longer than the act takes: one that is given up is not done any more by a gateway that hung (engine.gateway.operator).
        wait_s = CALL_S if isinstance(act, Probe | BulkReturn) or (isinstance(act, Clear) and act.verify) else VIEW_S
        # Refused is an answer of its own: the body says why.
        answer = await self._ask(
            "POST", "acts", content=dump(act), headers=headers, wait_s=wait_s, accept=(200, 409), unanswered=LOOK_FIRST
        )
        if answer.status_code == 409 and (told := load_error(answer.content)) is not None:
            raise told
        return self._understand(partial(load, ActResult), answer)

    async def events(self, after: int | None = None) -> AsyncGenerator[Event]:
        """Ends with GatewayUnreachable when the gateway stops or falls silent; the caller comes back with the last seq that it saw. Numbers
        begin anew with every gateway: of a new one all events that it keeps come."""
        await self._check_instance()
        if self._heard not in (None, self._instance):
            after = 0
        self._heard = self._instance
        limits = httpx.Timeout(SILENCE_S, connect=CONNECT_S)
        params = {} if after is None else {"after": str(after)}
        try:
            request = self._client_now().build_request("GET", self._address("events"), params=params, headers=self._auth(), timeout=limits)
            answer = await self._client_now().send(request, stream=True)
            try:
                if answer.status_code != 200:
                    await answer.aread()
                self._judge(answer, (200,))
                async with aclosing(_events_of(answer)) as found:
                    async for event in found:
                        yield event
            finally:
                await answer.aclose()
        except httpx.HTTPError as failed:
            raise self._lost(failed) from None
        raise GatewayUnreachable("The gateway ended the event stream", f"{self.url} is stopping or has stopped", "it can be started again")

    async def _ask(
        self,
        method: str,
        name: str,
        *,
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        wait_s: float = VIEW_S,
        accept: tuple[int, ...] = (200,),
        unanswered: str = START_IT,
    ) -> httpx.Response:
        await self._check_instance()
        limits = httpx.Timeout(wait_s, connect=CONNECT_S)
        try:
            answer = await self._client_now().request(
                method, self._address(name), params=params, content=content, headers={**(headers or {}), **self._auth()}, timeout=limits
            )
        except httpx.HTTPError as failed:
            raise self._lost(failed, unanswered) from None
        return self._judge(answer, accept)

    async def _check_instance(self) -> None:
        """The token goes only to the gateway that wrote the state directory's `gateway.json`."""
        if self._checked:
            return
        if self._lost_it and self._anew is not None:
            url, self._token, self._instance = self._anew()
            self.url = url.rstrip("/")
        try:
            answer = await self._client_now().get(self._address("instance"), timeout=httpx.Timeout(VIEW_S, connect=CONNECT_S))
            told = answer.json()["instance"] if answer.status_code == 200 else ""
        except httpx.HTTPError as failed:
            raise self._lost(failed) from None
        except (ValueError, KeyError, TypeError):
            told = ""
        self._compare(told if isinstance(told, str) else "")
        self._checked, self._lost_it = True, False

    def _compare(self, told: str) -> None:
        if self._instance is not None and not hmac.compare_digest(told.encode(), self._instance.encode()):
            self._checked, self._lost_it = False, True
            happened = f"{self.url} is answered by another program than the gateway of this state directory; no token was sent to it"
            raise GatewayUnreachable("Another program answers", happened, "see who listens there, then start the gateway again")

    def _judge(self, answer: httpx.Response, accept: tuple[int, ...]) -> httpx.Response:
        if self._instance is not None and INSTANCE_HEADER in answer.headers:
            self._compare(answer.headers[INSTANCE_HEADER])
        if answer.status_code in accept:
            return answer
        told = load_error(answer.content)
        if told is not None:
            raise told
        happened = f"{self.url} answered HTTP {answer.status_code} without a word that we know"
        raise GatewayUnreachable("That is not a failover gateway", happened, "check the address")

    def _understand(self, load: Callable[[bytes], T], answer: httpx.Response) -> T:
        try:
            return load(answer.content)
        except ValueError:
            happened = f"{self.url} answered in a shape that this version does not know"
            raise GatewayUnreachable("The gateway speaks another version", happened, "use the same version on both sides") from None

    def _lost(self, failed: httpx.HTTPError, unanswered: str = START_IT) -> GatewayUnreachable:
        """unanswered: what to do when the question may have arrived."""
        self._checked, self._lost_it = self._instance is None, True
        what = "did not answer in time" if isinstance(failed, httpx.TimeoutException) else "does not answer"
        detail = f"{self.url} {what}" + (f": {failed}" if str(failed) else "")
        never_asked = isinstance(failed, httpx.ConnectError | httpx.ConnectTimeout)
        return GatewayUnreachable("The gateway is not reachable", detail, START_IT if never_asked else unanswered)

    def _client_now(self) -> httpx.AsyncClient:
        if self._client is None:
            # trust_env: a proxy variable must never carry an operator's token off this machine.
            self._client = httpx.AsyncClient(transport=self._transport, trust_env=False)
        return self._client

    def _address(self, name: str) -> str:
        return f"{self.url}/operator/{name}"

    def _auth(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._token}"}


def _load_decisions(text: bytes) -> Sequence[Mapping[str, object]]:
    try:
        found = json.loads(text)["decisions"]
    except (KeyError, TypeError):
        raise ValueError("not a list of decisions") from None
    if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
        raise ValueError("not a list of decisions")
    return found


async def _events_of(answer: httpx.Response) -> AsyncGenerator[Event]:
    """Server-sent events as ours always are: one `id` and one `data` line each. Anything else (comments) is a sign of life only."""
    seq = 0
    async for line in answer.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "id" and value.isdecimal():
            seq = int(value)
        elif name == "data":
            try:
                data = json.loads(value)
            except ValueError:
                continue
            if isinstance(data, dict):
                yield Event(seq, data)
