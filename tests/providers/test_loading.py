"""The library that converts is big: it is imported in a thread, once there is something to convert, and the loop goes on meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.providers.conversion import is_likely
from tests.fakes.families import FAMILIES

WATCHED = """
import asyncio, sys, threading

threads = []

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "llm_rosetta":
            threads.append(threading.current_thread() is threading.main_thread())

sys.meta_path.insert(0, Watch())
"""
ATTEMPT = """
from engine.domain.exchange import Payload
from engine.domain.ids import ModelRef
from engine.domain.settings import ProviderSettings
from engine.providers.client import HttpUpstream

async def main():
    payload = Payload("openai-completions", {"messages": [{"role": "user", "content": "hi"}]}, b"{}", False)
    for api in sys.argv[1:]:
        provider = ProviderSettings("acme", "http://127.0.0.1:1/v1", api)
        await HttpUpstream().attempt(provider, ModelRef("acme", "big"), "k", payload, limit_ms=None, retry_max_wait_ms=None)

asyncio.run(main())
print(threads)
"""
SERVE = """
from pathlib import Path
from console.cli.options import Listen, Target
from console.cli.wiring import Gateway, plan

async def main():
    config, state = map(Path, sys.argv[1:])
    gateway = await Gateway.start(plan(Target(config=config, state_dir=state), Listen("127.0.0.1", 0)))
    threads.append("accepts requests")
    await gateway.stop()

asyncio.run(main())
print(threads)
"""


def imported_by(script: str, *arguments: str) -> str:
    """For each import of the library, whether the loop's own thread did it."""
    done = subprocess.run([sys.executable, "-c", WATCHED + script, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_first_conversion_imports_the_library_beside_the_loop() -> None:
    assert imported_by(ATTEMPT, "anthropic-messages", "google-generative-ai") == "[False]"


def test_traffic_in_one_dialect_never_imports_it() -> None:
    assert imported_by(ATTEMPT, "openai-completions") == "[]"


@pytest.mark.parametrize("family", FAMILIES)
def test_one_family_needs_no_conversion_but_googles_which_no_application_speaks(family: str) -> None:
    assert is_likely({family}) is (family == "google-generative-ai")
    assert is_likely({family, "openai-completions"}) is (family != "openai-completions")


@pytest.mark.parametrize(
    ("apis", "said"),
    [
        (["openai-completions", "anthropic-messages"], "['accepts requests', False]"),
        (["openai-completions", "openai-completions"], "['accepts requests']"),
    ],
)
def test_a_gateway_that_will_convert_imports_it_once_it_accepts_requests(tmp_path: Path, apis: list[str], said: str) -> None:
    providers = {f"acme{n}": {"baseUrl": "http://127.0.0.1:1/v1", "api": api, "auth": "none"} for n, api in enumerate(apis)}
    config = {"agents": {"defaults": {"model": {"primary": "acme0/big", "fallbacks": ["acme1/std"]}}}, "models": {"providers": providers}}
    (tmp_path / "failover.json5").write_text(json.dumps(config))
    assert imported_by(SERVE, str(tmp_path / "failover.json5"), str(tmp_path / "state")) == said
