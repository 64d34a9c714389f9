"""The shape of the configuration file: every key of it, its type and its range, and nothing else (spec 1.4).

Names and ranges only. What needs two places of the file to judge (aliases, known providers, the required primary) is in `build`;
defaults that the rules use are those of `engine.domain.settings`, so that no number stands twice: None here means "not given".
"""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from engine.config.problems import Loc
from engine.config.values import BaseUrl, Reference, Url
from engine.domain.naming import camel

DAY_MS = 86_400_000
TEN_YEARS_S = 10 * 365 * 86_400
"""No span may be longer: what is meant as "never" would else overflow a date."""


def _whole(value: object) -> object:
    # JSON knows one kind of number: 2.0 is a whole one.
    return int(value) if isinstance(value, float) and value.is_integer() else value


Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, BeforeValidator(_whole), Field(ge=0, le=1_000_000)]
Minutes = Annotated[float, Field(gt=0, le=TEN_YEARS_S / 60, allow_inf_nan=False)]
Hours = Annotated[float, Field(gt=0, le=TEN_YEARS_S / 3600, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=TEN_YEARS_S, allow_inf_nan=False)]
Api = Literal["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"]
Alert = Literal["everything_down", "strict_pin", "long_window", "store_alarm"]


class Section(BaseModel):
    """One object of the file. Strict: no string is taken for a number, no unknown key for nothing."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=camel, hide_input_in_errors=True)


class ModelObject(Section):
    primary: Name | None = None
    fallbacks: list[Name] | None = None


def _form(value: object) -> str | None:
    """A model may be written short, as a string, or long, as an object."""
    if isinstance(value, str):
        return "<text>"
    return "<object>" if isinstance(value, dict) else None


ModelChoice = Annotated[
    Annotated[Name, Tag("<text>")] | Annotated[ModelObject, Tag("<object>")],
    Discriminator(
        _form,
        custom_error_type="model_form",
        custom_error_message="must be a ref (`provider/model`) or an object with primary and fallbacks",
    ),
]


class ModelEntry(Section):
    alias: Name | None = None


class Heartbeat(Section):
    model: Name | None = None


class AgentDefaults(Section):
    model: ModelChoice | None = None
    image_model: ModelChoice | None = None
    models: dict[str, ModelEntry] = {}
    heartbeat: Heartbeat | None = None
    timeout_seconds: Seconds | None = None


class Agent(Section):
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    model: ModelChoice | None = None


class Agents(Section):
    defaults: AgentDefaults | None = None
    entries: Annotated[list[Agent], Field(alias="list")] = []


class Profile(Section):
    provider: Name
    mode: Literal["api_key", "oauth", "token"]
    email: Name | None = None
    key_ref: Reference | None = None


class Cooldowns(Section):
    transient_backoff_minutes: Annotated[list[Minutes], Field(min_length=1)] | None = None
    billing_backoff_hours: Hours | None = None
    billing_backoff_hours_by_provider: dict[str, Hours] = {}
    billing_max_hours: Hours | None = None
    auth_permanent_backoff_minutes: Minutes | None = None
    auth_permanent_max_minutes: Minutes | None = None
    failure_window_hours: Hours | None = None
    overloaded_profile_rotations: Count | None = None
    overloaded_backoff_ms: Annotated[int, BeforeValidator(_whole), Field(ge=0, le=DAY_MS)] | None = None
    rate_limited_profile_rotations: Count | None = None


class Auth(Section):
    profiles: dict[Name, Profile] = {}
    order: dict[Name, list[Name]] = {}
    cooldowns: Cooldowns | None = None


class OAuth(Section):
    token_url: Url
    client_id: Name
    client_secret_ref: Reference | None = None
    scopes: list[Name] = []


class ModelId(Section):
    id: Name


ModelIdChoice = Annotated[
    Annotated[Name, Tag("<text>")] | Annotated[ModelId, Tag("<object>")],
    Discriminator(_form, custom_error_type="id_form", custom_error_message="must be a model id, or an object with its id"),
]


class Provider(Section):
    base_url: BaseUrl | None = None
    api: Api | None = None
    models: list[ModelIdChoice] = []
    max_retries: Count | None = None
    auth: Literal["none"] | None = None
    cooldowns: bool | None = None
    connect_timeout_seconds: Seconds | None = None
    timeout_seconds: Seconds | None = None
    first_byte_seconds: Seconds | None = None
    idle_timeout_seconds: Seconds | None = None
    oauth: OAuth | None = None


class Models(Section):
    providers: dict[Name, Provider] = {}


class Gateway(Section):
    host: Name | None = None
    port: Annotated[int, BeforeValidator(_whole), Field(ge=0, le=65_535)] | None = None
    token: Reference | None = None
    hosts: list[Name] = []
    notices: Literal["headers", "inline"] | None = None
    requested: Literal["chain", "strict"] | None = None
    models: dict[Name, Name] = {}
    unknown_model: Literal["error", "auto"] | None = None
    body_limit_mb: Annotated[float, Field(gt=0, le=4096, allow_inf_nan=False)] | None = None
    drain_seconds: Annotated[float, Field(ge=0, le=TEN_YEARS_S, allow_inf_nan=False)] | None = None


class Alerts(Section):
    bell: bool = False
    title: bool = False
    webhook: Url | None = None
    on: list[Alert] = []


class Console(Section):
    keys: dict[Name, Name] = {}
    theme: Name | None = None
    time: Literal["local", "utc"] | None = None
    mouse: bool | None = None
    alerts: Alerts | None = None


class Store(Section):
    retention_days: Annotated[float, Field(gt=0, le=TEN_YEARS_S / 86_400, allow_inf_nan=False)] | None = None
    retention_rows: Annotated[int, BeforeValidator(_whole), Field(gt=0, le=2**53)] | None = None


class Log(Section):
    file: Name | None = None
    level: Literal["debug", "info", "warning", "error"] | None = None


class File(Section):
    """The sections that are ours. Others are taken off before, with a warning."""

    agents: Agents | None = None
    auth: Auth | None = None
    models: Models | None = None
    gateway: Gateway | None = None
    console: Console | None = None
    store: Store | None = None
    log: Log | None = None


SECTIONS = tuple(File.model_fields)
FORM_TAGS = ("<text>", "<object>")
"""Parts of a pydantic location that name a form of a value, not a place of the file."""


def known_keys(loc: Loc) -> tuple[str, ...]:
    """The keys that the object at `loc` may have; nothing if any key may stand there."""
    kinds = _sections(File)
    for part in loc:
        following: list[type[Section]] = []
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, Section):
                by_alias = {field.alias: field for field in kind.model_fields.values()}
                if part in by_alias:
                    following += _sections(by_alias[str(part)].annotation)
        # A key of a map or an index of a list: `_sections` has already looked into the map or list.
        kinds = following or kinds
    return tuple(str(field.alias) for kind in kinds for field in kind.model_fields.values())


@cache
def _flat(annotation: Any) -> tuple[type[Section], ...]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return (annotation,)
    if get_origin(annotation) in (Union, UnionType, Annotated, list, dict):
        return tuple(kind for part in get_args(annotation) for kind in _flat(part))
    return ()


def _sections(annotation: Any) -> list[type[Section]]:
    return list(_flat(annotation))
