"""Who plays in the demo: providers, profiles, the configuration that the gateway gets, and the sessions that send traffic. Data only;
the names are those that people know, the keys are worth nothing and are never sent further than loopback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.domain.credentials import ApiKey
from engine.domain.ids import ProfileId


@dataclass(frozen=True, slots=True)
class Player:
    """A fake provider. latency_ms: to its first byte, about; pace_ms: between the chunks of a stream."""

    id: str
    models: tuple[str, ...]
    latency_ms: int
    pace_ms: int


@dataclass(frozen=True, slots=True)
class Caller:
    """A session that sends requests. model: what its requests name. every_s: real seconds between two, about.
    headers: the gateway's, beside the session's."""

    session: str
    model: str
    every_s: float
    stream: bool
    headers: Mapping[str, str]


PLAYERS = (
    Player("anthropic", ("claude-opus-4-8", "claude-haiku-4-5"), 320, 35),
    Player("openai", ("gpt-5.5", "gpt-5.5-mini"), 240, 25),
    Player("google", ("gemini-3-pro", "gemini-3-flash"), 180, 20),
)
KEYS: Mapping[ProfileId, str] = {
    ProfileId("anthropic:me"): "demo-4f1c09-first-of-anthropic",
    ProfileId("anthropic:backup"): "demo-77ab3e-second-of-anthropic",
    ProfileId("openai:work"): "demo-c02d95-of-openai",
    ProfileId("google:team"): "demo-9e64f8-of-google",
}
CALLERS = (
    Caller("support-bot", "auto", 0.9, True, {"x-failover-agent": "ops"}),
    Caller("main", "auto", 1.3, False, {}),
    Caller("coder", "auto", 1.6, True, {}),
    Caller("review", "anthropic/claude-opus-4-8", 2.1, False, {}),
    Caller("cron:digest", "anthropic/claude-haiku-4-5", 5.0, False, {"x-failover-kind": "cron"}),
)


def credentials() -> Mapping[ProfileId, ApiKey]:
    """What the demo's store holds, in this order."""
    return {profile: ApiKey(profile.partition(":")[0], key) for profile, key in KEYS.items()}


def config(addresses: Mapping[str, str]) -> dict[str, object]:
    """The configuration file of the demo. addresses: provider -> base URL."""
    return {
        "agents": {
            "defaults": {
                "model": {
                    "primary": "anthropic/claude-opus-4-8",
                    "fallbacks": ["openai/gpt-5.5", "google/gemini-3-pro"],
                },
            },
            "list": [{"id": "ops"}],
        },
        "auth": {"order": {"anthropic": ["anthropic:me", "anthropic:backup"]}},
        "models": {
            "providers": {
                player.id: {
                    "baseUrl": addresses[player.id],
                    "api": "openai-completions",
                    "models": list(player.models),
                    "connectTimeoutSeconds": 2,
                    "firstByteSeconds": 10,
                    "timeoutSeconds": 20,
                }
                for player in PLAYERS
            },
        },
    }


def ask(caller: Caller, number: int) -> tuple[dict[str, object], dict[str, str]]:
    """One request of a caller: body and headers."""
    messages: Sequence[Mapping[str, str]] = [{"role": "user", "content": f"{caller.session}, question {number}"}]
    body = {"model": caller.model, "messages": messages, "stream": caller.stream}
    return body, {"x-failover-session": caller.session, **caller.headers}
