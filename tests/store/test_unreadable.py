"""Files that cannot be read: what is ours and damaged is kept aside, what is newer is left alone, and the rest works."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.domain.errors import StoreError
from engine.domain.ids import MAIN_AGENT, ModelRef, ProfileId, SessionKey
from engine.domain.store import PutAnswer
from engine.domain.stored_answers import StoredAnswer
from store.opening import opened
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from store.sqlite.schema import latest
from tests.store.making import K1, K2, MAIN, decision, put, session, usage


async def fill(directory: StateDirectory) -> None:
    store = SqliteStore(directory)
    async with opened(store):
        await store.commit([put(K1), usage(error_count=3), session(updated_at=1)])
        await store.commit([session(f"s{n}", pin_reason="x" * 500) for n in range(200)])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def stub(path: Path) -> None:
    os.truncate(path, 50)


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(20_000))


def scribble(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))


def json_file(path: Path) -> None:
    path.write_text('{"version": 1, "profiles": {}}')


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def other_program(path: Path, version: int = 0) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.executescript(f"CREATE TABLE cookies (host TEXT); PRAGMA user_version = {version}")
    connection.close()
    path.chmod(0o600)


def other_program_of_our_version(path: Path) -> None:
    other_program(path, 1)


DAMAGES = [empty, cut, stub, garbage, scribble, json_file, folder, dangling, pipe, other_program, other_program_of_our_version]
WHICH: dict[str, Callable[[StateDirectory], Path]] = {"shared": lambda d: d.shared_file, "agent": lambda d: d.agent_file(MAIN_AGENT)}


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("damage", DAMAGES)
async def test_an_unreadable_file_is_kept_aside_and_the_rest_works(directory: StateDirectory, which: str, damage: Callable[[Path], None]):
    await fill(directory)
    path = WHICH[which](directory)
    damage(path)
    before = path.read_bytes() if path.is_file() else None

    store = SqliteStore(directory)
    async with opened(store) as stored:
        assert len(stored.notes) == 1, stored.notes
        kept = next(found for found in path.parent.iterdir() if ".unreadable-" in found.name)
        assert str(path) in stored.notes[0]
        assert kept.name in stored.notes[0]
        assert bool(stored.sessions) is (which == "agent")
        assert bool(stored.agents[MAIN_AGENT].credentials) is (which == "shared")
        await store.commit([put(K2), session("new", updated_at=5)])
        assert store.trouble is None
    if before is not None:
        assert kept.read_bytes() == before
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600

    async with opened(SqliteStore(directory)) as stored:
        assert stored.notes == ()
        assert K2 in stored.agents[MAIN_AGENT].credentials
        assert SessionKey("new") in stored.sessions


async def test_a_second_damage_in_the_same_second_overwrites_nothing(directory: StateDirectory):
    for text in ("one", "two", "three"):
        directory.prepare()
        directory.shared_file.write_text(text)
        async with opened(SqliteStore(directory)):
            pass
    kept = {path.read_text() for path in directory.root.glob("*.unreadable-*") if not path.name.endswith(("-wal", "-shm"))}
    assert kept == {"one", "two", "three"}


async def test_a_log_that_belongs_to_a_damaged_file_goes_with_it(directory: StateDirectory):
    await fill(directory)
    garbage(directory.shared_file)
    garbage(Path(f"{directory.shared_file}-wal"))
    async with opened(SqliteStore(directory)):
        assert [path.stat().st_size for path in directory.root.glob("*.unreadable-*-wal")] == [20_000]


def fingerprint(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("which", WHICH)
async def test_a_file_of_a_newer_version_is_refused_and_not_touched(directory: StateDirectory, which: str):
    await fill(directory)
    path = WHICH[which](directory)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    before = fingerprint(path.parent)
    with pytest.raises(StoreError) as told:
        await SqliteStore(directory).open()
    assert "newer version" in told.value.title
    assert str(path) in told.value.happened
    assert told.value.next_step
    assert {name: held for name, held in fingerprint(path.parent).items() if name.startswith(path.name)} == {
        name: held for name, held in before.items() if name.startswith(path.name)
    }


async def test_a_file_that_a_newer_program_migrates_meanwhile_is_not_written_any_more(directory: StateDirectory):
    store = SqliteStore(directory)
    async with opened(store):
        await store.commit([session(updated_at=1)])
        newer = sqlite3.connect(directory.shared_file)
        newer.execute("PRAGMA user_version = 99")
        with pytest.raises(StoreError, match="newer version"):
            await store.commit([session(updated_at=2)])
        assert "version 99" in str(store.trouble)
        assert '"updatedAt":1' in newer.execute("SELECT record FROM sessions").fetchone()[0]
        newer.close()


async def test_a_bad_row_is_named_left_out_and_kept(directory: StateDirectory):
    await fill(directory)
    connection = sqlite3.connect(directory.agent_file(MAIN_AGENT))
    connection.execute("INSERT INTO credentials (key, record) VALUES ('acme:bad', 'sk-secret-not-json')")
    connection.execute("INSERT INTO credentials (key, record) VALUES ('acme:worse', ?)", (b"\xff\xfe",))
    connection.execute('INSERT INTO credentials (key, record) VALUES (\'acme:odd\', \'{"type":"magic","provider":"acme"}\')')
    connection.execute('UPDATE usage_stats SET record = \'{"errorCount":"many","lastUsed":5}\'')
    connection.commit()
    connection.close()
    async with opened(SqliteStore(directory)) as stored:
        assert list(stored.agents[MAIN_AGENT].credentials) == [K1]
        assert stored.agents[MAIN_AGENT].usage[K1].last_used == 5
    assert [note.split(":")[1].partition(" ")[0] for note in stored.notes if "credentials" in note] == ["bad", "worse", "odd"]
    assert any("errorCount" in note for note in stored.notes)
    assert "sk-secret" not in str(stored.notes)
    async with opened(SqliteStore(directory)) as again:
        assert again.notes == stored.notes


async def test_of_many_bad_rows_a_few_are_named(directory: StateDirectory):
    await fill(directory)
    connection = sqlite3.connect(directory.shared_file)
    connection.execute("UPDATE sessions SET record = '[]'")
    connection.commit()
    connection.close()
    async with opened(SqliteStore(directory)) as stored:
        assert stored.sessions == {}
        assert len(stored.notes) == 6
        assert stored.notes[-1] == "failover.sqlite, sessions: 196 more such rows"


async def test_a_bad_row_that_is_written_to_is_kept_elsewhere(directory: StateDirectory):
    await fill(directory)
    connection = sqlite3.connect(directory.shared_file)
    connection.execute("UPDATE sessions SET record = 'half a rec' WHERE key = 'main'")
    connection.commit()
    store = SqliteStore(directory)
    async with opened(store):
        assert await store.commit([session(updated_at=8)]) == [True]
    assert connection.execute("SELECT table_name, key, record FROM unreadable_rows").fetchall() == [("sessions", "main", "half a rec")]
    connection.close()
    async with opened(SqliteStore(directory)) as stored:
        assert stored.sessions[MAIN].updated_at == 8


async def test_fields_of_a_newer_program_survive_our_writes(directory: StateDirectory):
    await fill(directory)
    connection = sqlite3.connect(directory.shared_file)
    connection.execute('UPDATE sessions SET record = \'{"updatedAt":1,"futureField":{"x":[1]}}\' WHERE key = \'main\'')
    connection.commit()
    store = SqliteStore(directory)
    async with opened(store):
        await store.commit([session(updated_at=2), decision(1)])
    assert connection.execute("SELECT record FROM sessions WHERE key = 'main'").fetchone()[0] == '{"updatedAt":2,"futureField":{"x":[1]}}'
    connection.close()


async def test_an_agent_s_folder_with_an_unsafe_name_is_none_of_ours(directory: StateDirectory):
    await fill(directory)
    (directory.agents / "not an agent").mkdir()
    (directory.agents / "not an agent" / "agent.sqlite").write_text("x")
    async with opened(SqliteStore(directory)) as stored:
        assert list(stored.agents) == [MAIN_AGENT]
        assert stored.notes == ()
    assert (directory.agents / "not an agent" / "agent.sqlite").read_text() == "x"


def test_every_kind_of_file_has_a_version():
    assert (latest("agent"), latest("shared")) == (1, 3)


async def test_a_file_of_the_first_version_gets_what_it_lacks_and_keeps_what_it_has(directory: StateDirectory):
    await fill(directory)
    with sqlite3.connect(directory.shared_file) as connection:
        connection.executescript("DROP TABLE stored_answers; DROP TABLE leases; PRAGMA user_version = 1")
    connection.close()
    store = SqliteStore(directory)
    answer = StoredAnswer(ModelRef("acme", "big"), ProfileId("acme:k1"), SessionKey("desk"), 7)
    async with opened(store) as stored:
        assert (stored.notes, bool(stored.sessions), stored.answers) == ((), True, {})
        await store.commit([PutAnswer("resp_1", answer)])
    async with opened(SqliteStore(directory)) as stored:
        assert stored.answers == {"resp_1": answer}
