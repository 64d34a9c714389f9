"""The list of conventions names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent


def test_every_convention_names_a_test_that_exists():
    named = re.findall(r"`([a-z_/]+\.py)::(test_\w+)`", (HERE / "README.md").read_text(encoding="utf-8"))
    assert len(named) > 60
    missing = [f"{file}::{test}" for file, test in named if f"def {test}(" not in (HERE.parent / file).read_text(encoding="utf-8")]
    assert missing == []
