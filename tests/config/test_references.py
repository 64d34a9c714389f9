"""Where a secret lies, what is said when it is not there, and who may connect without one."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from engine.config.references import MAX_SECRET_BYTES, resolve

SECRET = "sk-made-up-0123"


def test_a_variable_is_read_without_the_white_space_around_it():
    assert resolve("env:KEY", {"KEY": f" {SECRET}\n"}).secret == SECRET


@pytest.mark.parametrize(
    ("env", "reason"),
    [({}, "env:KEY: the variable is not set"), ({"KEY": " "}, "env:KEY: it is empty"), ({"KEY": "a\nb"}, "env:KEY: more than one line")],
)
def test_a_variable_without_a_secret_is_a_reason(env: dict[str, str], reason: str):
    resolved = resolve("env:KEY", env)
    assert resolved.secret is None
    assert str(resolved.reason).startswith(reason)


def test_a_file_is_read(tmp_path: Path):
    path = tmp_path / "key"
    path.write_text(f"{SECRET}\n")
    assert resolve(f"file:{path}", {}).secret == SECRET


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"\xff\xfe", "not a text file"),
        (b"a\nb", "more than one line"),
        (b"x" * (MAX_SECRET_BYTES + 1), "too long for a secret"),
    ],
)
def test_a_file_without_a_secret_is_a_reason(tmp_path: Path, content: bytes, reason: str):
    path = tmp_path / "key"
    path.write_bytes(content)
    resolved = resolve(f"file:{path}", {})
    assert resolved.secret is None
    assert reason in str(resolved.reason)


def test_a_file_that_is_not_there_is_a_reason(tmp_path: Path):
    assert "No such file" in str(resolve(f"file:{tmp_path}/no", {}).reason)
    assert "Is a directory" in str(resolve(f"file:{tmp_path}", {}).reason)
    assert resolve("file:~nobody-of-that-name/x", {}).reason


@pytest.mark.parametrize(
    "text", [SECRET, "", "env:", "env:a-b", "ENV:KEY", "file:", "keyring:service", "keyring:/name", "vault:x", "env:A\nB"]
)
def test_what_is_no_reference_is_not_repeated(text: str):
    resolved = resolve(text, {"KEY": SECRET})
    assert resolved.secret is None
    assert str(resolved.reason).startswith("not a reference")
    assert SECRET not in str(resolved.reason)


def test_a_keyring_is_asked_for_service_and_name(monkeypatch: pytest.MonkeyPatch):
    ring = {("failover", "open/ai"): SECRET}
    monkeypatch.setitem(sys.modules, "keyring", types.SimpleNamespace(get_password=lambda service, name: ring.get((service, name))))
    assert resolve("keyring:failover/open/ai", {}).secret == SECRET
    assert str(resolve("keyring:failover/other", {}).reason).endswith("no such entry")


def test_a_keyring_that_fails_is_a_reason(monkeypatch: pytest.MonkeyPatch):
    def fail(service: str, name: str) -> str:
        raise RuntimeError(SECRET)

    monkeypatch.setitem(sys.modules, "keyring", types.SimpleNamespace(get_password=fail))
    assert resolve("keyring:a/b", {}).reason == "keyring:a/b: RuntimeError from the keyring"


def test_a_keyring_that_is_not_installed_is_a_reason_with_the_next_step(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert "pip install 'failover-console[keyring]'" in str(resolve("keyring:a/b", {}).reason)


def test_a_secret_is_not_in_the_repr():
    assert SECRET not in repr(resolve("env:KEY", {"KEY": SECRET}))
