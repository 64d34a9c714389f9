"""`failover config check` and `failover init`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from console.cli.config import config_group
from console.cli.init import init_command
from console.cli.starter import starter_text
from engine.config.load import load_settings, parse
from engine.config.openclaw import copy_what_applies
from engine.domain.errors import ConfigError, FailoverError
from engine.domain.settings import ConsoleSettings, CooldownSettings, GatewaySettings, StoreSettings
from tests.config.making import PLACES, anything, with_value

cli = click.Group(commands={"config": config_group, "init": init_command})
GOOD = '{agents: {defaults: {model: {primary: "ollama/x", fallbacks: ["nope/y"]}}, list: [{id: "main", model: "ollama/x"}]}}'
KEY = "made-up-0123456789"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, **env: str) -> Result:
    return CliRunner().invoke(cli, arguments, env=env)


def test_a_good_file_is_summed_up_and_its_warnings_are_no_failure(folder: Path):
    (folder / "failover.json5").write_text(GOOD)
    done = run("config", "check")
    assert done.exit_code == 0
    assert 'warning: agents.list[0].model: agent "main"' in done.stdout
    assert 'warning: agents.defaults.model.fallbacks[0]: provider "nope"' in done.stdout
    assert "ok; ollama/x → nope/y; 1 provider, 0 profiles, 1 agent" in done.stdout


def test_a_bad_file_ends_with_status_2_and_all_its_errors(folder: Path):
    (folder / "bad.json5").write_text('{agents: {defaults: {model: {primary: "x", fallbacks: ["y"]}}}}')
    done = run("config", "check", "--config", "bad.json5")
    assert done.exit_code == 2
    assert "error: agents.defaults.model.primary: " in done.stdout
    assert "error: agents.defaults.model.fallbacks[0]: " in done.stdout
    assert "2 errors" in done.stdout
    assert "next: " in done.stderr


def test_a_script_gets_one_object(folder: Path):
    (folder / "failover.json5").write_text(GOOD)
    answer = json.loads(run("config", "check", "--json").stdout)
    assert answer["ok"] is True
    assert answer["problems"] == []
    assert len(answer["warnings"]) == 2
    (folder / "failover.json5").write_text("{")
    done = run("config", "check", "--json")
    assert done.exit_code == 2
    answer = json.loads(done.stdout)
    assert (answer["ok"], answer["problems"]) == (False, ["line 1, column 2: unexpected end of input"])


def test_a_file_that_is_not_there_ends_with_status_2():
    done = run("config", "check", "--config", "no.json5")
    assert done.exit_code == 2
    assert "error: --config: no.json5 does not exist" in done.stdout


def test_without_a_file_the_check_tells_what_the_environment_amounts_to():
    done = run("config", "check", OPENAI_API_KEY=KEY)
    assert done.exit_code == 0
    assert "note: no configuration file: using openai/" in done.stdout
    assert KEY not in done.output


def test_a_reference_that_names_nothing_here_is_a_warning(folder: Path):
    config = {
        "agents": {"defaults": {"model": "ollama/x"}},
        "auth": {"profiles": {"ollama:1": {"provider": "ollama", "mode": "api_key", "keyRef": "env:MADE_UP"}}},
        "gateway": {"token": "file:/nowhere/at/all"},
    }
    (folder / "failover.json5").write_text(json.dumps(config))
    done = run("config", "check")
    assert done.exit_code == 0
    assert 'warning: auth.profiles["ollama:1"].keyRef: env:MADE_UP: the variable is not set' in done.stdout
    assert "warning: gateway.token: file:/nowhere/at/all: No such file or directory" in done.stdout


def test_the_first_file_names_the_variables_and_holds_no_value(folder: Path):
    done = run("init", OPENAI_API_KEY=KEY, GROQ_API_KEY=KEY)
    assert done.exit_code == 0
    assert "wrote failover.json5" in done.stdout
    text = (folder / "failover.json5").read_text()
    assert KEY not in text
    assert "env:OPENAI_API_KEY" in text
    loaded = load_settings(text, env={})
    assert loaded.warnings == ()
    assert list(loaded.settings.profiles) == ["openai:env", "groq:env"]
    assert list(loaded.settings.providers) == ["openai", "groq"]


def test_the_first_file_without_any_key_loads_too():
    assert load_settings(starter_text({}), env={}).warnings == ()


def test_the_settings_in_its_comments_are_the_defaults():
    settings = load_settings(starter_text({}, uncomment=("default",)), env={}).settings
    assert settings == load_settings(starter_text({}), env={}).settings
    assert settings.cooldowns == CooldownSettings()
    assert settings.gateway == GatewaySettings()
    assert settings.console == ConsoleSettings()
    assert settings.store == StoreSettings()
    sections = parse(starter_text({}, uncomment=("default",)))
    assert {"gateway", "console", "store", "log"} <= set(sections)


def test_the_examples_in_its_comments_work_without_a_warning():
    loaded = load_settings(starter_text({}, uncomment=("example", "default")), env={})
    assert loaded.warnings == ()
    assert list(loaded.settings.agents) == ["ops"]
    assert loaded.settings.providers["local"].keyless


def test_a_file_that_is_there_is_replaced_only_by_force(folder: Path):
    (folder / "failover.json5").write_text("mine")
    done = run("init")
    assert isinstance(done.exception, FailoverError)
    assert "already" in str(done.exception)
    assert (folder / "failover.json5").read_text() == "mine"
    assert run("init", "--force").exit_code == 0
    assert "failover-console" in (folder / "failover.json5").read_text()


def test_another_file_may_be_named_by_option_or_variable(folder: Path):
    assert run("init", "--config", "a.json5").exit_code == 0
    assert run("init", FAILOVER_CONFIG=str(folder / "b.json5")).exit_code == 0
    assert (folder / "a.json5").exists()
    assert (folder / "b.json5").exists()
    assert isinstance(run("init", "--config", "no/such/folder/c.json5").exception, FailoverError)


OPENCLAW = """{
  // an OpenClaw file
  gateway: { port: 18789 },
  channels: { telegram: { botToken: "SECRET" } },
  agents: {
    defaults: {
      workspace: "~/w",
      model: { primary: "anthropic/claude-x", fallbacks: ["openai/gpt-x", "bare", "foo/m1"] },
      models: { "anthropic/claude-x": { alias: "opus", params: { a: 1 } } },
    },
    list: [{ id: "main", name: "Main", model: "openai/gpt-x" }, { id: "no good" },
           { id: "strict", model: { primary: "foo/m1", fallbacks: [] } }],
  },
  auth: {
    profiles: {
      "anthropic:me@x.test": { provider: "anthropic", mode: "oauth", email: "me@x.test" },
      "openai:k": { provider: "openai", mode: "api_key", key: "SECRET" },
    },
    order: { anthropic: ["anthropic:me@x.test"] },
    cooldowns: { billingBackoffHours: 7 },
  },
  models: {
    mode: "merge",
    providers: {
      foo: { baseUrl: "http://foo.test/v1", apiKey: "${FOO_KEY}", api: "openai-completions",
             models: [{ id: "m1", name: "M", cost: { input: 0 } }] },
      bar: { baseUrl: "http://bar.test/v1", apiKey: "SECRET", api: "some-other-api" },
    },
  },
}"""


def test_what_applies_of_an_openclaw_file_is_copied_and_the_rest_listed(folder: Path):
    (folder / "openclaw.json").write_text(OPENCLAW)
    done = run("init", "--from", "openclaw.json")
    assert done.exit_code == 0
    text = (folder / "failover.json5").read_text()
    assert "SECRET" not in text + done.output
    settings = load_settings(text, env={}).settings
    assert [str(ref) for ref in (settings.primary, *(settings.model.fallbacks or ()))] == ["anthropic/claude-x", "openai/gpt-x", "foo/m1"]
    assert list(settings.aliases) == ["opus"]
    assert list(settings.agents) == ["main", "strict"]
    assert {str(key): profile.key_ref for key, profile in settings.profiles.items()} == {
        "anthropic:me@x.test": None,
        "openai:k": None,
        "foo:env": "env:FOO_KEY",
    }
    assert settings.cooldowns.billing_backoff_ms == 7 * 3_600_000
    assert settings.providers["foo"].models == ("m1",)
    assert "bar" not in settings.providers
    assert settings.gateway.port == 4141
    for place in (
        "gateway",
        "channels",
        "agents.defaults.workspace",
        "agents.defaults.model.fallbacks[1]",
        'agents.defaults.models["anthropic/claude-x"].params',
        "agents.list[0].name",
        "agents.list[1].id",
        'auth.profiles["openai:k"].key',
        "models.mode",
        "models.providers.bar.apiKey",
        "models.providers.bar",
    ):
        assert f"not copied: {place}: " in done.stdout
        assert f"//   {place}: " in text


@pytest.mark.parametrize(
    "data", [{}, {"agents": 3}, {"agents": {"defaults": {"model": None}}}, {"agents": {"defaults": {"model": {"primary": "bare"}}}}]
)
def test_a_file_without_a_usable_primary_gets_one_and_says_so(data: dict[str, Any]):
    copied = copy_what_applies(data, default_primary="anthropic/x")
    assert str(load_settings(copied.config, env={}).settings.primary) == "anthropic/x"
    assert copied.left[-1].startswith("agents.defaults.model.primary: there was none to copy")


@pytest.mark.parametrize(
    "junk",
    [
        {"models": {"providers": []}},
        {"models": {"providers": {"a": 1, "b": {"models": 1, "apiKey": "$X"}}}, "auth": 1},
        {"auth": {"profiles": []}},
    ],
)
def test_junk_is_left_out(junk: dict[str, Any]):
    load_settings(copy_what_applies(junk, default_primary="anthropic/x").config, env={})


@given(value=anything, place=st.sampled_from(PLACES))
def test_taking_over_ends_whatever_is_in_the_file(value: object, place: tuple[str, ...]):
    copy_what_applies(with_value(value, *place), default_primary="anthropic/x")


def test_a_source_that_cannot_be_read_is_an_error(folder: Path):
    (folder / "x").write_text("{")
    assert isinstance(run("init", "--from", "x").exception, ConfigError)
    assert run("init", "--from", "nowhere").exit_code == 2
    assert not (folder / "failover.json5").exists()
