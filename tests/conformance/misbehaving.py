"""The gateway as a client of `llmock`, a provider that misbehaves on demand and judges its client: `pip install llmock`, then
`python -m tests.conformance.misbehaving`. Every fault in every family, asked for in every dialect, by an application that does what a
careful one does: it asks again when the answer says that it failed or is incomplete. So an incomplete answer that the gateway did not
mark shows as llmock's `truncated_stream_accepted`. By hand, because llmock brings uvloop, which the product is not run with. Exit
status 1 for a finding that is not explained below.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.end_to_end.serving import Serving, serving

PREFIX = {
    "openai-completions": "/v1",
    "openai-responses": "/v1",
    "anthropic-messages": "/anthropic/v1",
    "google-generative-ai": "/gemini/v1beta",
}
STREAM_FAULTS: list[dict[str, Any]] = [
    *({"type": "stream_fault", "kind": kind, "after_chunks": n} for kind in ("truncate", "disconnect", "malformed") for n in (0, 1, 3)),
    {"type": "stream_fault", "kind": "stall", "after_chunks": 3, "stall_seconds": 30},
    {"type": "slow_first_token", "seconds": 1},
]
FAILURES: list[dict[str, Any]] = [
    {"type": "fail", "status": 429, "retry_after": 1},
    *({"type": "fail", "status": status} for status in (400, 401, 403, 404, 408, 422, 429, 500, 503, 529)),
]
SAID = [{"role": "user", "content": "Say one sentence about lighthouses, please."}]
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "openai-completions": ("/v1/chat/completions", {"messages": SAID}),
    "openai-responses": ("/v1/responses", {"input": SAID}),
    "anthropic-messages": ("/v1/messages", {"messages": SAID, "max_tokens": 200}),
}
ENDS = {
    "openai-completions": "data: [DONE]",
    "openai-responses": '"type":"response.completed"',
    "anthropic-messages": '"type":"message_stop"',
}
FAILS = {"openai-completions": '"error"', "openai-responses": '"type":"error"', "anthropic-messages": '"type":"error"'}
EXPLAINED = {
    "malformed_chunk_ignored": "By spec/gateway.md a malformed event is counted and skipped, and the stream goes on (llmock: a warning).",
}


@dataclass(frozen=True)
class Case:
    family: str
    dialect: str
    fault: dict[str, Any]
    stream: bool


def cases() -> list[Case]:
    found = [Case(family, dialect, fault, True) for family in PREFIX for dialect in ASKED for fault in (*STREAM_FAULTS, *FAILURES)]
    return [*found, *(Case(family, dialect, fault, False) for family in PREFIX for dialect in ASKED for fault in FAILURES)]


def configured(mock: str) -> dict[str, Any]:
    """One provider a family; the chain of each case is given by its request."""
    return {
        "agents": {"defaults": {"model": {"primary": "openai-completions-there/m", "fallbacks": []}}},
        "auth": {
            "profiles": {
                f"{family}-there:k": {"provider": f"{family}-there", "mode": "api_key", "keyRef": "env:TEST_ACME"} for family in PREFIX
            }
        },
        "models": {
            "providers": {
                f"{family}-there": {"baseUrl": f"{mock}{prefix}", "api": family, "idleTimeoutSeconds": 2, "cooldowns": False}
                for family, prefix in PREFIX.items()
            }
        },
    }


@dataclass(frozen=True)
class Came:
    """whole: nothing says that something is missing. wait_s: what the answer asks to wait before another try; None: not to try again."""

    status: int
    whole: bool
    wait_s: float | None
    text: str


async def ask(client: httpx.AsyncClient, gateway: Serving, case: Case) -> Came:
    path, body = ASKED[case.dialect]
    sent = {**body, "model": f"{case.family}-there/mock-model", "stream": case.stream}
    answer = await client.post(f"{gateway.url}{path}", json=sent, headers={"x-failover-fallbacks": ""})
    text = answer.text.replace('": "', '":"')
    if answer.status_code == 200:
        return Came(200, not case.stream or (ENDS[case.dialect] in text and FAILS[case.dialect] not in text), 0, text)
    again = answer.status_code in (408, 409, 429) or answer.status_code >= 500
    return Came(answer.status_code, False, float(answer.headers.get("retry-after", 0)) if again else None, text)


async def judged(client: httpx.AsyncClient, gateway: Serving, mock: str, case: Case) -> list[dict[str, Any]]:
    await client.post(f"{mock}/_llmock/reset")
    await client.post(f"{mock}/_llmock/scenario", json={"behaviors": [case.fault]})
    came = await ask(client, gateway, case)
    if not came.whole and came.wait_s is not None:
        await asyncio.sleep(came.wait_s)
        came = await ask(client, gateway, case)
    assert came.whole or came.status == case.fault.get("status"), f"{case}: {came.status} {came.text[:300]}"
    findings: list[dict[str, Any]] = (await client.get(f"{mock}/_llmock/verdict")).json()["findings"]
    return findings


@contextlib.asynccontextmanager
async def running_llmock() -> AsyncIterator[str]:
    program = shutil.which("llmock")
    if program is None:
        sys.exit("llmock is not installed: pip install llmock (in a virtual environment of its own, its bin directory on PATH)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    silent = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(program, "serve", "--port", str(port), stdout=silent, stderr=silent)
    url = f"http://127.0.0.1:{port}"
    try:
        async with httpx.AsyncClient(trust_env=False) as client:
            for _ in range(200):
                with contextlib.suppress(httpx.HTTPError):
                    await client.get(f"{url}/health")
                    break
                await asyncio.sleep(0.05)
        yield url
    finally:
        process.terminate()
        await process.wait()


async def main() -> int:
    unexplained = 0
    seen: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with (
            running_llmock() as mock,
            serving(Path(folder), configured(mock)) as gateway,
            httpx.AsyncClient(trust_env=False, timeout=60) as client,
        ):
            every = cases()
            for case in every:
                for finding in await judged(client, gateway, mock, case):
                    code = str(finding["code"])
                    seen[code] = seen.get(code, 0) + 1
                    if code not in EXPLAINED:
                        unexplained += 1
                        how = "streamed" if case.stream else "whole"
                        print(f"{finding['severity']}: {code}: {case.dialect} -> {case.family}, {how}, {json.dumps(case.fault)}")
    print(f"{len(every)} cases, {unexplained} findings without an explanation")
    for code, times in seen.items():
        print(f"  {code}: {times} times. {EXPLAINED.get(code, 'A FAULT.')}")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
