"""What every `StateStore` does, memory and SQLite alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.domain.credentials import ApiKey, Credential, Token
from engine.domain.decisions import Matching
from engine.domain.errors import StoreError
from engine.domain.ids import MAIN_AGENT, ModelRef, SessionKey, TurnId
from engine.domain.leases import Lease
from engine.domain.reasons import FailoverReason
from engine.domain.sessions import NEW_SESSION, Session
from engine.domain.store import (
    AppendAudit,
    AppendDecision,
    AppendFeed,
    Change,
    ClaimLease,
    DropLease,
    DropSession,
    PutAnswer,
    PutOff,
    PutOrder,
    RemoveCredential,
    StateStore,
    Stored,
)
from engine.domain.stored_answers import StoredAnswer
from engine.domain.usage import NEVER_USED, ModelCooldown, OperatorOff, UsageStats
from store.memory import MemoryStore
from store.opening import opened
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from tests.store.making import K1, K2, K3, MAIN, OPS, decision, login, put, session, usage

Reopen = Callable[[], StateStore]


@pytest.fixture(params=["memory", "sqlite"])
def reopen(request: pytest.FixtureRequest, directory: StateDirectory) -> Reopen:
    """The store, as a process that starts finds it."""
    memory = MemoryStore()
    return (lambda: memory) if request.param == "memory" else (lambda: SqliteStore(directory))


async def after(reopen: Reopen, *changes: Change) -> Stored:
    """What a restart finds when these were committed one by one."""
    store = reopen()
    async with opened(store):
        for change in changes:
            await store.commit([change])
    async with opened(reopen()) as stored:
        return stored


async def test_a_new_store_is_empty_and_knows_main(reopen: Reopen):
    async with opened(reopen()) as stored:
        assert list(stored.agents) == [MAIN_AGENT]
        assert stored.agents[MAIN_AGENT].credentials == {}
        assert (stored.sessions, stored.off, stored.notes, stored.feed) == ({}, {}, (), ())


async def test_who_made_an_answer_is_remembered_and_forgotten(reopen: Reopen):
    answers = {name: StoredAnswer(ModelRef("acme", "big"), K1 if name == "a" else None, SessionKey("desk"), 5) for name in ("a", "b")}
    assert (await after(reopen, *(PutAnswer(name, answer) for name, answer in answers.items()))).answers == answers
    assert (await after(reopen, PutAnswer("a", None))).answers == {"b": answers["b"]}


async def test_what_was_committed_is_there_after_a_restart(reopen: Reopen):
    stored = await after(reopen, session(provider_override="zeta", model_override="std", compaction_count=2), usage(last_used=5))
    assert stored.sessions[MAIN] == Session(provider_override="zeta", model_override="std", compaction_count=2)
    assert stored.agents[MAIN_AGENT].usage[K1] == UsageStats(last_used=5)


async def test_what_was_enqueued_is_there_after_a_restart(reopen: Reopen):
    store = reopen()
    async with opened(store):
        store.enqueue([session(updated_at=1)])
        store.enqueue([session(updated_at=2), usage(last_used=7)])
    async with opened(reopen()) as stored:
        assert stored.sessions[MAIN].updated_at == 2
        assert stored.agents[MAIN_AGENT].usage[K1].last_used == 7


async def test_a_commit_comes_after_what_was_enqueued_before_it(reopen: Reopen):
    store = reopen()
    async with opened(store):
        store.enqueue([session(updated_at=1, pin_reason="kept")])
        assert await store.commit([session(updated_at=2, expect={"updated_at": 1})]) == [True]
    async with opened(reopen()) as stored:
        assert stored.sessions[MAIN] == Session(updated_at=2, pin_reason="kept")


async def test_a_patch_leaves_other_fields_alone_and_none_removes(reopen: Reopen):
    stored = await after(
        reopen,
        session(pinned_by="ann", pin_reason="r", live_model_switch_pending=True),
        session(pin_reason=None, live_model_switch_pending=None, updated_at=9),
    )
    assert stored.sessions[MAIN] == Session(pinned_by="ann", updated_at=9)


async def test_a_patch_whose_expectation_fails_writes_nothing_and_says_so(reopen: Reopen):
    store = reopen()
    async with opened(store):
        await store.commit([session(provider_override="zeta", model_override="std")])
        rollback = session(provider_override=None, model_override=None, expect={"provider_override": "zeta", "model_override": "other"})
        answers = await store.commit([rollback, session(updated_at=3)])
        assert list(answers) == [False, True]
    async with opened(reopen()) as stored:
        assert stored.sessions[MAIN] == Session(provider_override="zeta", model_override="std", updated_at=3)


@pytest.mark.parametrize(
    "expect", [{"model_override": None}, {"compaction_count": 0}, {"compaction_count": None}, {"live_model_switch_pending": False}]
)
async def test_an_absent_field_holds_what_a_new_session_holds(reopen: Reopen, expect: dict[str, object]):
    store = reopen()
    async with opened(store):
        assert await store.commit([session(updated_at=1, expect=expect)]) == [True]


async def test_a_dropped_session_is_gone_and_cannot_be_dropped_twice(reopen: Reopen):
    store = reopen()
    async with opened(store):
        await store.commit([session(updated_at=1)])
        assert list(await store.commit([DropSession(MAIN), DropSession(MAIN)])) == [True, False]
    async with opened(reopen()) as stored:
        assert stored.sessions == {}


async def test_an_empty_patch_makes_a_new_session(reopen: Reopen):
    assert (await after(reopen, session("s"))).sessions == {SessionKey("s"): NEW_SESSION}


async def test_of_a_map_only_the_named_keys_change(reopen: Reopen):
    stored = await after(
        reopen,
        usage(
            failure_counts={"rate_limit": 1, "billing": 2},
            model_cooldowns={"big": ModelCooldown(10, "rate_limit", 1), "small": {"until": 20, "reason": "timeout", "error_count": 2}},
        ),
        usage(failure_counts={"rate_limit": 3, "billing": None}, model_cooldowns={"big": None}, disabled_counts={}),
    )
    held = stored.agents[MAIN_AGENT].usage[K1]
    assert held.failure_counts == {"rate_limit": 3}
    assert held.model_cooldowns == {"small": ModelCooldown(20, "timeout", 2)}
    assert held.disabled_counts == {}


async def test_a_map_that_is_set_to_none_is_empty(reopen: Reopen):
    counts = {"billing": 1}
    stored = await after(reopen, usage(failure_counts=counts, disabled_counts=counts), usage(failure_counts=None, disabled_counts=None))
    assert stored.agents[MAIN_AGENT].usage[K1] == NEVER_USED


async def test_words_of_an_enum_come_back_as_words(reopen: Reopen):
    stored = await after(reopen, usage(cooldown_reason=FailoverReason.RATE_LIMIT, cooldown_until=5))
    assert stored.agents[MAIN_AGENT].usage[K1] == UsageStats(cooldown_reason="rate_limit", cooldown_until=5)


async def test_credentials_keep_the_order_in_which_they_were_stored(reopen: Reopen):
    stored = await after(reopen, put(K3), put(K1), put(K2), put(K3, ApiKey("acme", "new")), RemoveCredential(MAIN_AGENT, K1), put(K1))
    assert list(stored.agents[MAIN_AGENT].credentials) == [K3, K2, K1]
    assert stored.agents[MAIN_AGENT].credentials[K3] == ApiKey("acme", "new")


async def test_credentials_come_back_as_they_went(reopen: Reopen):
    made: list[Credential] = [
        ApiKey("acme", key_ref="env:ACME_KEY"),
        Token("acme", "t", expires="soon"),
        login("a1", idToken="x", scopes=["s"]),
    ]
    stored = await after(reopen, *(put(profile, credential) for profile, credential in zip((K1, K2, K3), made, strict=True)))
    assert list(stored.agents[MAIN_AGENT].credentials.values()) == made


async def test_a_refreshed_token_is_never_put_over_a_newer_one(reopen: Reopen):
    store = reopen()
    async with opened(store):
        await store.commit([put(K1, login("a1"))])
        assert await store.commit([put(K1, login("a2"), expect=login("a1"))]) == [True]
        assert await store.commit([put(K1, login("a3"), expect=login("a1"))]) == [False]
        assert await store.commit([put(K2, login("a3"), expect=login("a1"))]) == [False]
    async with opened(reopen()) as stored:
        assert stored.agents[MAIN_AGENT].credentials == {K1: login("a2")}


async def test_a_removed_credential_takes_its_record_with_it(reopen: Reopen):
    store = reopen()
    async with opened(store):
        await store.commit([put(K1), usage(K1, error_count=3), put(K2), usage(K2, error_count=4)])
        assert list(await store.commit([RemoveCredential(MAIN_AGENT, K1), RemoveCredential(MAIN_AGENT, K1)])) == [True, False]
    async with opened(reopen()) as stored:
        agent = stored.agents[MAIN_AGENT]
        assert (list(agent.credentials), list(agent.usage)) == ([K2], [K2])


async def test_agents_keep_their_own_profiles(reopen: Reopen):
    stored = await after(
        reopen, put(K1), put(K1, ApiKey("acme", "of ops"), OPS), PutOrder(OPS, "acme", (K2, K1)), usage(K1, OPS, error_count=1)
    )
    assert stored.agents[OPS].credentials == {K1: ApiKey("acme", "of ops")}
    assert stored.agents[OPS].order == {"acme": (K2, K1)}
    assert stored.agents[MAIN_AGENT].usage == {}


async def test_an_order_is_removed_by_none_and_may_be_empty(reopen: Reopen):
    stored = await after(reopen, PutOrder(MAIN_AGENT, "acme", (K1,)), PutOrder(MAIN_AGENT, "zeta", ()), PutOrder(MAIN_AGENT, "acme", None))
    assert stored.agents[MAIN_AGENT].order == {"zeta": ()}


async def test_what_an_operator_took_out_stays_out_until_it_is_put_back(reopen: Reopen):
    off = OperatorOff("acme/big", 5, "ann", "too dear")
    stored = await after(reopen, PutOff("acme/big", off), PutOff("zeta", OperatorOff("zeta", 6, "bob")), PutOff("zeta", None))
    assert stored.off == {"acme/big": off}


async def test_decisions_come_newest_first_and_can_be_asked_for(reopen: Reopen):
    store = reopen()
    async with opened(store):
        store.enqueue([decision(n, session="a" if n % 2 else "b", turn=f"t{n // 2}") for n in range(10)])
        assert [record["at"] for record in await store.decisions(limit=3)] == [9, 8, 7]
        assert [record["at"] for record in await store.decisions(session="a")] == [9, 7, 5, 3, 1]
        assert [record["at"] for record in await store.decisions(turn="t2")] == [5, 4]
        assert [record["at"] for record in await store.decisions(session="b", turn="t2")] == [4]
        assert await store.decisions(session="nobody") == []


async def test_decisions_can_be_asked_for_by_provider_reason_and_time(reopen: Reopen):
    store = reopen()
    async with opened(store):
        about = [("acme", "billing"), ("zeta", "billing"), ("acme", "rate_limit"), (None, None)]
        made = [{"at": n, "session": "a", "turn": "t", "candidateProvider": p, "reason": r} for n, (p, r) in enumerate(about)]
        store.enqueue([AppendDecision({name: value for name, value in record.items() if value is not None}) for record in made])
        for matching, expected in (
            (Matching(provider="acme"), [2, 0]),
            (Matching(reason="billing"), [1, 0]),
            (Matching(provider="acme", reason="billing"), [0]),
            (Matching(since=1, until=3), [2, 1]),
            (Matching(since=9), []),
            (Matching(), [3, 2, 1, 0]),
        ):
            assert [record["at"] for record in await store.decisions(session="a", matching=matching)] == expected
        assert [record["at"] for record in await store.decisions(limit=1, matching=Matching(reason="billing"))] == [1]


async def test_the_newest_notices_survive_a_restart_oldest_first(reopen: Reopen):
    stored = await after(reopen, *(AppendFeed({"seq": n, "at": n, "text": "…"}) for n in range(3)), AppendAudit({"act": "pin", "at": 1}))
    assert [row["seq"] for row in stored.feed] == [0, 1, 2]


async def test_a_long_feed_is_restored_from_its_end(reopen: Reopen):
    store = reopen()
    async with opened(store):
        store.enqueue([AppendFeed({"seq": n, "at": n}) for n in range(700)])
    async with opened(reopen()) as stored:
        assert [row["seq"] for row in stored.feed] == list(range(200, 700))


async def test_a_change_that_cannot_be_stored_harms_no_other(reopen: Reopen):
    store = reopen()
    async with opened(store):
        store.enqueue([session("before", updated_at=1)])
        store.enqueue([session(no_such_field=1)])
        with pytest.raises(StoreError):
            await store.commit([session("half", updated_at=1), session(no_such_field=1)])
        assert await store.commit([session("after", updated_at=1)]) == [True]
        assert store.trouble is None
    async with opened(reopen()) as stored:
        assert list(stored.sessions) == ["before", "after"]


async def test_text_that_is_no_text_is_kept(reopen: Reopen):
    stored = await after(reopen, session(pin_reason="half \ud83d of a pair, \0, é"))
    assert stored.sessions[MAIN].pin_reason == "half \ud83d of a pair, \0, é"


async def test_own_writes_are_not_foreign(reopen: Reopen):
    store = reopen()
    async with opened(store):
        await store.commit([put(K1), session(updated_at=1), put(K1, agent=OPS)])
        store.enqueue([usage(last_used=3)])
        await store.commit([])
        assert await store.foreign() is None


async def test_a_store_can_be_closed_twice(reopen: Reopen):
    store = reopen()
    await store.open()
    await store.close()
    await store.close()


def lease(holder: str, until: int, model: str = "big") -> Lease:
    return Lease(K1, model, TurnId(holder), until)


async def test_a_lease_is_one_turns_until_it_is_given_back_or_has_ended_gate_single_flight(reopen: Reopen):
    store = reopen()
    async with opened(store):
        mine, other = lease("mine", 100), lease("theirs", 200)
        assert await store.commit([ClaimLease(mine, 0), ClaimLease(other, 99), ClaimLease(lease("theirs", 200, "small"), 99)]) == [
            True,
            False,
            True,
        ]
        assert await store.commit([ClaimLease(lease("mine", 150), 90), ClaimLease(other, 149)]) == [True, False]  # renewed
        assert await store.commit([DropLease(other.trial, other.holder)]) == [False]  # not theirs to give back
        assert await store.commit([ClaimLease(other, 150)]) == [True]  # ended: whoever held it has died
        assert await store.commit([DropLease(mine.trial, mine.holder), DropLease(other.trial, other.holder)]) == [False, True]
    async with opened(reopen()) as stored:
        assert stored.leases == (lease("theirs", 200, "small"),)
