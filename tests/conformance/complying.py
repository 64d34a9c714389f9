"""`llm-comply` on the same fake provider, directly and through the gateway, in each dialect and over each family: `pip install llm-comply`,
then `python -m tests.conformance.complying`. Prints what passed and every test that passes directly in the caller's dialect and not
through the gateway; exit status 1 if there is one without an explanation below. By hand, because its tests change with its version.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.end_to_end.serving import serving
from tests.fakes.families import FAMILIES, answering
from tests.fakes.provider import running_provider

FORMATS = {"openai-completions": "openai-chat", "openai-responses": "open-responses", "anthropic-messages": "anthropic"}
EXPLAINED = {
    (
        "assistant-phase",
        "anthropic-messages",
    ): "its conversation begins with the assistant, which Anthropic's API refuses; nothing is made up for it"
}
"""(test, family) -> why the gateway cannot pass it there."""


async def comply(program: str, url: str, dialect: str, model: str) -> dict[str, str]:
    """Each test and how it went: `passed`, or what was wrong."""
    command = [program, "run", "-u", url, "-k", "made-up-key-1", "-m", model, "--json", "--format", FORMATS[dialect]]
    if dialect == "anthropic-messages":
        command += ["-H", "anthropic-version:2023-06-01"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)
    out, _ = await process.communicate()
    found = json.loads(out)["results"]
    return {test["id"]: test["status"] if test["status"] == "passed" else f"{test['status']}: {test.get('errors')}" for test in found}


def configured(bases: dict[str, str]) -> dict[str, Any]:
    names = {family: f"{family}-there" for family in bases}
    return {
        "agents": {"defaults": {"model": {"primary": f"{names[FAMILIES[0]]}/big", "fallbacks": []}}},
        "auth": {"profiles": {f"{name}:k": {"provider": name, "mode": "api_key", "keyRef": "env:TEST_ACME"} for name in names.values()}},
        "models": {"providers": {names[family]: {"baseUrl": base, "api": family} for family, base in bases.items()}},
    }


async def main() -> int:
    program = shutil.which("llm-comply")
    if program is None:
        sys.exit("llm-comply is not installed: pip install llm-comply (in a virtual environment of its own, its bin directory on PATH)")
    unexplained = 0
    async with contextlib.AsyncExitStack() as stack:
        fakes = {family: await stack.enter_async_context(running_provider(answering(family, thinking=False))) for family in FAMILIES}
        bases = {family: fake.base_url for family, fake in fakes.items()}
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        gateway = await stack.enter_async_context(serving(folder, configured(bases)))
        for dialect in FORMATS:
            direct = await comply(program, bases[dialect], dialect, "big")
            print(f"{dialect}: directly {_score(direct)}")
            for family in FAMILIES:
                through = await comply(program, f"{gateway.url}/v1", dialect, f"{family}-there/big")
                print(f"  over {family}: {_score(through)}")
                for test, outcome in through.items():
                    if outcome == "passed" or direct[test] != "passed":
                        continue
                    why = EXPLAINED.get((test, family))
                    unexplained += why is None
                    print(f"    {test}: {why or outcome}")
    print(f"{unexplained} differences without an explanation")
    return int(unexplained > 0)


def _score(found: dict[str, str]) -> str:
    return f"{sum(outcome == 'passed' for outcome in found.values())} of {len(found)}"


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
