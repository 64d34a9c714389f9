"""A state directory of its own for every test of this room."""

from __future__ import annotations

from pathlib import Path

import pytest

from store.paths import StateDirectory


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    return StateDirectory(tmp_path / "state")
