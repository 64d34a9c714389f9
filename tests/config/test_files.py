"""Which file is read, what a broken one says, and the start without one."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from engine.config.catalogue import BALANCE_KEYS_THEMSELVES, CATALOGUE
from engine.config.files import MAX_BYTES, find_config, read_config, read_text
from engine.config.load import load_settings
from engine.config.schema import Provider
from engine.domain.errors import ConfigError
from engine.domain.ids import ModelRef, ProfileId
from engine.domain.settings import ConfiguredProfile, ModelPolicy
from tests.config.making import load, problems, with_value

GOOD = '{agents: {defaults: {model: "ollama/x"}}} // a comment'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_file_is_the_given_one_else_the_variable_else_here_else_the_users(here: Path, tmp_path: Path):
    user = Path(platformdirs.user_config_dir("failover", appauthor=False)) / "failover.json5"
    user.parent.mkdir(parents=True)
    places = {name: here / name for name in ("given.json5", "variable.json5", "failover.json5")}
    for path in (*places.values(), user):
        path.write_text(GOOD)
    env = {"FAILOVER_CONFIG": str(places["variable.json5"])}
    assert find_config(places["given.json5"], env) == places["given.json5"]
    assert find_config(None, env) == places["variable.json5"]
    assert find_config(None, {"FAILOVER_CONFIG": ""}) == places["failover.json5"]
    places["failover.json5"].unlink()
    assert find_config(None, {}) == user
    user.unlink()
    assert find_config(None, {}) is None
    assert find_config(None, {}, cwd=tmp_path) is None


@pytest.mark.parametrize(
    ("explicit", "env", "name"), [("no.json5", {}, "--config"), (None, {"FAILOVER_CONFIG": "no.json5"}, "FAILOVER_CONFIG")]
)
def test_a_file_that_was_named_and_is_not_there_is_an_error(here: Path, explicit: str | None, env: dict[str, str], name: str):
    (here / "failover.json5").write_text(GOOD)
    with pytest.raises(ConfigError) as raised:
        find_config(explicit, env)
    assert raised.value.problems == (f"{name}: no.json5 does not exist",)


def test_a_file_is_json5_with_comments_and_a_byte_order_mark(tmp_path: Path):
    path = tmp_path / "c.json5"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert read_config(path, {}, generation=3).settings.generation == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{a: 1,\n b: }", 'line 2, column 5: unexpected "}"'),
        ("{\n  agents: {", "line 2, column 12: unexpected end of input"),
        ('{a: "x\n"}', 'line 1, column 7: unexpected "\\n"'),
        ("{a: 1 b: 2}", 'line 1, column 7: unexpected "b"'),
        ("", "the file: it is empty"),
        (" \n", "the file: it is empty"),
        ("[" * 100_000, "the file: nested too deeply"),
    ],
)
def test_a_syntax_error_says_line_and_column(text: str, problem: str):
    assert problems(text) == (problem,)


def test_a_key_that_is_there_twice_counts_as_its_last():
    assert load_settings('{agents: {defaults: {model: "a/b", model: "ollama/y"}}}', env={}).settings.primary == ModelRef("ollama", "y")


def test_an_invalid_file_is_named_in_the_error(tmp_path: Path):
    path = tmp_path / "c.json5"
    path.write_text("{}")
    with pytest.raises(ConfigError) as raised:
        read_config(path, {})
    assert str(path) in raised.value.title
    assert raised.value.problems == ("agents.defaults.model.primary: required: the model that a turn starts from",)


def test_what_is_no_text_file_is_said_without_a_traceback(tmp_path: Path):
    binary = tmp_path / "binary"
    binary.write_bytes(b"{a\xff\x00}")
    with pytest.raises(ConfigError, match="cannot be read") as raised:
        read_text(binary)
    assert "not UTF-8 at byte 2" in raised.value.problems[0]
    with pytest.raises(ConfigError, match="cannot be read"):
        read_text(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_text(tmp_path / "gone")
    long = tmp_path / "long"
    with long.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_text(long)


def test_without_a_file_the_keys_in_the_environment_become_the_chain_in_catalogue_order():
    env = {"GEMINI_API_KEY": "made-up", "OPENAI_API_KEY": "made-up", "ANTHROPIC_API_KEY": "made-up", "GROQ_API_KEY": " "}
    loaded = read_config(None, env)
    settings = loaded.settings
    names = ("anthropic", "openai", "google")
    refs = tuple(ModelRef(name, str(CATALOGUE[name].default_model)) for name in names)
    assert settings.model == ModelPolicy(refs[0], refs[1:])
    assert settings.profiles == {
        ProfileId(f"{name}:env"): ConfiguredProfile(ProfileId(f"{name}:env"), name, "api_key", None, f"env:{variable}")
        for name, variable in zip(names, ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), strict=True)
    }
    assert tuple(settings.providers) == names
    assert not loaded.warnings
    (note,) = loaded.notes
    assert all(str(ref) in note for ref in refs)
    assert "made-up" not in note


def test_the_second_variable_of_a_provider_counts_where_the_first_is_not_set():
    settings = read_config(None, {"GOOGLE_API_KEY": "made-up"}).settings
    assert settings.profiles[ProfileId("google:env")].key_ref == "env:GOOGLE_API_KEY"


@pytest.mark.parametrize("env", [{}, {"AZURE_OPENAI_API_KEY": "made-up"}, {"OPENAI_API_KEY": ""}])
def test_without_a_file_and_without_a_usable_key_the_error_says_what_to_do(env: dict[str, str]):
    with pytest.raises(ConfigError) as raised:
        read_config(None, env)
    assert raised.value.problems[0].startswith("agents.defaults.model.primary: ")
    assert "failover init" in raised.value.next_step
    assert "ANTHROPIC_API_KEY" in raised.value.next_step


def test_the_catalogue_has_the_providers_of_the_specification_in_order():
    hosted = "anthropic openai google openrouter groq mistral deepseek xai together fireworks cerebras azure-openai"
    assert " ".join(CATALOGUE) == f"{hosted} ollama lmstudio vllm"


@pytest.mark.parametrize("name", CATALOGUE)
def test_an_entry_of_the_catalogue_would_pass_as_configuration(name: str):
    entry = CATALOGUE[name]
    Provider.model_validate({"baseUrl": entry.base_url or "https://mine.test", "api": entry.api})
    assert entry.keyless is not bool(entry.variables)
    assert not (entry.keyless and entry.default_model)


def test_an_empty_entry_takes_everything_from_the_catalogue():
    settings = load(with_value({}, "models", "providers", "openrouter")).settings
    provider = settings.providers["openrouter"]
    assert (provider.base_url, provider.api, provider.cooldowns) == ("https://openrouter.ai/api/v1", "openai-completions", False)
    assert "openrouter" in BALANCE_KEYS_THEMSELVES


def test_an_entry_beats_the_catalogue():
    entry = {"baseUrl": "https://proxy.test/v1", "api": "openai-responses"}
    provider = load(with_value(entry, "models", "providers", "openai")).settings.providers["openai"]
    assert (provider.base_url, provider.api) == ("https://proxy.test/v1", "openai-responses")


def test_only_the_providers_that_the_file_names_are_configured():
    config = with_value(["groq/x"], "agents", "defaults", "model", "fallbacks")
    config["auth"] = {"profiles": {"mistral:1": {"provider": "mistral", "mode": "api_key"}}, "order": {"xai": ["xai:1"]}}
    assert list(load(config).settings.providers) == ["acme", "zeta", "groq", "mistral", "xai"]


def test_a_local_server_needs_no_key_unless_it_has_a_profile():
    config = with_value(["ollama/x"], "agents", "defaults", "model", "fallbacks")
    assert load(config).settings.providers["ollama"].keyless is True
    config["auth"] = {"profiles": {"ollama:1": {"provider": "ollama", "mode": "api_key"}}}
    assert load(config).settings.providers["ollama"].keyless is False


def test_an_azure_address_comes_from_the_file_or_from_its_variable():
    config = with_value({}, "models", "providers", "azure-openai")
    assert problems(config) == ("models.providers.azure-openai.baseUrl: required",)
    settings = load(config, AZURE_OPENAI_ENDPOINT="https://mine.openai.azure.com/").settings
    assert settings.providers["azure-openai"].base_url == "https://mine.openai.azure.com/openai/v1"
    assert problems(config, AZURE_OPENAI_ENDPOINT="mine") == ("models.providers.azure-openai.baseUrl: required",)


def test_loading_reads_no_variable_of_the_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(os.environ, "OPENCLAW_FALLBACK_SKIP_TTL_MS", "60000")
    assert load().settings.skip_ttl_ms is None
