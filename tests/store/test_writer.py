"""How the SQLite store writes: in groups, never in the way, and through a disk's bad hours."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading

import pytest

from engine.domain.errors import StoreError
from engine.domain.ids import MAIN_AGENT, AgentId, SessionKey
from engine.domain.sessions import Session
from store.opening import opened
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from store.sqlite.lane import Timing
from tests.store.making import HASTY, K1, K2, MAIN, OPS, PATIENT, decision, ended, other_process, put, session, until, usage, worker_threads


class Lock:
    """Another connection's write lock on a file, from `with` to its end."""

    def __init__(self, path: object) -> None:
        self._connection = sqlite3.connect(str(path), isolation_level=None)

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()


async def stored_sessions(directory: StateDirectory) -> dict[SessionKey, Session]:
    async with opened(SqliteStore(directory)) as stored:
        return dict(stored.sessions)


async def test_commits_that_come_together_share_a_transaction(directory: StateDirectory):
    store = SqliteStore(directory, PATIENT)
    async with opened(store):
        answers = await asyncio.gather(*(store.commit([session(f"s{n}", updated_at=n)]) for n in range(100)))
        assert answers == [[True]] * 100
        assert store.transactions <= 2
    assert len(await stored_sessions(directory)) == 100


async def test_enqueued_changes_wait_for_company(directory: StateDirectory):
    store = SqliteStore(directory, PATIENT)
    async with opened(store):
        for n in range(100):
            store.enqueue([decision(n)])
            await asyncio.sleep(0)
        assert store.transactions == 0
        await store.commit([session(updated_at=1)])
        assert store.transactions == 1


async def test_enqueued_changes_are_written_without_being_asked_for(directory: StateDirectory):
    store = SqliteStore(directory, Timing(group_ms=1))
    async with opened(store):
        store.enqueue([session(updated_at=1)])
        other = sqlite3.connect(directory.shared_file)
        await until(lambda: other.execute("SELECT 1 FROM sessions").fetchall())
        other.close()


async def test_a_commit_also_makes_other_files_durable(directory: StateDirectory):
    store = SqliteStore(directory, PATIENT)
    async with opened(store):
        store.enqueue([usage(cooldown_until=5)])
        await store.commit([session(updated_at=1)])
        other = sqlite3.connect(directory.agent_file(MAIN_AGENT))
        assert other.execute("SELECT record FROM usage_stats").fetchall() == [('{"cooldownUntil":5}',)]
        other.close()


async def test_an_unchanged_record_is_not_written_again(directory: StateDirectory):
    store = SqliteStore(directory, PATIENT)
    async with opened(store):
        await store.commit([session(updated_at=1)])
        other = SqliteStore(directory, PATIENT)
        async with opened(other):
            assert await other.commit([session(updated_at=1)]) == [True]
            assert await store.foreign() is None


async def test_a_lock_of_another_process_delays_no_enqueue_and_is_told(directory: StateDirectory):
    store = SqliteStore(directory, HASTY)
    async with opened(store):
        with Lock(directory.shared_file):
            store.enqueue([session("kept", updated_at=1)])
            with pytest.raises(StoreError, match="could not be written") as told:
                await store.commit([session("refused", updated_at=1)])
            assert "lock" in told.value.happened
            assert str(directory.shared_file) in told.value.happened
            assert store.trouble == told.value.happened
            store.enqueue([session("kept", pin_reason="r")])
            assert await store.commit([usage(last_used=1)]) == [True]  # another file has no part in it
        await store.commit([])
        assert store.trouble is None
    assert await stored_sessions(directory) == {SessionKey("kept"): Session(updated_at=1, pin_reason="r")}


async def test_a_long_lock_does_not_stop_the_loop(directory: StateDirectory):
    store = SqliteStore(directory, PATIENT)
    async with opened(store):
        with Lock(directory.shared_file):
            commit = asyncio.create_task(store.commit([session(updated_at=1)]))
            for _ in range(1000):  # the loop turns while the writer's thread waits in SQLite
                await asyncio.sleep(0)
                store.enqueue([decision(1)])
            assert not commit.done()
        assert await commit == [True]


async def test_an_alarm_ends_by_itself_when_nothing_is_to_be_written(directory: StateDirectory):
    store = SqliteStore(directory, Timing(retry_ms=1, busy_timeout_ms=0))
    async with opened(store):
        with Lock(directory.shared_file):
            with pytest.raises(StoreError):
                await store.commit([session(updated_at=1)])
            assert store.trouble
        await until(lambda: store.trouble is None)
    assert await stored_sessions(directory) == {}


