"""`failover serve` as a real process on a state directory, two fake providers on loopback, and the command line beside it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes.provider import FakeProvider

FAILOVER = (sys.executable, "-m", "console.cli.main")
SENTINEL = "sk-sentinel-4f1f0d7e9a"
"""A key that must appear in no output, log or file but the credential store."""


@dataclass
class Ran:
    """A command that ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Serving:
    """A state directory with its configuration; `start` and `kill` the gateway on it as often as needed."""

    folder: Path
    config: dict[str, Any]
    environ: dict[str, str] = field(default_factory=dict)
    url: str = ""
    process: asyncio.subprocess.Process | None = None
    seen: list[str] = field(default_factory=list)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def config_file(self) -> Path:
        return self.folder / "failover.json5"

    @property
    def operator_token(self) -> str:
        return (self.state / "operator.token").read_text().strip()

    def write_config(self) -> None:
        self.config_file.write_text(json.dumps(self.config))

    def _environ(self) -> dict[str, str]:
        return {**os.environ, **self.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    def _target(self) -> tuple[str, ...]:
        return ("--config", str(self.config_file), "--state-dir", str(self.state))

    async def start(self, *options: str) -> None:
        """Returns when it accepts requests. options: of `serve`."""
        self.process = await asyncio.create_subprocess_exec(
            *FAILOVER,
            "serve",
            "--port",
            "0",
            *options,
            *self._target(),
            env=self._environ(),
            cwd=self.folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert self.process.stdout is not None
        line = (await asyncio.wait_for(self.process.stdout.readline(), 30)).decode()
        if not line.startswith("gateway "):
            assert self.process.stderr is not None
            raise AssertionError(f"serve did not start: {line}{(await self.process.stderr.read()).decode()}")
        self.url = line.split()[1]

    async def stop(self, number: int = signal.SIGTERM) -> int:
        """Its exit status; what it wrote is kept in `seen`."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        out, err = await asyncio.wait_for(self.process.communicate(), 30)
        self.seen += [out.decode(), err.decode()]
        status = self.process.returncode
        self.process = None
        assert status is not None
        return status

    async def run(self, *arguments: str, stdin: str = "", environ: Mapping[str, str] | None = None) -> Ran:
        """`failover ...` on the same state directory."""
        process = await asyncio.create_subprocess_exec(
            *FAILOVER,
            *arguments,
            *self._target(),
            env={**self._environ(), **(environ or {})},
            cwd=self.folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(stdin.encode()), 50)
        assert process.returncode is not None
        self.seen += [out.decode(), err.decode()]
        return Ran(process.returncode, out.decode(), err.decode())


def two_providers(first: FakeProvider, second: FakeProvider, **defaults: Any) -> dict[str, Any]:
    """acme/big with zeta/std behind it; each has one key, from a variable."""
    model = {"primary": "acme/big", "fallbacks": ["zeta/std"]}
    return {
        "agents": {"defaults": {"model": model, **defaults}},
        "auth": {
            "profiles": {
                "acme:k1": {"provider": "acme", "mode": "api_key", "keyRef": "env:TEST_ACME"},
                "zeta:k1": {"provider": "zeta", "mode": "api_key", "keyRef": "env:TEST_ZETA"},
            }
        },
        "models": {
            "providers": {
                "acme": {"baseUrl": first.base_url, "api": "openai-completions"},
                "zeta": {"baseUrl": second.base_url, "api": "openai-completions"},
            }
        },
    }


@contextlib.asynccontextmanager
async def serving(folder: Path, config: dict[str, Any], environ: Mapping[str, str] | None = None) -> AsyncIterator[Serving]:
    made = Serving(folder, config, {"TEST_ACME": f"{SENTINEL}-acme", "TEST_ZETA": f"{SENTINEL}-zeta", **(environ or {})})
    made.write_config()
    await made.start()
    try:
        yield made
    finally:
        if made.process is not None and made.process.returncode is None:
            await made.stop(signal.SIGKILL)
