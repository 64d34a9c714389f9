"""Which model a request means (spec/gateway.md), and that such a name is `selection.requested`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.domain.ids import AgentId
from engine.domain.settings import ModelPolicy, ProviderSettings
from engine.gateway.model_names import OWN_SELECTION, Meaning, ModelNames
from tests.gateway.fake_engine import ref, settings

OPENAI, ANTHROPIC = "openai-completions", "anthropic-messages"


def names(**changes: object) -> ModelNames:
    return ModelNames(settings(**changes))


def listing(provider: str, *models: str) -> dict[str, ProviderSettings]:
    base = settings().providers
    return {**base, provider: replace(base[provider], models=models)}


@pytest.mark.parametrize("name", [None, "", "auto", "default"])
def test_auto_default_and_nothing_are_the_sessions_own_selection(name: str | None):
    assert names().meaning(name, OPENAI) is OWN_SELECTION


def test_an_agent_is_named_by_its_id():
    assert names().meaning("agent/ops", OPENAI) == Meaning(agent=AgentId("ops"))
    assert names().meaning("agent/nobody", OPENAI) is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("acme/big", "acme/big"),
        ("ACME/big", "acme/big"),
        ("zeta/std", "zeta/std"),
        ("std", "zeta/std"),
        ("quick", "acme/small"),
        ("zeta/ops", "zeta/ops"),
        ("ops", "zeta/ops"),
    ],
)
def test_refs_bare_ids_and_aliases_of_configured_models(name: str, meant: str):
    assert names().meaning(name, OPENAI) == Meaning(ref=ref(meant))


def test_gateway_models_may_mean_a_model_auto_or_an_agent():
    mapped = {"gpt-4": "zeta/std", "gpt-5": "auto", "gpt-6": "agent/ops", "gpt-7": "quick"}
    found = names(gateway={"models": mapped})
    assert [found.meaning(name, OPENAI) for name in mapped] == [
        Meaning(ref=ref("zeta/std")),
        OWN_SELECTION,
        Meaning(agent=AgentId("ops")),
        Meaning(ref=ref("acme/small")),
    ]


def test_a_bare_id_of_several_providers_is_the_first_in_chain_order():
    model = ModelPolicy(ref("zeta/same"), (ref("acme/same"),))
    assert names(model=model).meaning("same", OPENAI) == Meaning(ref=ref("zeta/same"))


def test_while_the_allow_list_is_empty_a_provider_without_models_takes_any():
    found = names()
    assert found.meaning("zeta/brand-new", OPENAI) == Meaning(ref=ref("zeta/brand-new"))
    assert found.meaning("brand-new", OPENAI) == Meaning(ref=ref("acme/brand-new"))
    assert found.meaning("zeta/org/m:1@2025", OPENAI) == Meaning(ref=ref("zeta/org/m:1@2025"))


def test_a_bare_name_goes_to_the_callers_dialect_in_chain_order():
    model = ModelPolicy(ref("claude/opus"), (ref("zeta/std"),))
    assert names(model=model).meaning("brand-new", OPENAI) == Meaning(ref=ref("zeta/brand-new"))
    assert names(model=model).meaning("brand-new", ANTHROPIC) == Meaning(ref=ref("claude/brand-new"))
    assert names().meaning("brand-new", ANTHROPIC) is None


def test_a_provider_that_lists_models_takes_no_others():
    found = names(providers=listing("zeta", "std", "listed"))
    assert found.meaning("zeta/listed", OPENAI) == Meaning(ref=ref("zeta/listed"))
    assert found.meaning("zeta/unlisted", OPENAI) is None


def test_with_an_allow_list_only_what_is_configured_counts():
    found = names(models=(ref("acme/allowed"),))
    assert found.meaning("acme/allowed", OPENAI) == Meaning(ref=ref("acme/allowed"))
    assert found.meaning("zeta/std", OPENAI) == Meaning(ref=ref("zeta/std"))
    assert found.meaning("acme/else", OPENAI) is None
    assert found.meaning("else", OPENAI) is None


def test_a_provider_that_is_not_there_is_no_model():
    assert names().meaning("nowhere/big", OPENAI) is None


def test_what_can_be_asked_for_is_listed():
    found = [name for name, _ in names(gateway={"models": {"gpt-4": "zeta/std"}}).listed()]
    assert found == ["auto", "agent/ops", "gpt-4", "acme/big", "zeta/std", "acme/small", "zeta/ops"]


def test_models_are_known_by_the_dialect_of_their_provider():
    found = names(model=ModelPolicy(ref("claude/opus"), (ref("zeta/std"),)))
    assert found.apis_beside(OPENAI) == {ANTHROPIC}
    assert found.of_api(ANTHROPIC) == {ref("claude/opus")}
    assert ref("zeta/std") in found.of_api(OPENAI)
