"""From the file's shape to `Settings`: aliases resolved, ids lower-cased, milliseconds, and every check that needs two places of the file.

Errors are collected, not raised, so that one run shows them all. Warnings about a valid file are in `advice`. No environment but
the two variables that change the rules, no file and no secret is read here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from engine.config import schema
from engine.config.environment import EnvironmentSettings
from engine.config.problems import Loc, Problem, did_you_mean, quoted
from engine.config.providers import build_providers, there_twice
from engine.config.refs import Refs
from engine.config.values import given
from engine.domain.ids import MAIN_AGENT, AgentId, ModelRef, ProfileId
from engine.domain.settings import (
    HOUR_MS,
    MINUTE_MS,
    AgentSettings,
    ConfiguredProfile,
    ConsoleSettings,
    CooldownSettings,
    GatewaySettings,
    ModelPolicy,
    Settings,
    StoreSettings,
)

T = TypeVar("T")
PRIMARY: Loc = ("agents", "defaults", "model", "primary")


def build(
    file: schema.File,
    environment: EnvironmentSettings,
    env: Mapping[str, str],
    generation: int,
    problems: list[Problem],
    doubts: list[Problem],
) -> tuple[Settings, Refs]:
    """The settings, and every ref with the place where it was read. Errors are added to `problems`, warnings to `doubts`; the
    settings are to be used only if `problems` stayed empty."""
    agents, auth, models = file.agents or schema.Agents(), file.auth or schema.Auth(), file.models or schema.Models()
    defaults = agents.defaults or schema.AgentDefaults()
    refs = Refs(defaults.models, problems)
    where: Loc = ("agents", "defaults")

    model = refs.policy(defaults.model, (*where, "model"))
    if defaults.model is None or (isinstance(defaults.model, schema.ModelObject) and defaults.model.primary is None):
        problems.append(Problem(PRIMARY, "required: the model that a turn starts from"))
    image = refs.policy(defaults.image_model, (*where, "imageModel"))
    if isinstance(defaults.image_model, schema.ModelObject) and defaults.image_model.primary is None:
        problems.append(Problem((*where, "imageModel", "primary"), "required: the model that an image turn starts from"))
    heartbeat = defaults.heartbeat and defaults.heartbeat.model
    heartbeat_model = refs.read(heartbeat, (*where, "heartbeat", "model")) if heartbeat else None
    own = _agents(agents.entries, refs, problems)
    gateway = _gateway(file.gateway or schema.Gateway(), own, refs, problems)

    profiles = {
        ProfileId(key): ConfiguredProfile(ProfileId(key), said.provider.lower(), said.mode, said.email, said.key_ref)
        for key, said in auth.profiles.items()
    }
    order = {
        provider: tuple(ProfileId(key) for key in dict.fromkeys(keys))
        for provider, keys in _by_provider(auth.order, ("auth", "order"), doubts)
    }
    with_profile = frozenset(profile.provider for profile in profiles.values())
    named = dict.fromkeys([*(ref.provider for _, ref in refs.seen), *(profile.provider for profile in profiles.values()), *order])
    providers = build_providers(models.providers, named, with_profile, env, problems, doubts)
    refs.report_bare(ModelRef(name, served) for name, provider in providers.items() for served in provider.models)
    settings = Settings(
        model=model or ModelPolicy(None),
        generation=generation,
        image_model=image,
        models=tuple(refs.allowed),
        aliases=refs.aliases,
        heartbeat_model=heartbeat_model,
        agents=own,
        profiles=profiles,
        order=order,
        cooldowns=_cooldowns(auth.cooldowns or schema.Cooldowns(), doubts),
        providers=providers,
        turn_timeout_ms=_ms(defaults.timeout_seconds, 1000),
        skip_ttl_ms=environment.skip_ttl_ms,
        retry_max_wait_ms=environment.retry_max_wait_ms,
        gateway=gateway,
        console=_console(file.console or schema.Console()),
        store=_store(file.store or schema.Store(), file.log or schema.Log()),
    )
    return settings, refs


def _by_provider(said: Mapping[str, T], loc: Loc, doubts: list[Problem]) -> Iterator[tuple[str, T]]:
    taken: set[str] = set()
    for key, value in said.items():
        if key.lower() in taken:
            doubts.append(there_twice((*loc, key), key.lower()))
        taken.add(key.lower())
        yield key.lower(), value


def _agents(said: list[schema.Agent], refs: Refs, problems: list[Problem]) -> dict[AgentId, AgentSettings]:
    built: dict[AgentId, AgentSettings] = {}
    taken: set[str] = set()
    for place, agent in enumerate(said):
        loc: Loc = ("agents", "list", place)
        # An agent has a folder of its own, and not every file system tells `Ops` from `ops`.
        if agent.id.casefold() in taken:
            problems.append(Problem((*loc, "id"), f"agent {quoted(agent.id)} is there twice (letter case does not count)"))
        taken.add(agent.id.casefold())
        model = refs.policy(agent.model, (*loc, "model"))
        if isinstance(agent.model, schema.ModelObject) and agent.model.primary is None and agent.model.fallbacks is None:
            problems.append(Problem((*loc, "model"), "names neither a primary nor fallbacks; leave it out to inherit both"))
        built[AgentId(agent.id)] = AgentSettings(AgentId(agent.id), model)
    return built


def _gateway(said: schema.Gateway, agents: Mapping[AgentId, AgentSettings], refs: Refs, problems: list[Problem]) -> GatewaySettings:
    default = GatewaySettings()
    names: dict[str, str] = {}
    for name, target in said.models.items():
        loc: Loc = ("gateway", "models", name)
        if target == "auto":
            names[name] = target
        elif target.startswith("agent/"):
            agent = target.removeprefix("agent/")
            if agent != MAIN_AGENT and agent not in agents:
                problems.append(Problem(loc, f"there is no agent {quoted(agent)}{did_you_mean(agent, agents)}"))
            names[name] = target
        elif ref := refs.read(target, loc):
            names[name] = str(ref)
    return GatewaySettings(
        host=given(said.host, default.host),
        port=given(said.port, default.port),
        token_ref=said.token,
        hosts=tuple(said.hosts),
        notices=given(said.notices, default.notices),
        requested=given(said.requested, default.requested),
        models=names,
        unknown_model=given(said.unknown_model, default.unknown_model),
        body_limit_mb=given(said.body_limit_mb, default.body_limit_mb),
        drain_seconds=given(said.drain_seconds, default.drain_seconds),
    )


def _cooldowns(said: schema.Cooldowns, doubts: list[Problem]) -> CooldownSettings:
    default = CooldownSettings()
    ladder = said.transient_backoff_minutes
    by_provider = _by_provider(said.billing_backoff_hours_by_provider, ("auth", "cooldowns", "billingBackoffHoursByProvider"), doubts)
    return CooldownSettings(
        transient_backoff_ms=tuple(_span(minutes, MINUTE_MS) for minutes in ladder) if ladder else default.transient_backoff_ms,
        billing_backoff_ms=given(_ms(said.billing_backoff_hours, HOUR_MS), default.billing_backoff_ms),
        billing_backoff_ms_by_provider={provider: _span(hours, HOUR_MS) for provider, hours in by_provider},
        billing_max_ms=given(_ms(said.billing_max_hours, HOUR_MS), default.billing_max_ms),
        auth_permanent_backoff_ms=given(_ms(said.auth_permanent_backoff_minutes, MINUTE_MS), default.auth_permanent_backoff_ms),
        auth_permanent_max_ms=given(_ms(said.auth_permanent_max_minutes, MINUTE_MS), default.auth_permanent_max_ms),
        failure_window_ms=given(_ms(said.failure_window_hours, HOUR_MS), default.failure_window_ms),
        overloaded_profile_rotations=given(said.overloaded_profile_rotations, default.overloaded_profile_rotations),
        overloaded_backoff_ms=given(said.overloaded_backoff_ms, default.overloaded_backoff_ms),
        rate_limited_profile_rotations=given(said.rate_limited_profile_rotations, default.rate_limited_profile_rotations),
    )


def _console(said: schema.Console) -> ConsoleSettings:
    default, alerts = ConsoleSettings(), said.alerts or schema.Alerts()
    return ConsoleSettings(
        keys=said.keys,
        theme=said.theme,
        time=given(said.time, default.time),
        mouse=given(said.mouse, default.mouse),
        alert_bell=alerts.bell,
        alert_title=alerts.title,
        alert_webhook=alerts.webhook,
        alert_on=tuple(alerts.on),
    )


def _store(store: schema.Store, log: schema.Log) -> StoreSettings:
    default = StoreSettings()
    return StoreSettings(
        retention_days=given(store.retention_days, default.retention_days),
        retention_rows=given(store.retention_rows, default.retention_rows),
        log_file=log.file,
        log_level=given(log.level, default.log_level),
    )


def _ms(value: float | None, unit_ms: int) -> int | None:
    return None if value is None else _span(value, unit_ms)


def _span(value: float, unit_ms: int) -> int:
    # Greater than zero in the file stays greater than zero here.
    return max(1, round(value * unit_ms))
