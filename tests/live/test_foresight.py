"""What-if on the live engine: the policy code on a copy of the state; the engine's own record is the witness that nothing changed."""

from __future__ import annotations

import pytest

from engine.domain.acts import Clear, Pin, SetOff
from engine.domain.foresight import At, Fails
from engine.domain.ids import ProfileId, SessionKey
from engine.domain.turns import TurnOutcome
from tests.live.harness import Bench, chain, fails, keys, running, settings_of

MAIN = SessionKey("main")
K1, K2 = ProfileId("acme:k1"), ProfileId("acme:k2")
TWO = settings_of(chain("acme/big", "zeta/std"))


async def untouched(bench: Bench) -> tuple[object, ...]:
    """Everything that a what-if could have changed."""
    memory = bench.engine._parts.memory
    return (await bench.engine.snapshot(), dict(memory.sessions), {a: dict(k.usage) for a, k in memory.agents.items()}, dict(memory.trials))


async def test_a_profile_that_gets_429_now_is_resting_in_the_predicted_chain_and_nothing_is_called_or_changed():
    async with running(settings=TWO, credentials=keys("acme:k1", "zeta:k1")) as bench:
        await bench.turn()
        calls, before = len(bench.upstream.calls), await untouched(bench)
        found = await bench.engine.what_if(MAIN, [Fails("acme:k1", status=429)])
        assert (found.before.next_ref, found.after.next_ref) == ("acme/big", "zeta/std")
        assert "acme:k1 fails with rate_limit: cooldown" in found.taken[0].text
        assert "for big" in found.taken[0].text
        assert (found.outcome, found.active) == ("ok", "zeta/std")
        assert "Model Fallback" in found.notices[0]
        assert len(bench.upstream.calls) == calls
        assert await untouched(bench) == before


async def test_the_predicted_turn_is_what_the_real_one_then_does():
    async with running(settings=TWO, credentials=keys("acme:k1", "acme:k2", "zeta:k1")) as bench:
        await bench.turn()
        found = await bench.engine.what_if(MAIN, [Fails("acme", reason="overloaded")])
        bench.upstream.on("acme/big", fails(529, "Overloaded"))
        await bench.turn("other")
        result = await bench.turn()
        assert found.active == str(result.active) == "zeta/std"


async def test_a_moment_ahead_sees_windows_ended_and_one_that_has_passed_is_refused():
    async with running(settings=TWO, credentials=keys("acme:k1", "zeta:k1")) as bench:
        bench.upstream.on("acme/big", fails(429))
        assert (await bench.turn()).outcome is TurnOutcome.OK
        now = bench.clock.now_ms()
        later = await bench.engine.what_if(MAIN, [At(now + 3_600_000)])
        assert later.at == now + 3_600_000
        assert later.after.next_ref == "acme/big"
        past = await bench.engine.what_if(MAIN, [At(now - 1)])
        assert not past.taken[0].held
        assert past.after == past.before


async def test_a_window_assumed_cleared_lets_its_profile_in_again():
    async with running(settings=TWO, credentials=keys("acme:k1", "zeta:k1")) as bench:
        bench.upstream.on("acme/big", fails(402, "credit balance too low"))
        await bench.turn()
        found = await bench.engine.what_if(SessionKey("fresh"), [Clear(K1)])
        assert (found.before.next_ref, found.after.next_ref) == ("zeta/std", "acme/big")


async def test_what_cannot_be_assumed_says_why():
    async with running(settings=TWO) as bench:
        found = await bench.engine.what_if(MAIN, [Fails("nobody", status=429), Fails("acme", reason="mood"), Pin(MAIN, ProfileId("x:y"))])
        assert [one.held for one in found.taken] == [False, False, False]
        assert "no profile x:y" in found.taken[2].text


async def test_moves_names_the_sessions_that_an_act_would_move_and_those_it_would_strand():
    async with running(settings=TWO, credentials=keys("acme:k1", "zeta:k1")) as bench:
        await bench.turn("a")
        await bench.turn("b")
        found = await bench.engine.moves([SetOff("acme:k1")])
        assert {(m.session, m.was_ref, m.ref) for m in found.moved} == {("a", "acme/big", "zeta/std"), ("b", "acme/big", "zeta/std")}
        assert (found.count, found.stranded, found.examined) == (2, 0, 2)
        await bench.act(SetOff("zeta"))
        assert (await bench.engine.moves([SetOff("acme")])).stranded == 2
        assert (await bench.engine.moves([SetOff("nobody")])).taken[0].held is False


@pytest.mark.parametrize("who", ["ann on tty1"])
async def test_a_sessions_detail_has_its_turns_with_their_attempts_and_says_who_wrote_which_field(who: str):
    async with running(settings=TWO, credentials=keys("acme:k1", "acme:k2", "zeta:k1")) as bench:
        bench.upstream.on("acme/big", fails(503))
        await bench.turn()
        await bench.act(Pin(MAIN, K2, reason="audit"), by=who)
        detail = await bench.engine.detail(MAIN)
        assert [(a.ref, a.outcome) for a in detail.turns[0].attempts][-1] == ("zeta/std", "succeeded")
        assert detail.turns[0].attempts[0].status == 503
        by = {field.name: field.by for field in detail.fields}
        assert by["authProfileOverride"] == f"{who} (pin)"
        assert "turn" in str(by["modelOverride"])
        assert (await bench.engine.detail(SessionKey("nobody"))).fields == ()
