"""Refs, aliases and the three states of a fallback list (D05, D07)."""

from __future__ import annotations

import json

import pytest

from engine.config.load import load_settings
from engine.domain.ids import AgentId, ModelRef
from engine.domain.settings import ModelPolicy
from tests.config.making import load, problems, with_value


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("std", "did you mean `zeta/std`?"),
        ("small", "did you mean `acme/small`?"),
        ("unheard-of", "write it as `provider/model`"),
        ("acme/", "write it as `provider/model`"),
        ("/big", "write it as `provider/model`"),
    ],
)
def test_a_ref_without_a_provider_is_an_error_at_its_path(text: str, suggestion: str):
    config = with_value(["zeta/std", "acme/small", text], "agents", "defaults", "model", "fallbacks")
    assert problems(config) == (f'agents.defaults.model.fallbacks[2]: "{text}" has no provider; {suggestion}',)


def test_a_bare_primary_is_an_error_at_its_path_in_either_form():
    assert problems(with_value("big", "agents", "defaults", "model"))[0].startswith("agents.defaults.model: ")
    assert problems(with_value("big", "agents", "defaults", "model", "primary"))[0].startswith("agents.defaults.model.primary: ")


def test_a_model_that_a_provider_lists_is_suggested():
    config = with_value(["huge"], "models", "providers", "acme", "models")
    config["agents"]["defaults"]["heartbeat"] = {"model": "huge"}
    assert problems(config) == ('agents.defaults.heartbeat.model: "huge" has no provider; did you mean `acme/huge`?',)


def test_an_alias_of_almost_that_name_is_suggested():
    config = with_value({"zeta/std": {"alias": "spare"}}, "agents", "defaults", "models")
    config["agents"]["defaults"]["model"]["fallbacks"] = ["Spare"]
    assert problems(config) == ('agents.defaults.model.fallbacks[0]: "Spare" has no provider; did you mean `spare`?',)


def test_aliases_are_resolved_wherever_a_model_is_named():
    config = with_value({"zeta/std": {"alias": "spare"}, "acme/big": {"alias": "main-one"}}, "agents", "defaults", "models")
    config["agents"]["defaults"] |= {"model": {"primary": "main-one", "fallbacks": ["spare"]}, "heartbeat": {"model": "spare"}}
    config["agents"]["list"] = [{"id": "ops", "model": "spare"}]
    config["gateway"] = {"models": {"cheap": "spare"}}
    settings = load(config).settings
    spare = ModelRef("zeta", "std")
    assert settings.model == ModelPolicy(ModelRef("acme", "big"), (spare,))
    assert settings.heartbeat_model == spare
    assert settings.agents[AgentId("ops")].model == ModelPolicy(spare)
    assert settings.gateway.models == {"cheap": "zeta/std"}


def test_an_alias_matches_whole_and_exactly_and_beats_a_ref_of_that_spelling():
    config = with_value({"zeta/std": {"alias": "acme/big"}}, "agents", "defaults", "models")
    settings = load(config).settings
    assert settings.primary == ModelRef("zeta", "std")
    assert settings.model.fallbacks == (ModelRef("acme", "small"), ModelRef("zeta", "std"))


def test_two_models_cannot_share_an_alias():
    config = with_value({"acme/big": {"alias": "a"}, "zeta/std": {"alias": "a"}}, "agents", "defaults", "models")
    assert problems(config) == ('agents.defaults.models["zeta/std"].alias: alias "a" is already that of acme/big',)


def test_aliases_that_differ_in_case_are_two():
    config = with_value({"acme/big": {"alias": "a"}, "zeta/std": {"alias": "A"}}, "agents", "defaults", "models")
    assert load(config).settings.aliases == {"a": ModelRef("acme", "big"), "A": ModelRef("zeta", "std")}


def test_one_model_spelled_twice_is_allowed_once_and_may_have_two_names():
    config = with_value({"acme/big": {"alias": "a"}, "ACME/big": {"alias": "b"}}, "agents", "defaults", "models")
    settings = load(config).settings
    assert settings.models == (ModelRef("acme", "big"),)
    assert set(settings.aliases) == {"a", "b"}


def test_provider_ids_are_lower_cased_and_model_ids_are_not():
    settings = load(with_value("ACME/Big-Model", "agents", "defaults", "model")).settings
    assert settings.primary == ModelRef("acme", "Big-Model")


@pytest.mark.parametrize("place", ["agents.defaults", "agents.list"])
@pytest.mark.parametrize(("said", "expected"), [("absent", None), ([], ()), (["zeta/std"], (ModelRef("zeta", "std"),))])
def test_absent_empty_and_listed_fallbacks_stay_three_things_through_load_and_save(place: str, said: object, expected: object):
    model = {"primary": "acme/big"} if said == "absent" else {"primary": "acme/big", "fallbacks": said}
    path = ("agents", "defaults", "model") if place == "agents.defaults" else ("agents", "list", 0)
    config = with_value(model if place == "agents.defaults" else {"id": "ops", "model": model}, *path)
    for text in (json.dumps(config), json.dumps(json.loads(json.dumps(config)))):
        settings = load_settings(text, env={}).settings
        policy = settings.model if place == "agents.defaults" else settings.agents[AgentId("ops")].model
        assert policy is not None
        assert policy.fallbacks == expected


def test_fallbacks_are_not_filtered_by_the_allow_list():
    # D03
    settings = load(with_value({"acme/big": {}}, "agents", "defaults", "models")).settings
    assert settings.models == (ModelRef("acme", "big"),)
    assert settings.model.fallbacks == (ModelRef("acme", "small"), ModelRef("zeta", "std"))


def test_two_agents_of_one_name_are_an_error_whatever_the_letter_case():
    config = with_value([{"id": "ops"}, {"id": "OPS"}], "agents", "list")
    assert problems(config) == ('agents.list[1].id: agent "OPS" is there twice (letter case does not count)',)


def test_a_name_of_the_gateway_may_mean_a_configured_agent():
    config = with_value([{"id": "ops"}], "agents", "list")
    config["gateway"] = {"models": {"x": "agent/ops"}}
    assert load(config).settings.gateway.models == {"x": "agent/ops"}
    config["gateway"] = {"models": {"x": "agent/opps"}}
    assert problems(config) == ('gateway.models.x: there is no agent "opps"; did you mean `ops`?',)
