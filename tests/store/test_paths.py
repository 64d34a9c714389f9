"""Where state lies, and who may read it."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import platformdirs
import pytest

from engine.domain.errors import StoreError
from engine.domain.ids import AgentId
from store.paths import StateDirectory
from store.private import make_directory, put_if_absent, replace_file, tighten
from store.sqlite import SqliteStore
from tests.store.making import OPS, ended, other_process


def mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):04o}"


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def test_the_option_beats_the_variable_and_the_variable_beats_the_platform(tmp_path: Path):
    named = {"FAILOVER_STATE_DIR": str(tmp_path / "variable")}
    assert StateDirectory.locate(tmp_path / "option", named).root == tmp_path / "option"
    assert StateDirectory.locate(None, named).root == tmp_path / "variable"
    assert StateDirectory.locate(None, {"FAILOVER_STATE_DIR": ""}).root == Path(platformdirs.user_state_dir("failover"))


def test_a_tilde_and_a_relative_path_are_resolved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert StateDirectory.locate("~/s", {}).root == tmp_path / "s"
    assert StateDirectory.locate("s", {}).root == tmp_path / "s"


@pytest.mark.parametrize("agent", ["", ".", "..", "../main", "a/b", "/etc", "a\0b", "-x", ".hidden", "x" * 65, "á", "a b", "a\n"])
def test_an_agent_id_that_could_name_another_place_is_refused(directory: StateDirectory, agent: str):
    with pytest.raises(StoreError, match="agent id"):
        directory.agent_file(AgentId(agent))


def test_an_agent_is_found_by_its_file(directory: StateDirectory):
    assert directory.stored_agents() == ()
    for name in ("ops", "empty", "not an agent"):
        make_directory(directory.agents / name)
    for name in ("ops", "not an agent"):
        (directory.agents / name / "agent.sqlite").touch()
    assert directory.stored_agents() == (OPS,)


@pytest.mark.usefixtures("open_umask")
def test_directories_are_made_for_their_owner_alone_whatever_the_umask(tmp_path: Path):
    directory = StateDirectory(tmp_path / "new" / "state")
    assert directory.prepare() == ()
    assert {mode(path) for path in (tmp_path / "new", directory.root, directory.agents)} == {"0700"}


@pytest.mark.usefixtures("open_umask")
def test_files_are_written_for_their_owner_alone_whatever_the_umask(tmp_path: Path):
    path = tmp_path / "file"
    assert put_if_absent(path, b"1") is True
    assert put_if_absent(path, b"2") is False
    assert (path.read_bytes(), mode(path)) == (b"1", "0600")
    path.chmod(0o644)
    replace_file(path, b"3")
    assert (path.read_bytes(), mode(path)) == (b"3", "0600")
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_that_is_open_to_others_is_closed_and_told(directory: StateDirectory):
    directory.prepare()
    directory.token_file.write_text("secret")
    directory.token_file.chmod(0o644)
    notes = directory.prepare()
    assert len(notes) == 1
    assert "operator.token could be read by others (mode 0644)" in notes[0]
    assert "secret" not in notes[0]
    assert mode(directory.token_file) == "0600"
    assert tighten(directory.token_file) is None


def test_a_directory_of_somebody_else_s_making_is_told_and_left_as_it_is(directory: StateDirectory):
    directory.root.mkdir(mode=0o755)
    directory.root.chmod(0o755)
    assert "open to others (mode 0755)" in directory.prepare()[0]
    assert mode(directory.root) == "0755"


def test_a_file_in_place_of_the_directory_is_told_with_the_next_step(directory: StateDirectory):
    directory.root.write_text("")
    with pytest.raises(StoreError) as told:
        directory.prepare()
    assert str(directory.root) in told.value.happened
    assert "--state-dir" in told.value.next_step


def test_a_directory_below_a_file_is_told_too(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be used"):
        StateDirectory(tmp_path / "file" / "state").prepare()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_directory_that_is_not_writable_is_told(directory: StateDirectory):
    directory.root.mkdir(mode=0o500)
    with pytest.raises(StoreError, match="not writable"):
        await SqliteStore(directory).open()


def test_every_file_is_closed_to_others_at_every_instant(directory: StateDirectory):
    """L03: another process writes everything there is under umask 0, moving files aside too, while we look as often as we can."""
    seen: set[tuple[str, str]] = set()
    done = threading.Event()

    def watch() -> None:
        last = False
        while not last:
            last = done.is_set()
            for folder, _, files in os.walk(directory.root):
                for path in (folder, *(os.path.join(folder, name) for name in files)):
                    try:
                        info = os.lstat(path)
                    except FileNotFoundError:
                        continue
                    seen.add((f"{stat.S_IMODE(info.st_mode):04o}", "directory" if stat.S_ISDIR(info.st_mode) else os.path.basename(path)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        ended(other_process("umask_zero", directory.root))
    finally:
        done.set()
        watcher.join()
    assert {rights for rights, kind in seen if kind != "directory"} == {"0600"}
    assert {rights for rights, kind in seen if kind == "directory"} == {"0700"}
    names = {name for _, name in seen}
    assert {"failover.sqlite", "failover.sqlite-wal", "failover.sqlite-shm", "agent.sqlite", "operator.token", "gateway.lock"} <= names
    assert any(".unreadable-" in name for name in names)
