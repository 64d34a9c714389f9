"""What loads, and is said all the same (D04, D08, K04)."""

from __future__ import annotations

import pytest

from engine.domain.ids import ModelRef
from tests.config.making import load, with_value


def test_a_plain_configuration_has_no_warning():
    assert load().warnings == ()


@pytest.mark.parametrize("model", ["acme/big", {"primary": "acme/big"}])
def test_an_agent_with_a_model_and_no_fallbacks_is_named_with_the_chain_it_ignores(model: object):
    # selection.agent-primary
    (warning,) = load(with_value([{"id": "free"}, {"id": "main", "model": model}], "agents", "list")).warnings
    assert warning.startswith('agents.list[1].model: agent "main" ')
    assert "acme/small, zeta/std" in warning
    assert "strict" in warning
    assert "selection.agent-primary" in warning


@pytest.mark.parametrize("fallbacks", [[], ["zeta/std"]])
def test_an_agent_that_says_its_fallbacks_is_not_warned_about(fallbacks: list[str]):
    assert load(with_value({"id": "main", "model": {"primary": "acme/big", "fallbacks": fallbacks}}, "agents", "list", 0)).warnings == ()


def test_a_strict_agent_that_ignores_nothing_is_not_warned_about():
    config = with_value({"id": "main", "model": "acme/big"}, "agents", "list", 0)
    config["agents"]["defaults"]["model"] = "acme/big"
    assert load(config).warnings == ()


def test_a_fallback_of_an_unconfigured_provider_is_kept_with_a_warning():
    loaded = load(with_value(["nope/x", "zeta/std"], "agents", "defaults", "model", "fallbacks"))
    assert loaded.settings.model.fallbacks == (ModelRef("nope", "x"), ModelRef("zeta", "std"))
    (warning,) = loaded.warnings
    assert warning.startswith('agents.defaults.model.fallbacks[0]: provider "nope" is not configured')
    assert "gate.unknown-provider" in warning


def test_a_primary_of_an_unconfigured_provider_is_a_warning_with_a_suggestion():
    loaded = load(with_value("acne/big", "agents", "defaults", "model", "primary"))
    assert loaded.settings.primary == ModelRef("acne", "big")
    assert loaded.warnings[0].startswith("agents.defaults.model.primary: ")
    assert loaded.warnings[0].endswith("did you mean `acme`?")


def test_a_provider_of_the_catalogue_needs_no_entry_in_the_file():
    assert load(with_value(["anthropic/x"], "agents", "defaults", "model", "fallbacks")).warnings == ()


def test_a_model_that_its_provider_does_not_list_is_a_warning():
    (warning,) = load(with_value(["bigg", "small"], "models", "providers", "acme", "models")).warnings
    assert warning == 'agents.defaults.model.primary: acme does not list the model "big"; did you mean `bigg`?'


def test_a_profile_in_a_ref_is_a_warning():
    config = with_value({"acme:k1": {"provider": "acme", "mode": "api_key"}}, "auth", "profiles")
    config["agents"]["defaults"]["model"] = "acme/big@acme:k1"
    loaded = load(config)
    assert loaded.settings.primary == ModelRef("acme", "big@acme:k1")
    assert loaded.warnings[0].startswith("agents.defaults.model: a ref names no profile")


def test_a_profile_of_an_unconfigured_provider_is_a_warning():
    (warning,) = load(with_value({"provider": "nope", "mode": "token"}, "auth", "profiles", "n:1")).warnings
    assert warning.startswith('auth.profiles["n:1"].provider: provider "nope" is not configured')


def test_a_profile_in_the_order_of_another_provider_is_a_warning():
    config = with_value({"provider": "acme", "mode": "token"}, "auth", "profiles", "acme:k1")
    config["auth"]["order"] = {"zeta": ["acme:k1", "zeta:stored"]}
    (warning,) = load(config).warnings
    assert warning.startswith("auth.order.zeta[0]: ")


def test_other_sections_are_ignored_with_one_warning_that_lists_them():
    config = with_value({"telegram": {"botToken": "made-up"}}, "channels") | {"gatway": {}, "$schema": "x"}
    (warning,) = load(config).warnings
    assert warning == "ignored, not a section of this file: channels, gatway (did you mean `gateway`?), $schema"


@pytest.mark.parametrize(
    ("section", "name"),
    [(("acme", "ACME"), "models.providers.ACME"), (("ACME", "acme"), "models.providers.acme")],
)
def test_two_spellings_of_one_provider_are_a_warning_and_the_later_counts(section: tuple[str, str], name: str):
    entries = {key: {"baseUrl": f"http://{key}.test/v1", "api": "openai-completions"} for key in section}
    loaded = load(with_value({**entries, "zeta": {"baseUrl": "http://z.test", "api": "openai-completions"}}, "models", "providers"))
    (warning,) = loaded.warnings
    assert warning.startswith(f'{name}: provider "acme" is there twice')
    assert loaded.settings.providers["acme"].base_url == f"http://{section[1]}.test/v1"


def test_two_spellings_of_a_provider_in_an_order_are_a_warning():
    loaded = load(with_value({"acme": ["a"], "Acme": ["b"]}, "auth", "order"))
    assert loaded.settings.order == {"acme": ("b",)}
    assert loaded.warnings[0].startswith("auth.order.Acme: ")


@pytest.mark.parametrize("name", ["auto", "default", "agent/x"])
def test_a_name_that_means_something_else_already_is_a_warning(name: str):
    assert load(with_value("acme/big", "gateway", "models", name)).warnings[0].startswith("gateway.models")
    assert "never reached" in load(with_value(name, "agents", "defaults", "models", "acme/big", "alias")).warnings[0]


def test_listening_to_everybody_without_a_token_is_said_before_the_start():
    assert load(with_value("0.0.0.0", "gateway", "host")).warnings[0].startswith("gateway.host: ")
    config = with_value("0.0.0.0", "gateway", "host")
    config["gateway"]["token"] = "env:T"
    assert load(config).warnings == ()
