"""`failover profiles import`: what is taken over, what is left and why, and that nobody's key is printed or written anywhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

KEY = "sk-live-0123456789abcdef"
PROFILES: dict[str, Any] = {
    "version": 1,
    "profiles": {
        "openai:default": {"type": "api_key", "provider": "openai", "key": KEY},
        "groq:work": {"type": "api_key", "provider": "groq", "key": "${GROQ_WORK}"},
        "xai:ref": {"type": "api_key", "provider": "xai", "key": {"source": "env", "provider": "default", "id": "XAI_KEY"}},
        "anthropic:me": {"type": "oauth", "provider": "anthropic", "access": "a-1", "refresh": "r-1", "expires": 1},
        "anthropic:setup": {"type": "token", "provider": "anthropic", "token": "sk-ant-oat01-subscription"},
        "acme:static": {"type": "token", "provider": "acme", "token": "bearer-1234567890", "expires": 4_000_000_000_000},
        "acme:odd": {"type": "mystery"},
        "acme:none": {"type": "api_key"},
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "openclaw"
    (found / "agents" / "ops" / "agent").mkdir(parents=True)
    (found / "auth-profiles.json").write_text(json.dumps(PROFILES))
    (found / "agents" / "ops" / "agent" / "auth.json").write_text(json.dumps({"mistral": {"type": "api_key", "key": "mistral-123456"}}))
    return found


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.rglob("*")) if path.is_file()}


def stored(failover) -> dict[str, tuple[str, str]]:
    return {row["profile"]: (row["type"], row["agent"]) for row in json.loads(failover("profiles", "list", "--json").stdout)}


def test_keys_are_taken_and_logins_are_left_with_the_reason(failover, folder: Path):
    """J06"""
    before = contents(folder)
    asked = failover("profiles", "import", "--from", str(folder))
    assert asked.returncode == 2  # nobody was there to ask
    assert stored(failover) == {}
    done = failover("profiles", "import", "--from", str(folder), "--yes")
    assert done.returncode == 0, done.stderr
    assert stored(failover) == {
        "openai:default": ("api_key", "main"),
        "groq:work": ("api_key", "main"),
        "xai:ref": ("api_key", "main"),
        "acme:static": ("token", "main"),
        "mistral:default": ("api_key", "ops"),
    }
    told = " ".join((asked.stdout + done.stdout).split())
    assert "given to another tool" in told
    assert "subscription's token" in told
    for secret in (KEY, "a-1", "r-1", "oat01", "bearer-1234567890", "mistral-123456"):
        assert secret not in asked.stdout + asked.stderr + done.stdout + done.stderr
    assert contents(folder) == before


def test_a_second_import_changes_nothing_and_replace_does(failover, folder: Path):
    assert failover("profiles", "import", "--from", str(folder), "--yes").returncode == 0
    again = failover("profiles", "import", "--from", str(folder), "--yes")
    assert (again.returncode, "nothing to import" in again.stdout) == (0, True)
    assert failover("profiles", "import", "--from", str(folder), "--yes", "--replace").returncode == 0


def test_keys_of_the_environment_are_stored_as_references(failover, state: Path):
    done = failover("profiles", "import", "--yes", environ={"OPENAI_API_KEY": KEY, "GEMINI_API_KEY": "AIza-1234567"})
    assert done.returncode == 0, done.stderr
    assert set(stored(failover)) == {"openai:env", "google:env"}
    assert KEY not in done.stdout
    assert not any(KEY.encode() in path.read_bytes() for path in state.rglob("*") if path.is_file())
    assert failover("profiles", "import", "--yes").stdout.endswith("nothing to import\n")


def test_a_folder_with_only_a_database_is_refused_with_the_reason(failover, tmp_path: Path):
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / "state.sqlite").write_bytes(b"x")
    done = failover("profiles", "import", "--from", str(tmp_path / "newer"), "--yes")
    assert done.returncode == 2
    assert "only a database" in done.stderr
    (tmp_path / "empty").mkdir()
    assert "nothing to import" in failover("profiles", "import", "--from", str(tmp_path / "empty")).stderr


@pytest.mark.parametrize("text", ["{", "[]", '{"profiles": 3}', "[" * 100_000])
def test_a_file_that_cannot_be_read_is_named(failover, tmp_path: Path, text: str):
    (tmp_path / "auth.json").write_text(text)
    done = failover("profiles", "import", "--from", str(tmp_path), "--yes")
    assert done.returncode == 2
    assert "auth.json" in done.stderr
    assert stored(failover) == {}
