"""How the house is built: imports point one way, rooms stay small, and a command starts without the screen's library."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("console", "engine", "store")
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False)


def test_imports_point_one_way():
    done = run("-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))")
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_rooms_to_look_at():
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(ROOMS)


def test_every_module_stays_under_400_lines_and_opens_with_why_it_exists():
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in MODULES}
    assert [name for name, text in texts.items() if len(text.splitlines()) > 400] == []
    assert [name for name, text in texts.items() if not text.startswith('"""')] == []


def test_no_module_is_named_after_nothing():
    assert [path for path in MODULES if re.search("manager|helper|utils", path.stem)] == []


def test_the_command_line_starts_without_textual():
    done = run("-c", "import sys, console.cli.main; print([name for name in sys.modules if name.partition('.')[0] == 'textual'])")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


SHOWN = ("engine/config", "console/cli", "store")
"""Where errors are raised that a person reads at a terminal."""


def test_every_error_that_a_person_reads_has_a_next_step():
    lacking = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for room in SHOWN
        for path in sorted((ROOT / room).rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in {"ConfigError", "StartError", "StoreError", "UsageError", "FailoverError", "GatewayUnreachable"}
        and len(call.args) < 3
        and not any(word.arg == "next_step" for word in call.keywords)
    ]
    assert lacking == []
