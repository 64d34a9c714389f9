"""`failover export`, `failover open` and `explain --what-if` without a screen: on the state itself, no gateway running."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.cli.main import run

CONFIG = {
    "agents": {"defaults": {"model": {"primary": "acme/big", "fallbacks": ["zeta/std"]}}},
    "models": {"providers": {name: {"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions"} for name in ("acme", "zeta")}},
    "auth": {
        "profiles": {
            "acme:k1": {"provider": "acme", "mode": "api_key", "keyRef": "env:ACME_KEY"},
            "zeta:k1": {"provider": "zeta", "mode": "api_key", "keyRef": "env:ZETA_KEY"},
        }
    },
}


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("ACME_KEY", "sk-acme-secret-0123456789")
    monkeypatch.setenv("ZETA_KEY", "sk-zeta-secret-0123456789")
    file = tmp_path / "failover.json5"
    file.write_text(json.dumps(CONFIG))
    return ["--config", str(file), "--state-dir", str(tmp_path / "state")]


def test_export_names_the_bundle_that_it_wrote_and_no_secret_is_in_it(where: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["export", "--out", str(tmp_path / "out"), "--json", *where]) == 0
    place = Path(json.loads(capsys.readouterr().out)["bundle"])
    assert {path.name for path in place.iterdir()} == {"incident.json", "timeline.md"}
    assert not any("secret-0123456789" in path.read_text() for path in place.iterdir())


def test_open_says_what_is_no_bundle_and_that_it_needs_a_terminal(where: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["open", str(tmp_path)]) == 2
    assert "The bundle cannot be read" in capsys.readouterr().err
    assert run(["export", "--out", str(tmp_path / "out"), *where]) == 0
    place = capsys.readouterr().out.strip()
    assert run(["open", place]) == 2
    assert "no terminal" in capsys.readouterr().err


def test_explain_what_if_predicts_the_next_turn(where: list[str], capsys: pytest.CaptureFixture[str]):
    assert run(["explain", "main", "--what-if", "acme:k1 gets 429", *where]) == 0
    told = capsys.readouterr().out
    assert "acme:k1 fails with rate_limit: cooldown" in told
    assert "next turn would go to zeta/std with zeta:k1" in told
    assert run(["explain", "main", "--what-if", "acme:k1 gets 429", "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out)["after"]["next_ref"] == "zeta/std"


def test_words_that_are_not_understood_are_bad_use(where: list[str], capsys: pytest.CaptureFixture[str]):
    assert run(["explain", "main", "--what-if", "hello", *where]) == 2
    assert "write for example" in capsys.readouterr().err
