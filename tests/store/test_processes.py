"""Several processes on one directory keep one truth, and a killed one loses nothing that it was promised (E18)."""

from __future__ import annotations

import sqlite3

import pytest

from engine.domain.ids import MAIN_AGENT, ProfileId, SessionKey
from engine.domain.sessions import Session
from engine.domain.store import Stored
from engine.domain.usage import UsageStats
from store.opening import opened
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from tests.store.making import K1, K2, K3, MAIN, OPS, PATIENT, ended, other_process, put, session, usage


async def read(directory: StateDirectory) -> Stored:
    async with opened(SqliteStore(directory)) as stored:
        return stored


@pytest.mark.parametrize("acknowledged", [1, 40, 41, 200])
async def test_a_killed_writer_loses_nothing_that_it_was_promised(directory: StateDirectory, acknowledged: int):
    process = other_process("count_for_ever", directory.root)
    assert process.stdout is not None
    last = 0
    while last < acknowledged:
        last = int(process.stdout.readline())
    process.kill()
    last = max([last, *map(int, process.stdout)])  # what it had said and we had not read yet
    process.communicate()

    stored = await read(directory)
    assert stored.notes == ()
    held = stored.agents[MAIN_AGENT].usage[K1].error_count
    assert last <= held <= last + 1
    session_at = stored.sessions[MAIN].updated_at
    assert session_at is not None
    assert last <= session_at <= last + 1
    store = SqliteStore(directory)
    async with opened(store):
        # A session and its decision were one commit: both or neither.
        assert (await store.decisions(limit=1))[0]["at"] == session_at


async def test_two_processes_of_eight_writers_lose_no_increment(directory: StateDirectory):
    processes = [other_process("increments", directory.root, name, 8, 100) for name in "ab"]
    for process in processes:
        ended(process)
    usage_stats = (await read(directory)).agents[MAIN_AGENT].usage
    assert usage_stats == {ProfileId(f"acme:{name}{n}"): UsageStats(error_count=100) for name in "ab" for n in range(8)}


async def test_a_profile_added_by_another_process_survives_our_writes(directory: StateDirectory):
    store = SqliteStore(directory)
    async with opened(store):
        await store.commit([put(K1), put(K2)])
        ended(other_process("add", directory.root, K3))
        await store.commit([put(K1), usage(K2, last_used=1)])
    assert list((await read(directory)).agents[MAIN_AGENT].credentials) == [K1, K2, K3]


async def test_what_another_process_wrote_is_noticed_once(directory: StateDirectory):
    store = SqliteStore(directory)
    async with opened(store):
        await store.commit([put(K1)])
        assert await store.foreign() is None
        ended(other_process("add", directory.root, K3))
        found = await store.foreign()
        assert found is not None
        assert list(found.agents[MAIN_AGENT].credentials) == [K1, K3]
        assert await store.foreign() is None


async def test_what_another_process_wrote_does_not_hide_what_we_have_not_written_yet(directory: StateDirectory):
    store, other = SqliteStore(directory, PATIENT), SqliteStore(directory, PATIENT)
    async with opened(store), opened(other):
        await store.commit([session(updated_at=1), put(K1), session("gone")])
        await other.commit([session(pin_reason="theirs"), session("new", updated_at=7), put(K2)])
        store.enqueue([session(updated_at=2), usage(K1, error_count=1)])
        found = await store.foreign()
        assert found is not None
        assert found.sessions[MAIN] == Session(updated_at=2, pin_reason="theirs")
        assert found.sessions[SessionKey("new")] == Session(updated_at=7)
        assert found.agents[MAIN_AGENT].usage[K1] == UsageStats(error_count=1)
        assert list(found.agents[MAIN_AGENT].credentials) == [K1, K2]


async def test_an_agent_that_another_process_made_is_noticed(directory: StateDirectory):
    store, other = SqliteStore(directory), SqliteStore(directory)
    async with opened(store), opened(other):
        await other.commit([put(K1, agent=OPS)])
        found = await store.foreign()
        assert found is not None
        assert list(found.agents[OPS].credentials) == [K1]
        assert await store.foreign() is None


async def test_an_agent_s_file_of_a_newer_version_is_left_out_and_hides_nothing_else(directory: StateDirectory):
    store, other = SqliteStore(directory), SqliteStore(directory)
    async with opened(store), opened(other):
        directory.agent_file(OPS).parent.mkdir()
        newer = sqlite3.connect(directory.agent_file(OPS))
        newer.execute("PRAGMA user_version = 99")
        newer.close()
        assert await store.foreign() is None
        await other.commit([session(updated_at=1)])
        found = await store.foreign()
        assert found is not None
        assert (list(found.agents), list(found.sessions)) == ([MAIN_AGENT], [MAIN])


async def test_a_rollback_that_another_process_overtook_is_not_applied(directory: StateDirectory):
    store, other = SqliteStore(directory), SqliteStore(directory)
    async with opened(store), opened(other):
        await store.commit([session(provider_override="zeta", model_override="std")])
        await other.commit([session(provider_override="acme", model_override="big")])
        undo = session(provider_override=None, model_override=None, expect={"provider_override": "zeta", "model_override": "std"})
        assert await store.commit([undo]) == [False]
    assert (await read(directory)).sessions[MAIN] == Session(provider_override="acme", model_override="big")


async def test_two_first_starts_at_once_agree(directory: StateDirectory):
    for process in [other_process("add", directory.root, f"acme:{n}") for n in range(4)]:
        ended(process)
    stored = await read(directory)
    assert sorted(stored.agents[MAIN_AGENT].credentials) == [f"acme:{n}" for n in range(4)]
    assert stored.notes == ()
