"""Every key of the configuration (spec 1.4): its default, and that a value arrives, zeros included."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import pytest

from engine.config.schema import File, Section, _sections
from engine.domain.ids import AgentId, ModelRef, ProfileId
from engine.domain.settings import (
    AgentSettings,
    ConfiguredProfile,
    ConsoleSettings,
    CooldownSettings,
    GatewaySettings,
    ModelPolicy,
    OAuthSettings,
    ProviderSettings,
    Settings,
    StoreSettings,
)
from tests.config.making import load, with_value

COOLDOWNS = ("auth", "cooldowns")
ACME = ("models", "providers", "acme")

# (path in the file, value there, attribute of Settings, value of it)
KEYS: list[tuple[tuple[str | int, ...], object, str, object]] = [
    (("agents", "defaults", "model"), "acme/solo", "model", ModelPolicy(ModelRef("acme", "solo"))),
    (("agents", "defaults", "model", "primary"), "ACME/Big", "model.primary", ModelRef("acme", "Big")),
    (("agents", "defaults", "model", "fallbacks"), ["zeta/a/b:c@20260105"], "model.fallbacks", (ModelRef("zeta", "a/b:c@20260105"),)),
    (("agents", "defaults", "imageModel"), "acme/eye", "image_model", ModelPolicy(ModelRef("acme", "eye"))),
    (
        ("agents", "defaults", "imageModel"),
        {"primary": "acme/eye", "fallbacks": []},
        "image_model",
        ModelPolicy(ModelRef("acme", "eye"), ()),
    ),
    (("agents", "defaults", "models"), {"acme/big": {}}, "models", (ModelRef("acme", "big"),)),
    (("agents", "defaults", "models"), {"acme/big": {"alias": "b"}}, "aliases", {"b": ModelRef("acme", "big")}),
    (("agents", "defaults", "heartbeat", "model"), "acme/mini", "heartbeat_model", ModelRef("acme", "mini")),
    (("agents", "defaults", "timeoutSeconds"), 1.5, "turn_timeout_ms", 1500),
    (("agents", "list", 0), {"id": "ops"}, "agents", {AgentId("ops"): AgentSettings(AgentId("ops"))}),
    (
        ("agents", "list", 0),
        {"id": "ops", "model": {"fallbacks": ["zeta/std"]}},
        "agents",
        {AgentId("ops"): AgentSettings(AgentId("ops"), ModelPolicy(None, (ModelRef("zeta", "std"),)))},
    ),
    (
        ("auth", "profiles", "acme:me@x.test"),
        {"provider": "ACME", "mode": "oauth", "email": "me@x.test"},
        "profiles",
        {ProfileId("acme:me@x.test"): ConfiguredProfile(ProfileId("acme:me@x.test"), "acme", "oauth", "me@x.test")},
    ),
    (
        ("auth", "profiles", "acme:k1"),
        {"provider": "acme", "mode": "api_key", "keyRef": "env:ACME"},
        "profiles",
        {ProfileId("acme:k1"): ConfiguredProfile(ProfileId("acme:k1"), "acme", "api_key", None, "env:ACME")},
    ),
    (("auth", "order", "ACME"), ["acme:b", "acme:a", "acme:b"], "order", {"acme": ("acme:b", "acme:a")}),
    (("auth", "order", "acme"), [], "order", {"acme": ()}),
    ((*COOLDOWNS, "transientBackoffMinutes"), [1, 5, 25, 60], "cooldowns.transient_backoff_ms", (60_000, 300_000, 1_500_000, 3_600_000)),
    ((*COOLDOWNS, "billingBackoffHours"), 0.5, "cooldowns.billing_backoff_ms", 1_800_000),
    ((*COOLDOWNS, "billingBackoffHoursByProvider"), {"Acme": 1}, "cooldowns.billing_backoff_ms_by_provider", {"acme": 3_600_000}),
    ((*COOLDOWNS, "billingMaxHours"), 6, "cooldowns.billing_max_ms", 21_600_000),
    ((*COOLDOWNS, "authPermanentBackoffMinutes"), 1e-9, "cooldowns.auth_permanent_backoff_ms", 1),
    ((*COOLDOWNS, "authPermanentMaxMinutes"), 2, "cooldowns.auth_permanent_max_ms", 120_000),
    ((*COOLDOWNS, "failureWindowHours"), 1, "cooldowns.failure_window_ms", 3_600_000),
    ((*COOLDOWNS, "overloadedProfileRotations"), 0, "cooldowns.overloaded_profile_rotations", 0),
    ((*COOLDOWNS, "overloadedBackoffMs"), 0, "cooldowns.overloaded_backoff_ms", 0),
    ((*COOLDOWNS, "overloadedBackoffMs"), 250.0, "cooldowns.overloaded_backoff_ms", 250),
    ((*COOLDOWNS, "rateLimitedProfileRotations"), 0, "cooldowns.rate_limited_profile_rotations", 0),
    ((*ACME, "baseUrl"), "https://other.test/v1/", "acme.base_url", "https://other.test/v1"),
    ((*ACME, "api"), "google-generative-ai", "acme.api", "google-generative-ai"),
    ((*ACME, "models"), ["big", {"id": "small"}, "big"], "acme.models", ("big", "small")),
    ((*ACME, "maxRetries"), 0, "acme.max_retries", 0),
    ((*ACME, "maxRetries"), 3, "acme.max_retries", 3),
    ((*ACME, "auth"), "none", "acme.keyless", True),
    ((*ACME, "cooldowns"), False, "acme.cooldowns", False),
    ((*ACME, "connectTimeoutSeconds"), 0.5, "acme.connect_timeout_s", 0.5),
    ((*ACME, "timeoutSeconds"), 30, "acme.timeout_s", 30),
    ((*ACME, "firstByteSeconds"), 31, "acme.first_byte_s", 31),
    ((*ACME, "idleTimeoutSeconds"), 32, "acme.idle_timeout_s", 32),
    (
        (*ACME, "oauth"),
        {"tokenUrl": "https://id.test/t", "clientId": "c", "clientSecretRef": "file:/s", "scopes": ["a"]},
        "acme.oauth",
        OAuthSettings("https://id.test/t", "c", "file:/s", ("a",)),
    ),
    (("gateway", "host"), "::1", "gateway.host", "::1"),
    (("gateway", "port"), 0, "gateway.port", 0),
    (("gateway", "token"), "env:GATEWAY_TOKEN", "gateway.token_ref", "env:GATEWAY_TOKEN"),
    (("gateway", "hosts"), ["box.test"], "gateway.hosts", ("box.test",)),
    (("gateway", "notices"), "inline", "gateway.notices", "inline"),
    (("gateway", "requested"), "strict", "gateway.requested", "strict"),
    (
        ("gateway", "models"),
        {"gpt": "Acme/big", "any": "auto", "m": "agent/main"},
        "gateway.models",
        {"gpt": "acme/big", "any": "auto", "m": "agent/main"},
    ),
    (("gateway", "unknownModel"), "auto", "gateway.unknown_model", "auto"),
    (("gateway", "bodyLimitMb"), 0.5, "gateway.body_limit_mb", 0.5),
    (("gateway", "drainSeconds"), 0, "gateway.drain_seconds", 0),
    (("console", "keys"), {"pin": "P"}, "console.keys", {"pin": "P"}),
    (("console", "theme"), "nord", "console.theme", "nord"),
    (("console", "time"), "utc", "console.time", "utc"),
    (("console", "mouse"), False, "console.mouse", False),
    (("console", "alerts", "bell"), True, "console.alert_bell", True),
    (("console", "alerts", "title"), True, "console.alert_title", True),
    (("console", "alerts", "webhook"), "https://hook.test/x?y=1", "console.alert_webhook", "https://hook.test/x?y=1"),
    (("console", "alerts", "on"), ["everything_down", "long_window"], "console.alert_on", ("everything_down", "long_window")),
    (("store", "retentionDays"), 0.5, "store.retention_days", 0.5),
    (("store", "retentionRows"), 10, "store.retention_rows", 10),
    (("log", "file"), "/tmp/failover.log", "store.log_file", "/tmp/failover.log"),
    (("log", "level"), "debug", "store.log_level", "debug"),
]


@pytest.mark.parametrize(
    ("path", "value", "attribute", "expected"), KEYS, ids=lambda part: ".".join(map(str, part)) if isinstance(part, tuple) else ""
)
def test_a_value_in_the_file_arrives_in_the_settings(path: tuple[str | int, ...], value: object, attribute: str, expected: object):
    settings = load(with_value(value, *path)).settings
    owner: Any = settings.providers["acme"] if attribute.startswith("acme.") else settings
    assert attrgetter(attribute.removeprefix("acme."))(owner) == expected


def test_the_table_above_has_every_key_of_the_schema():
    tested: set[str] = set()

    def note(path: tuple[object, ...], value: object) -> None:
        tested.update(part for part in path if isinstance(part, str))
        for key, inner in value.items() if isinstance(value, dict) else ():
            note((key,), inner)
        for inner in value if isinstance(value, list) else ():
            note((), inner)

    for path, value, *_ in KEYS:
        note(path, value)

    def aliases(kind: type[Section]) -> set[str]:
        own = {str(field.alias) for field in kind.model_fields.values()}
        return own.union(*(aliases(inner) for field in kind.model_fields.values() for inner in _sections(field.annotation)))

    assert aliases(File) - tested == set()


def test_what_is_not_said_is_the_documented_default():
    settings = load().settings
    assert settings == Settings(
        model=ModelPolicy(ModelRef("acme", "big"), (ModelRef("acme", "small"), ModelRef("zeta", "std"))),
        providers={
            "acme": ProviderSettings("acme", "http://acme.test/v1", "openai-completions"),
            "zeta": ProviderSettings("zeta", "http://zeta.test/v1", "anthropic-messages"),
        },
    )


def test_the_defaults_are_those_of_the_specification():
    minute, hour = 60_000, 3_600_000
    assert CooldownSettings() == CooldownSettings(
        (30_000, minute, 5 * minute), 5 * hour, {}, 24 * hour, 10 * minute, 60 * minute, 24 * hour, 1, 0, 1
    )
    assert GatewaySettings() == GatewaySettings("127.0.0.1", 4141, None, (), "headers", "chain", {}, "error", 32, 30)
    assert ConsoleSettings() == ConsoleSettings({}, None, "local", True, False, False, None, ())
    assert StoreSettings() == StoreSettings(30, 1_000_000, None, "info")
    provider = ProviderSettings("x", "y", "z")
    assert (provider.connect_timeout_s, provider.timeout_s, provider.first_byte_s, provider.idle_timeout_s) == (10, 600, 120, 120)
    assert (provider.max_retries, provider.keyless, provider.cooldowns) == (0, False, True)


@pytest.mark.parametrize("provider", ["openrouter", "kilocode", "KiloCode"])
def test_who_balances_keys_itself_is_exempt_from_windows_unless_the_file_says_otherwise(provider: str):
    entry = {"baseUrl": "http://x.test/v1", "api": "openai-completions"}
    assert load(with_value(entry, "models", "providers", provider)).settings.providers[provider.lower()].cooldowns is False
    assert (
        load(with_value(entry | {"cooldowns": True}, "models", "providers", provider)).settings.providers[provider.lower()].cooldowns
        is True
    )


def test_profiles_keep_the_order_of_the_file():
    ids = ["acme:z", "acme:a", "acme:m"]
    config = with_value({key: {"provider": "acme", "mode": "token"} for key in ids}, "auth", "profiles")
    assert list(load(config).settings.profiles) == ids


def test_the_generation_is_the_callers():
    from engine.config.load import load_settings

    assert load_settings(with_value("acme/big", "agents", "defaults", "model"), env={}, generation=7).settings.generation == 7
