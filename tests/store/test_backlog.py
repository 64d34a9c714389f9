"""The queue of what waits to be written stays bounded, and folding it changes nothing."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.domain.ids import MAIN_AGENT, ProfileId, SessionKey
from engine.domain.store import AppendAudit, AppendDecision, Change, DropSession, PatchSession, PatchUsage, RemoveCredential
from store.backlog import Backlog, Unit, fold
from store.rows import Rows
from tests.store.making import K1, MAIN, decision, put, session, usage

_small = st.integers(0, 2)
_fields = st.dictionaries(st.sampled_from(["updated_at", "pin_until", "compaction_count"]), st.none() | _small, max_size=2)
_map = st.dictionaries(st.sampled_from(["a", "b"]), st.none() | _small, max_size=2)
_usage = st.fixed_dictionaries(
    {}, optional={"error_count": _small, "failure_counts": st.none() | _map, "disabled_counts": st.none() | _map}
)
_keys = st.sampled_from(["s1", "s2"])
_changes: st.SearchStrategy[Change] = st.one_of(
    st.builds(lambda key, fields, expect: session(key, expect, **fields), _keys, _fields, st.none() | _fields),
    st.builds(lambda key: DropSession(SessionKey(key)), _keys),
    st.builds(lambda key, fields: usage(ProfileId(key), **fields), _keys, _usage),
    st.builds(lambda key: RemoveCredential(MAIN_AGENT, ProfileId(key)), _keys),
    st.builds(lambda key: put(ProfileId(key)), _keys),
)


def end_state(units: list[Unit]) -> Rows:
    rows = Rows()
    for unit in units:
        for change in unit.changes:
            rows.apply(change)
    rows.touched.clear()
    return rows


@settings(deadline=None)
@given(st.lists(st.tuples(st.lists(_changes, max_size=3), st.booleans()), max_size=12))
def test_folding_leads_to_the_same_records(drawn: list[tuple[list[Change], bool]]):
    loop = asyncio.new_event_loop()
    try:
        units = [Unit(tuple(changes), loop.create_future() if awaited else None) for changes, awaited in drawn]
        folded = fold(units)
        assert end_state(folded) == end_state(units)
        assert [unit for unit in folded if unit.answer] == [unit for unit in units if unit.answer]
    finally:
        loop.close()


def test_patches_of_one_record_become_one():
    folded = fold([Unit((usage(last_used=n, failure_counts={str(n % 2): n}), session(updated_at=n))) for n in range(100)])
    assert [unit.changes[0] for unit in folded] == [
        PatchUsage(MAIN_AGENT, K1, {"last_used": 99, "failure_counts": {"0": 98, "1": 99}}),
        PatchSession(MAIN, {"updated_at": 99}),
    ]


def test_a_full_disk_costs_the_oldest_log_records_and_no_state():
    backlog = Backlog(limit=100)
    for n in range(10_000):
        backlog.add(Unit((usage(last_used=n),)))
        backlog.add(Unit((decision(n),)))
        backlog.add(Unit((session(f"s{n % 10}", updated_at=n),)))
        assert len(backlog) <= 100
    kept = [change for unit in backlog.take() for change in unit.changes]
    logs = [change.record["at"] for change in kept if isinstance(change, AppendDecision)]
    assert logs == list(range(10_000 - len(logs), 10_000))
    assert backlog.dropped == 10_000 - len(logs)
    assert end_state([Unit(tuple(kept))]).tables["usage_stats"] == {K1: {"lastUsed": 9999}}
    assert len(end_state([Unit(tuple(kept))]).tables["sessions"]) == 10


def test_more_state_than_room_is_kept_all_the_same():
    backlog = Backlog(limit=100)
    for n in range(1000):
        backlog.add(Unit((session(f"s{n}", updated_at=n),)))
    assert len(backlog) == 1000


def test_an_audit_record_is_no_telemetry():
    backlog = Backlog(limit=10)
    for n in range(100):
        backlog.add(Unit((AppendAudit({"at": n}),)))
    assert len(backlog) == 100


def test_what_is_put_back_comes_first():
    backlog = Backlog()
    backlog.add(Unit((session("second"),)))
    backlog.put_back([Unit((session("first"),))])
    assert [unit.changes[0] for unit in backlog.units] == [session("first"), session("second")]
    assert len(backlog) == 2
