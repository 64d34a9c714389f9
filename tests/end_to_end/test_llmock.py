"""`llmock` (PyPI), a provider that misbehaves on demand and judges its client, behind a real `failover serve` (issue 4, "Must show" 2).
An application in each dialect asks; each of llmock's API families misbehaves in each of its ways, and its report finds no fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from llmock.journal import RequestRecord
from llmock.scenarios import Delay, Fail, Match, Reply, SlowFirstToken, StreamFault
from llmock.testing import LLMockServer
from llmock.verdict import Call, Finding, judge

from tests.end_to_end.applications import DIALECTS, Application, Got, application
from tests.end_to_end.serving import serving

PATHS = {
    "openai-completions": "/v1",
    "openai-responses": "/v1",
    "anthropic-messages": "/anthropic/v1",
    "google-generative-ai": "/gemini/v1beta",
}
WORDS = "one two three four five"
SPARE_WORDS = "six seven eight nine ten"
BIG, SPARE = Match(model="big"), Match(model="spare")
LONGEST = {"openai-completions": 9, "openai-responses": 13, "anthropic-messages": 11, "google-generative-ai": 5}
"""Events of a stream of WORDS, at most."""
REFUSED = {400, 413, 422}
"""The request itself is wrong: every model would say so, so the caller hears it at once."""
QUIET_S = 1.0

Fault = Fail | Delay | SlowFirstToken | StreamFault


def faults(family: str) -> Iterator[tuple[Fault, bool]]:
    """What big does, and whether the request is streamed."""
    for streamed in (False, True):
        yield Delay(0.05, match=BIG), streamed
        for status in (400, 401, 402, 403, 404, 408, 409, 413, 422, 500, 502):
            yield Fail(status, match=BIG), streamed
        for status in (429, 503, 504, 529):
            yield Fail(status, retry_after=0.05, times=2, match=BIG), streamed
    yield SlowFirstToken(0.05, match=BIG), True
    for n in range(LONGEST[family]):
        yield StreamFault("truncate", after_chunks=n, match=BIG), True
        yield StreamFault("disconnect", after_chunks=n, match=BIG), True
        yield StreamFault("malformed", after_chunks=n, match=BIG), True
    for n in (0, 4):
        yield StreamFault("stall", after_chunks=n, stall_seconds=9, match=BIG), True


@dataclass(frozen=True)
class Case:
    """One request of the application, and what llmock saw of it. served: by big, or by the spare when big failed."""

    fault: Fault
    got: Got
    records: Sequence[RequestRecord]

    def is_llmocks_own(self, finding: Finding, call: Call) -> bool:
        """What llmock cannot see: it takes the same body for a retry and nothing else, and does not read what its client's caller got."""
        match finding.code:
            case "gave_up" | "truncated_stream_accepted" if self.got.served == "mock/spare":
                # A failover is no giving up: the caller got the other model's whole answer, and none of the first.
                return [record.model for record in self.records] == ["big", "spare"]
            case "gave_up" | "truncated_stream_accepted":
                # After a chat stream's finish reason only usage and `[DONE]` are missing, which many vendors never send.
                return call.first.path == "/v1/chat/completions" and call.last.chunks_sent > WORDS.count(" ") + 2
            case "malformed_chunk_ignored":
                # A hint to look, whatever the client did: that no word went missing is asserted for every case.
                return True
        return False

    def problems(self) -> list[str]:
        verdict = judge(self.records)
        found = [finding.code for finding in verdict.findings if not self.is_llmocks_own(finding, verdict.calls[finding.call - 1])]
        if self.got.refused is not None:
            wrong = isinstance(self.fault, Fail) and self.fault.status in REFUSED and self.fault.status == self.got.refused
            found += [] if wrong else ["refused"]
        elif self.got.text != {"mock/big": WORDS, "mock/spare": SPARE_WORDS}.get(self.got.served):
            found.append("not the whole text")
        return [f"{problem} after {self.fault}, {self.got}" for problem in found]


async def case(mock: LLMockServer, app: Application, dialect: str, fault: Fault, streamed: bool, number: int) -> Case:
    mock.state.reset()
    mock.state.scenarios.add(Reply(WORDS, times=None, match=BIG), Reply(SPARE_WORDS, times=None, match=SPARE), fault)
    got = await app.ask(dialect, stream=streamed, headers={"x-failover-session": f"case-{number}"})
    return Case(fault, got, mock.state.journal.records(wait=2))


def provider(mock: LLMockServer, family: str) -> dict[str, Any]:
    """Without cooldowns: each case finds the same state."""
    limits = {"maxRetries": 2, "firstByteSeconds": QUIET_S, "idleTimeoutSeconds": QUIET_S, "cooldowns": False}
    return {"baseUrl": mock.url + PATHS[family], "api": family, **limits}


@pytest.mark.parametrize("family", PATHS)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_llmock_finds_no_fault_with_the_gateway_as_a_client(tmp_path: Path, family: str, dialect: str) -> None:
    with LLMockServer() as mock:
        config = {
            "agents": {"defaults": {"model": {"primary": "mock/big", "fallbacks": ["mock/spare"]}}},
            "auth": {"profiles": {"mock:k1": {"provider": "mock", "mode": "api_key", "keyRef": "env:TEST_ACME"}}},
            "models": {"providers": {"mock": provider(mock, family)}},
        }
        problems: list[str] = []
        async with serving(tmp_path, config) as gateway, application(gateway.url) as app:
            for number, (fault, streamed) in enumerate(faults(family)):
                problems += (await case(mock, app, dialect, fault, streamed, number)).problems()
    assert problems == []
