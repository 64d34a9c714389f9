"""The candidates of a turn, in order (spec section 3, `engine.policy.chain`)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.domain.ids import ModelRef
from engine.policy.chain import build_chain
from tests.policy.test_selection import AUTO
from tests.policy.transcript import MAIN, T0, World, ref

REFS = st.builds(ModelRef, st.sampled_from(("acme", "zeta")), st.sampled_from(("big", "small", "a/b:c@2025-01-01")))


@pytest.mark.parametrize(
    ("start", "fallbacks", "chain"),
    [
        (None, None, ["acme/big", "zeta/std", "nova/std"]),
        ("kilo/std", None, ["kilo/std", "zeta/std", "nova/std", "acme/big"]),
        ("zeta/std", None, ["zeta/std", "nova/std", "acme/big"]),
        ("kilo/std", (), ["kilo/std"]),
        ("kilo/std", ("zeta/other",), ["kilo/std", "zeta/other"]),
    ],
)
def test_the_five_examples_of_the_specification(start: str | None, fallbacks: Any, chain: list[str]) -> None:
    """`chain.requested-first`, `chain.fallbacks`, `chain.primary-last`, `chain.exact-override`"""
    world = World(fallbacks=("zeta/std", "nova/std"))
    turn = world.turn(requested=start, fallbacks=fallbacks)
    assert [str(r) for r in turn.walk.ledger.chain] == chain


@given(REFS, st.lists(REFS, max_size=8), st.none() | REFS)
def test_every_pair_once_at_its_first_place_chain_dedupe(first: ModelRef, fallbacks: list[ModelRef], last: ModelRef | None) -> None:
    chain = build_chain(first, fallbacks, last)
    asked = [first, *fallbacks, *([last] if last is not None else [])]
    assert chain[0] == first
    assert len(set(chain)) == len(chain)
    assert list(chain) == [r for i, r in enumerate(asked) if r not in asked[:i]]


def test_a_session_on_a_fallback_walks_the_whole_chain_and_its_primary_last_chain_origin_last_chain_fallbacks() -> None:
    """D02: fallbacks before the primary, also across providers."""
    world = World(fallbacks=("acme/small", "zeta/std"), session=AUTO)
    world.memory.primary_marks[(MAIN, world.settings.primary)] = T0
    turn = world.run({"zeta/std": 503, "acme/small": 503})
    assert [call.partition("@")[0] for call in turn.calls] == ["zeta/std", "acme/small", "acme/big"]
    # The primary answered: a recovery, as by the primary probe.
    assert turn.ended.notices == ("↪️ Model Fallback cleared: acme/big (was zeta/std)",)
    assert world.session.override is None


def test_an_empty_list_is_one_candidate_and_no_hidden_primary_chain_exact_override() -> None:
    """D05"""
    world = World(session=AUTO)
    assert world.run({"zeta/std": 503}, fallbacks=()).calls == ["zeta/std@zeta:k1"]


def test_explicit_fallbacks_are_not_filtered_by_the_allow_list_chain_fallbacks_chain_dedupe() -> None:
    """D03"""
    world = World(defaults={"models": {"acme/big": {"alias": "fast"}}})
    assert world.run({"acme/big": 429}).calls == ["acme/big@acme:k1", "zeta/std@zeta:k1"]


def test_an_alias_is_the_pair_it_stands_for_chain_requested_first_chain_dedupe() -> None:
    """D12: an alias cannot smuggle a model in twice."""
    aliases = {"models": {"acme/big": {"alias": "fast"}, "zeta/std": {"alias": "other"}}}
    world = World(primary="fast", fallbacks=("other", "zeta/std", "acme/big"), defaults=aliases)
    assert [str(r) for r in world.turn().walk.ledger.chain] == ["acme/big", "zeta/std"]


def test_only_the_first_slash_separates_the_provider_chain_dedupe() -> None:
    assert ref("acme/a/b:c@2025-01-01") == ModelRef("acme", "a/b:c@2025-01-01")


def test_a_fallback_of_no_configured_provider_is_passed_over_gate_unknown_provider() -> None:
    """D08"""
    turn = World(fallbacks=("nope/x", "zeta/std")).run({"acme/big": 503})
    assert turn.outcomes == {"acme/big": "failed", "nope/x": "skipped gate.unknown-provider unknown_provider", "zeta/std": "succeeded"}
