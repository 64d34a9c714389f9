"""The whole configuration as the rules read it: frozen, resolved, in milliseconds. Made by `engine.config` from the file
(spec 1.4); a turn keeps the one it started with (`walk.config-generation`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.domain.ids import AgentId, ModelRef, ProfileId

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


@dataclass(frozen=True, slots=True)
class ModelPolicy:
    """A primary and its fallbacks. fallbacks: None = absent (inherit), () = strict, else exactly that list.
    primary None: an agent's object that names only fallbacks."""

    primary: ModelRef | None
    fallbacks: tuple[ModelRef, ...] | None = None


@dataclass(frozen=True, slots=True)
class CooldownSettings:
    """`auth.cooldowns.*`, in ms where it is a time."""

    transient_backoff_ms: tuple[int, ...] = (30_000, 60_000, 300_000)
    billing_backoff_ms: int = 5 * HOUR_MS
    billing_backoff_ms_by_provider: Mapping[str, int] = field(default_factory=dict)
    billing_max_ms: int = 24 * HOUR_MS
    auth_permanent_backoff_ms: int = 10 * MINUTE_MS
    auth_permanent_max_ms: int = 60 * MINUTE_MS
    failure_window_ms: int = 24 * HOUR_MS
    overloaded_profile_rotations: int = 1
    overloaded_backoff_ms: int = 0
    rate_limited_profile_rotations: int = 1


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """`models.providers.<id>.oauth`. client_secret_ref: a reference (`env:NAME`, ...), never a secret."""

    token_url: str
    client_id: str
    client_secret_ref: str | None = None
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """`models.providers.<id>`. keyless: `auth: "none"`. cooldowns False: exempt from every window. Times in seconds."""

    id: str
    base_url: str
    api: str
    models: tuple[str, ...] = ()
    max_retries: int = 0
    keyless: bool = False
    cooldowns: bool = True
    connect_timeout_s: float = 10.0
    timeout_s: float = 600.0
    first_byte_s: float = 120.0
    idle_timeout_s: float = 120.0
    oauth: OAuthSettings | None = None


@dataclass(frozen=True, slots=True)
class ConfiguredProfile:
    """`auth.profiles[id]`: metadata only. mode: `api_key`, `oauth` or `token`. key_ref makes it count as stored."""

    id: ProfileId
    provider: str
    mode: str
    email: str | None = None
    key_ref: str | None = None


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """`agents.list[]`. model None: the agent inherits the defaults whole."""

    id: AgentId
    model: ModelPolicy | None = None


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """`gateway.*`. token_ref: a reference. models: a name an application may use -> a ref, `auto` or `agent/<id>`."""

    host: str = "127.0.0.1"
    port: int = 4141
    token_ref: str | None = None
    hosts: tuple[str, ...] = ()
    notices: str = "headers"
    requested: str = "chain"
    models: Mapping[str, str] = field(default_factory=dict)
    unknown_model: str = "error"
    body_limit_mb: float = 32
    drain_seconds: float = 30


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """`console.*`. keys: action id -> key. alerts all off unless configured."""

    keys: Mapping[str, str] = field(default_factory=dict)
    theme: str | None = None
    time: str = "local"
    mouse: bool = True
    alert_bell: bool = False
    alert_title: bool = False
    alert_webhook: str | None = None
    alert_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """`store.*` and `log.*`."""

    retention_days: float = 30
    retention_rows: int = 1_000_000
    log_file: str | None = None
    log_level: str = "info"


@dataclass(frozen=True, slots=True)
class Settings:
    """One generation of the configuration.

    model: `agents.defaults.model` (its primary is never None). models: the allow-list (empty: everything is allowed).
    aliases: alias -> ref, matched whole and exactly. order: `auth.order`. turn_timeout_ms: `agents.defaults.timeoutSeconds`.
    skip_ttl_ms: section 10, None = off. retry_max_wait_ms: `attempt.retry-after`, None = no cap.
    """

    model: ModelPolicy
    generation: int = 1
    image_model: ModelPolicy | None = None
    models: tuple[ModelRef, ...] = ()
    aliases: Mapping[str, ModelRef] = field(default_factory=dict)
    heartbeat_model: ModelRef | None = None
    agents: Mapping[AgentId, AgentSettings] = field(default_factory=dict)
    profiles: Mapping[ProfileId, ConfiguredProfile] = field(default_factory=dict)
    order: Mapping[str, tuple[ProfileId, ...]] = field(default_factory=dict)
    cooldowns: CooldownSettings = CooldownSettings()
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict)
    turn_timeout_ms: int | None = None
    skip_ttl_ms: int | None = None
    retry_max_wait_ms: int | None = 60_000
    gateway: GatewaySettings = GatewaySettings()
    console: ConsoleSettings = ConsoleSettings()
    store: StoreSettings = StoreSettings()

    @property
    def primary(self) -> ModelRef:
        """The configured default primary."""
        assert self.model.primary is not None
        return self.model.primary