async def test_one_trouble_is_one_alarm(directory: StateDirectory, caplog: pytest.LogCaptureFixture):
    store = SqliteStore(directory, HASTY)
    async with opened(store):
        with Lock(directory.shared_file), caplog.at_level(logging.WARNING, "failover.store"):
            for n in range(5):
                with pytest.raises(StoreError):
                    await store.commit([session(updated_at=n)])
        assert len(caplog.records) == 1


async def test_a_file_that_fails_and_works_by_turns_is_logged_once(directory: StateDirectory, caplog: pytest.LogCaptureFixture):
    store = SqliteStore(directory, HASTY)
    async with opened(store):
        with caplog.at_level(logging.WARNING, "failover.store"):
            for n in range(3):
                with Lock(directory.shared_file), pytest.raises(StoreError):
                    await store.commit([session(updated_at=n)])
                await store.commit([session(updated_at=n)])
        assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


async def test_a_commit_whose_caller_gave_up_is_written_all_the_same(directory: StateDirectory):
    store = SqliteStore(directory, HASTY)
    async with opened(store):
        with Lock(directory.shared_file):
            commit = asyncio.create_task(store.commit([session(updated_at=1)]))
            await asyncio.sleep(0)
            commit.cancel()
            with pytest.raises(asyncio.CancelledError):
                await commit
            with pytest.raises(StoreError):
                await store.commit([session("other", updated_at=1)])
        await store.commit([])
    assert list(await stored_sessions(directory)) == [MAIN]


async def test_what_cannot_be_written_at_the_end_is_told(directory: StateDirectory, caplog: pytest.LogCaptureFixture):
    store = SqliteStore(directory, HASTY)
    await store.open()
    with Lock(directory.shared_file), caplog.at_level(logging.ERROR, "failover.store"):
        store.enqueue([session(updated_at=1), decision(1)])
        await store.close()
    assert "2 changes unwritten" in caplog.records[-1].message


async def test_a_closed_store_takes_nothing_and_leaves_no_thread(directory: StateDirectory, caplog: pytest.LogCaptureFixture):
    before = threading.active_count()
    store = SqliteStore(directory)
    async with opened(store):
        await store.commit([put(K1), put(K1, agent=OPS)])
        await store.decisions()
        assert threading.active_count() > before
    with pytest.raises(StoreError, match="could not be written") as told:
        await store.commit([put(K2)])
    assert "closed" in told.value.happened
    store.enqueue([put(K2)])
    assert "lost" in caplog.records[-1].message
    assert worker_threads() == []


async def test_a_store_that_cannot_be_opened_leaves_no_thread(directory: StateDirectory):
    directory.prepare()
    newer = sqlite3.connect(directory.shared_file)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(StoreError):
        await SqliteStore(directory).open()
    assert worker_threads() == []


async def test_an_agent_that_could_be_a_path_is_refused_and_harms_nobody(directory: StateDirectory, caplog: pytest.LogCaptureFixture):
    store = SqliteStore(directory)
    async with opened(store):
        with pytest.raises(StoreError, match="agent id"):
            await store.commit([session(updated_at=1), put(K1, agent=AgentId("../up"))])
        store.enqueue([put(K1, agent=AgentId("../up")), session(updated_at=2)])
        assert "1 changes are lost" in caplog.records[-1].message
    assert await stored_sessions(directory) == {MAIN: Session(updated_at=2)}


async def test_a_decision_is_found_although_it_cannot_be_written(directory: StateDirectory):
    store = SqliteStore(directory, HASTY)
    async with opened(store):
        await store.commit([decision(1)])
        with Lock(directory.shared_file):
            store.enqueue([decision(2), decision(3, session="other")])
            assert [record["at"] for record in await store.decisions()] == [3, 2, 1]
            assert [record["at"] for record in await store.decisions(session="main", limit=1)] == [2]


async def test_a_record_with_strange_values_is_logged_as_far_as_it_goes(directory: StateDirectory):
    store = SqliteStore(directory)
    async with opened(store):
        odd = decision(1)
        await store.commit([type(odd)({**odd.record, "at": "noon", "odd": object(), "session": 5})])
        assert (await store.decisions())[0]["turn"] == "t1"


def test_a_full_disk_is_one_alarm_and_recovers_by_itself(directory: StateDirectory):
    said = ended(other_process("fill_disk", directory.root)).splitlines()
    assert said[0] == "State could not be written"
    assert said[1].startswith(f"alarm: {directory.shared_file}: ")
    assert said[2] == "alarm: None"
    sessions = asyncio.run(stored_sessions(directory))
    assert list(sessions) == ["kept", "waiting"]
