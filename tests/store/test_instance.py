"""One gateway a directory, and how the command line finds it. The other gateway is another process, as in life."""

from __future__ import annotations

import fcntl
import os
import stat
import time

import pytest

from engine.domain.errors import GatewayUnreachable, StartError, StoreError
from store import instance
from store.instance import GatewayLock, RunningGateway, operator_token, running
from store.paths import StateDirectory
from tests.store.making import ended, other_process

ADDRESS = "http://127.0.0.1:4141"
OTHER = "http://127.0.0.1:4142"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(instance, "PATIENCE_S", 0.0)


@pytest.fixture
def first(directory: StateDirectory):
    """A gateway in another process; its pid."""
    process = other_process("hold_gateway", directory.root, ADDRESS)
    assert process.stdout is not None
    yield process, int(process.stdout.readline())
    process.kill()
    process.communicate()


def test_nothing_runs_on_a_directory_that_is_not_there(directory: StateDirectory):
    assert running(directory) is None
    assert not directory.root.exists()


def test_a_second_gateway_is_refused_and_told_where_the_first_is(directory: StateDirectory, first):
    with pytest.raises(StartError) as told:
        GatewayLock.acquire(directory)
    assert ADDRESS in told.value.happened
    assert str(first[1]) in told.value.happened
    assert told.value.next_step


def test_a_command_finds_the_running_gateway(directory: StateDirectory, first):
    found = running(directory)
    assert found is not None
    assert (found.address, found.pid) == (ADDRESS, first[1])
    assert stat.S_IMODE(directory.gateway_file.stat().st_mode) == 0o600


def test_a_gateway_that_ended_leaves_the_directory_free(directory: StateDirectory, first):
    ended(first[0])
    assert running(directory) is None
    assert not directory.gateway_file.exists()
    GatewayLock.acquire(directory).release()


def test_a_killed_gateway_s_file_deceives_nobody(directory: StateDirectory, first):
    first[0].kill()
    first[0].wait()
    assert directory.gateway_file.exists()
    assert running(directory) is None
    lock = GatewayLock.acquire(directory)
    assert not directory.gateway_file.exists()
    lock.release()


def test_a_gateway_that_has_no_address_yet_is_told_as_starting(directory: StateDirectory):
    lock = GatewayLock.acquire(directory)
    with pytest.raises(GatewayUnreachable, match="starting"):
        running(directory)
    with pytest.raises(StartError, match="Another gateway"):
        GatewayLock.acquire(directory)
    lock.publish(ADDRESS)
    assert running(directory) == RunningGateway(ADDRESS, os.getpid(), lock.instance)
    lock.release()
    lock.release()


def test_a_command_that_looks_keeps_no_gateway_from_starting(directory: StateDirectory, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(instance, "PATIENCE_S", 10.0)
    GatewayLock.acquire(directory).release()
    descriptor = os.open(directory.lock_file, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    monkeypatch.setattr(time, "sleep", lambda _: os.close(descriptor))
    GatewayLock.acquire(directory).release()


def test_a_file_in_place_of_the_directory_is_a_start_error(directory: StateDirectory):
    directory.root.write_text("")
    with pytest.raises(StartError, match="cannot be used") as told:
        GatewayLock.acquire(directory)
    assert "--state-dir" in told.value.next_step


def test_the_operator_s_token_is_made_once_and_closed(directory: StateDirectory):
    token = operator_token(directory)
    assert len(token) >= 40
    assert operator_token(directory) == token
    assert stat.S_IMODE(directory.token_file.stat().st_mode) == 0o600


def test_an_empty_token_lets_nobody_in(directory: StateDirectory):
    directory.prepare()
    directory.token_file.write_text("\n")
    with pytest.raises(StoreError, match="empty"):
        operator_token(directory)


def test_a_token_that_has_no_place_is_told(directory: StateDirectory):
    directory.root.write_text("")
    with pytest.raises(StoreError, match="token cannot be written") as told:
        operator_token(directory)
    assert "--state-dir" in told.value.next_step


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_a_gateway_that_shares_the_directory_is_found_when_the_first_has_ended(directory: StateDirectory, end: str):
    first = other_process("hold_gateway", directory.root, ADDRESS, "shared")
    assert first.stdout is not None
    first.stdout.readline()
    second = GatewayLock.acquire(directory, shared=True)
    try:
        second.publish(OTHER)
        assert second.first is not None
        assert (second.first.address, second.first.shared) == (ADDRESS, True)
        assert running(directory) == second.first
        if end == "killed":
            first.kill()
            first.communicate()
        else:
            ended(first)
        taken_over(second)
        assert running(directory) == RunningGateway(OTHER, os.getpid(), second.instance, shared=True)
    finally:
        second.release()
    assert running(directory) is None
    assert not directory.gateway_file.exists()


def taken_over(lock: GatewayLock) -> None:
    waiting = lock._waiting
    if waiting is not None:
        waiting.join(10)
    assert lock.first is None


def test_one_that_shares_and_ends_first_leaves_the_other_as_it_is(directory: StateDirectory, first):
    second = GatewayLock.acquire(directory, shared=True)
    second.publish(OTHER)
    assert second.first is not None
    assert not second.first.shared
    second.release()
    second.release()
    found = running(directory)
    assert found is not None
    assert found.address == ADDRESS
    with pytest.raises(StartError) as told:
        GatewayLock.acquire(directory)
    assert "--shared" in told.value.next_step
