"""Commands as people run them, with a state directory and an environment of their own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.cli import main
from engine.domain.clock import SystemClock
from engine.simulation.demo.cast import config
from engine.simulation.demo.world import DemoWorld
from tests.cli.processes import BROKEN, ROOT, Done, Failover


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def failover(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Failover:
    """`failover("status", "--json")`: what the command came to, run in this process, which is fifty times faster than another.
    input: standard input; environ: more variables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAILOVER_STATE_DIR", str(state))

    def run(*arguments: str, input: str = "", environ: dict[str, str] | None = None) -> Done:
        out, err = io.StringIO(), io.StringIO()
        with monkeypatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            patch.setattr("sys.stdin", io.StringIO(input))
            for name, value in (environ or {}).items():
                patch.setenv(name, value)
            try:
                status = main.run(arguments)
            except SystemExit as ended:
                status = ended.code if isinstance(ended.code, int) else 1
        return Done(arguments, status, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def failover_process(state: Path, tmp_path: Path) -> Failover:
    """The same in a process of its own: for what a process knows, imports or prints by itself."""

    def run(*arguments: str, input: str = "", environ: dict[str, str] | None = None) -> Done:
        return subprocess.run(
            [sys.executable, "-m", "console.cli.main", *arguments],
            input=input,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "FAILOVER_STATE_DIR": str(state), **(environ or {})},
            timeout=40,
            check=False,
        )

    return run


@pytest.fixture
def world() -> Iterator[DemoWorld]:
    """Providers that are well until `world.begin`, from which on the first one refuses."""
    found = DemoWorld(BROKEN, SystemClock())
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def config_file(world: DemoWorld, tmp_path: Path) -> Path:
    path = tmp_path / "failover.json5"
    path.write_text(json.dumps(config(world.start())))
    return path
