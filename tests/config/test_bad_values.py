"""A bad value is an error that begins with its path, suggests what was meant, and never repeats a secret."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.load import find_problems
from tests.config.making import BASE, PLACES, anything, problems, with_value

COOLDOWNS = ("auth", "cooldowns")
ACME = ("models", "providers", "acme")
SECRET = "sk-made-up-0123456789"

NUMBERS = [
    *((*COOLDOWNS, key) for key in ("billingBackoffHours", "billingMaxHours", "failureWindowHours")),
    *((*COOLDOWNS, key) for key in ("authPermanentBackoffMinutes", "authPermanentMaxMinutes")),
    (*COOLDOWNS, "billingBackoffHoursByProvider", "acme"),
    *((*ACME, key) for key in ("connectTimeoutSeconds", "timeoutSeconds", "firstByteSeconds", "idleTimeoutSeconds")),
    ("agents", "defaults", "timeoutSeconds"),
    ("gateway", "bodyLimitMb"),
    ("store", "retentionDays"),
]
WHOLE = [
    *((*COOLDOWNS, key) for key in ("overloadedProfileRotations", "overloadedBackoffMs", "rateLimitedProfileRotations")),
    (*ACME, "maxRetries"),
    ("gateway", "port"),
]


def dotted(path: tuple[str, ...]) -> str:
    return ".".join(path)


@pytest.mark.parametrize("value", [0, -1, True, False, "5", None, math.nan, math.inf, -math.inf, 10**400, [], {}, 1e300])
@pytest.mark.parametrize("path", NUMBERS, ids=dotted)
def test_a_span_is_a_finite_number_greater_than_zero(path: tuple[str, ...], value: object):
    (problem,) = problems(with_value(value, *path))
    assert problem.startswith(dotted(path) + ": ")


@pytest.mark.parametrize("value", [-1, 1.5, True, "1", None, math.nan, math.inf, 10**30])
@pytest.mark.parametrize("path", WHOLE, ids=dotted)
def test_a_count_is_a_whole_number_from_zero(path: tuple[str, ...], value: object):
    (problem,) = problems(with_value(value, *path))
    assert problem.startswith(dotted(path) + ": ")


@pytest.mark.parametrize(
    ("value", "path", "text"),
    [
        ([], (*COOLDOWNS, "transientBackoffMinutes"), "auth.cooldowns.transientBackoffMinutes: must not be empty"),
        ([1, 0], (*COOLDOWNS, "transientBackoffMinutes"), "auth.cooldowns.transientBackoffMinutes[1]: must be greater than 0, not 0"),
        (5, (*COOLDOWNS, "transientBackoffMinutes"), "auth.cooldowns.transientBackoffMinutes: must be a list, not 5"),
        (70_000, ("gateway", "port"), "gateway.port: must be at most 65535"),
        (-1, ("gateway", "drainSeconds"), "gateway.drainSeconds: must be at least 0, not -1"),
        (0, ("store", "retentionRows"), "store.retentionRows: must be greater than 0, not 0"),
        ("UTC", ("console", "time"), "console.time: must be local or utc; did you mean `utc`?"),
        ("header", ("gateway", "notices"), "gateway.notices: must be headers or inline; did you mean `headers`?"),
        ("verbose", ("log", "level"), "log.level: must be debug, info, warning or error"),
        ("yes", (*ACME, "cooldowns"), "models.providers.acme.cooldowns: must be true or false, not a string"),
        ("key", (*ACME, "auth"), "models.providers.acme.auth: must be none"),
        ("openai-completion", (*ACME, "api"), "models.providers.acme.api: must be openai-completions, openai-responses, "),
        (3, ("agents", "defaults", "model"), "agents.defaults.model: must be a ref (`provider/model`) or an object"),
        (["acme/big"], ("agents", "defaults", "model"), "agents.defaults.model: must be a ref (`provider/model`) or an object"),
        ("acme/big", ("agents", "defaults", "model", "fallbacks"), "agents.defaults.model.fallbacks: must be a list, not a string"),
        (None, ("agents", "defaults", "model", "fallbacks"), "agents.defaults.model.fallbacks: null is no value here"),
        (None, ("agents", "defaults", "models", "acme/big"), 'agents.defaults.models["acme/big"]: null is no value here'),
        ([1], ("agents", "defaults", "model", "fallbacks"), "agents.defaults.model.fallbacks[0]: must be a string, not 1"),
        ("", ("agents", "defaults", "heartbeat", "model"), "agents.defaults.heartbeat.model: must not be empty"),
        ([3], (*ACME, "models"), "models.providers.acme.models[0]: must be a model id"),
        ([{}], (*ACME, "models"), "models.providers.acme.models[0].id: required"),
        ({"mode": "token"}, ("auth", "profiles", "acme:k1"), 'auth.profiles["acme:k1"].provider: required'),
        ({"provider": "acme"}, ("auth", "profiles", "acme:k1"), 'auth.profiles["acme:k1"].mode: required'),
        (
            {"provider": "acme", "mode": "apikey"},
            ("auth", "profiles", "x"),
            "auth.profiles.x.mode: must be api_key, oauth or token; did you mean `api_key`?",
        ),
        ("acme:k1", ("auth", "order", "acme"), "auth.order.acme: must be a list, not a string"),
        ({"clientId": "x"}, (*ACME, "oauth"), "models.providers.acme.oauth.tokenUrl: required"),
        (["soon"], ("console", "alerts", "on"), "console.alerts.on[0]: must be everything_down, "),
        ({"model": "acme/big"}, ("agents", "list", 0), "agents.list[0].id: required"),
        ({"id": "../../etc"}, ("agents", "list", 0), "agents.list[0].id: may have letters, digits"),
        ({"id": ".."}, ("agents", "list", 0), "agents.list[0].id: may have letters, digits"),
        ({"id": "a", "model": {}}, ("agents", "list", 0), "agents.list[0].model: names neither a primary nor fallbacks"),
        ("agent/nobody", ("gateway", "models", "x"), 'gateway.models.x: there is no agent "nobody"'),
        ("std", ("gateway", "models", "x"), 'gateway.models.x: "std" has no provider; did you mean `zeta/std`?'),
        ([], ("agents",), "agents: must be an object, not a list"),
        (
            {"baseUrl": "http://x.test", "api": "openai-responses"},
            ("models", "providers", "a/b"),
            'models.providers["a/b"]: a provider id has no `/`',
        ),
    ],
)
def test_the_error_says_where_and_why(value: object, path: tuple[str | int, ...], text: str):
    found = problems(with_value(value, *path))
    assert len(found) == 1
    assert found[0].startswith(text)


@pytest.mark.parametrize("config", [[], "[]", "3", "null", '"x"'])
def test_a_file_that_is_no_object_is_refused(config: object):
    assert problems(config) == ("the file: must be an object with sections such as agents, auth and models",)


@pytest.mark.parametrize(
    "config", [{}, {"agents": {}}, {"agents": {"defaults": {}}}, {"agents": {"defaults": {"model": {"fallbacks": ["acme/x"]}}}}]
)
def test_the_primary_is_required(config: dict[str, object]):
    assert problems(config) == ("agents.defaults.model.primary: required: the model that a turn starts from",)


def test_an_image_model_needs_its_primary():
    assert problems(with_value({"fallbacks": []}, "agents", "defaults", "imageModel"))[0].startswith(
        "agents.defaults.imageModel.primary: required"
    )


def test_all_errors_are_shown_at_once():
    config = with_value("big", "agents", "defaults", "model", "primary")
    config["agents"]["list"] = [{"id": "a", "model": "small"}, {"id": "A"}]
    config["models"]["providers"]["typo"] = {}
    assert [problem.partition(":")[0] for problem in problems(config)] == [
        "agents.list[1].id",
        "models.providers.typo.baseUrl",
        "models.providers.typo.api",
        "agents.defaults.model.primary",
        "agents.list[0].model",
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((*COOLDOWNS, "billingBackofHours"), "auth.cooldowns.billingBackofHours: unknown key; did you mean `billingBackoffHours`?"),
        (("agents", "defaults", "model", "fallback"), "agents.defaults.model.fallback: unknown key; did you mean `fallbacks`?"),
        (
            ("agents", "defaults", "models", "acme/big", "allias"),
            'agents.defaults.models["acme/big"].allias: unknown key; did you mean `alias`?',
        ),
        ((*ACME, "BaseURL"), "models.providers.acme.BaseURL: unknown key; did you mean `baseUrl`?"),
        (("gateway", "prot"), "gateway.prot: unknown key; did you mean `port`?"),
        (("console", "alerts", "belle"), "console.alerts.belle: unknown key; did you mean `bell`?"),
        (("store", "days"), "store.days: unknown key; known here: retentionDays, retentionRows"),
        (("agents", "lst"), "agents.lst: unknown key; did you mean `list`?"),
    ],
)
def test_an_unknown_key_is_an_error_with_a_suggestion(path: tuple[str, ...], text: str):
    assert problems(with_value(1, *path)) == (text,)


def test_an_unknown_key_of_an_agent_is_an_error():
    assert problems(with_value({"id": "ops", "modle": "acme/big"}, "agents", "list", 0)) == (
        "agents.list[0].modle: unknown key; did you mean `model`?",
    )


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"provider": "acme", "mode": "api_key", "key": SECRET}, ("auth", "profiles", "acme:k1")),
        ({"provider": "acme", "mode": "api_key", "keyRef": SECRET}, ("auth", "profiles", "acme:k1")),
        ({"provider": "acme", "mode": "api_key", "keyRef": f"env:{SECRET}"}, ("auth", "profiles", "acme:k1")),
        ({"provider": "acme", "mode": "token", "token": SECRET}, ("auth", "profiles", "acme:k1")),
        ({"provider": "acme", "mode": "oauth", "refresh": SECRET}, ("auth", "profiles", "acme:k1")),
        (SECRET, (*ACME, "apiKey")),
        (SECRET, (*ACME, "api_key")),
        (f"https://me:{SECRET}@acme.test/v1", (*ACME, "baseUrl")),
        (f"https://{SECRET}@acme.test/v1", (*ACME, "baseUrl")),
        ({"tokenUrl": "https://id.test", "clientId": "c", "clientSecretRef": SECRET}, (*ACME, "oauth")),
        ({"tokenUrl": "https://id.test", "clientId": "c", "clientSecret": SECRET}, (*ACME, "oauth")),
        (SECRET, ("gateway", "token")),
    ],
)
def test_a_literal_secret_is_refused_with_the_reason_and_not_repeated(value: object, path: tuple[str, ...]):
    (problem,) = problems(with_value(value, *path))
    assert "a secret does not belong in this file" in problem
    assert "env:NAME" in problem
    assert SECRET not in problem


@pytest.mark.parametrize(
    "url",
    [
        "acme.test/v1",
        "ftp://acme.test",
        "http://",
        "http:///v1",
        "http://a b/",
        "http://acme.test:port/",
        "http://[::1/",
        "http://x/?k=1",
        "http://x/#a",
        7,
    ],
)
def test_a_base_url_is_an_http_address(url: object):
    (problem,) = problems(with_value(url, *ACME, "baseUrl"))
    assert problem.startswith("models.providers.acme.baseUrl: must be ")


def test_a_provider_that_the_catalogue_does_not_know_needs_address_and_api():
    assert problems(with_value({}, "models", "providers", "antropic")) == (
        'models.providers.antropic.baseUrl: required; the catalogue does not know "antropic"; did you mean `anthropic`?',
        'models.providers.antropic.api: required; the catalogue does not know "antropic"; did you mean `anthropic`?',
    )


def test_foreign_text_in_an_error_stays_on_its_line():
    (problem,) = problems(with_value(1, "agents", "a\x1b[31m\n\u202e\u2028"))
    assert problem.isprintable()


@given(value=anything, place=st.sampled_from(PLACES))
def test_no_data_whatever_ends_the_loader(value: object, place: tuple[str, ...]):
    find_problems(with_value(value, *place), {})
    find_problems({**BASE, "auth": value}, {})
