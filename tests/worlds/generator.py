"""A seeded generator of worlds: configurations, answers, clock moves and operator acts, in bulk. Same seed, same world."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from engine.domain.failure import Failure
from engine.domain.ids import ModelRef, ProfileId
from engine.simulation.script import Reply, Script

SESSIONS = ("s0", "s1", "s2", "s3")
MODELS = ("acme/big", "acme/small", "zeta/std", "zeta/mini", "kilo/std", "openrouter/x", "nowhere/x")
PROFILES = ("acme:k1", "acme:k2", "acme:o1", "zeta:k1", "zeta:k2", "openrouter:k1")

FAILURES: tuple[Failure, ...] = (
    Failure(status=429, body='{"error": {"message": "slow down, rate limit reached"}}'),
    Failure(status=429, body='{"error": {"message": "rate limit"}}', headers={"retry-after": "90"}),
    Failure(status=429, body='{"error": {"type": "usage_limit_reached", "message": "limit", "resets_in_seconds": 7200}}'),
    Failure(status=529, body='{"error": {"message": "overloaded"}}'),
    Failure(status=503, body='{"error": {"message": "bad gateway upstream"}}'),
    Failure(status=401, body='{"error": {"message": "invalid api key"}}'),
    Failure(status=401, body='{"error": {"message": "This API key has been revoked"}}'),
    Failure(status=401, body='{"error": {"message": "token expired"}}'),
    Failure(status=402, body='{"error": {"message": "insufficient credits, please top up"}}'),
    Failure(status=404, body='{"error": {"message": "model not found"}}'),
    Failure(status=400, body='{"error": {"message": "invalid request: unexpected tool_use_id"}}'),
    Failure(status=400, body='{"error": {"message": "prompt is too long"}}'),
    Failure(error_type="TimeoutError"),
    Failure(error_type="ConnectError", connected=False),
    Failure(error_type="RuntimeError", message="out of cheese"),
)


BUSY = FAILURES[:5]
"""Windows that are probed are where turns meet: more of them than of the others."""


class RandomScript(Script):
    """Answers by moods: each pair has one for a while, so that outages, bursts and recoveries happen. `calls` counts every answer given."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__({})
        self._rng = rng
        self._moods: dict[tuple[ModelRef, ProfileId | None], tuple[float, Failure]] = {}
        self.calls: Counter[ModelRef] = Counter()

    def next(self, ref: ModelRef, profile: ProfileId | None) -> Reply:
        self.calls[ref] += 1
        rng = self._rng
        key = (ref, profile)
        if key not in self._moods or rng.random() < 0.15:
            self._moods[key] = (rng.choice((0.0, 0.0, 0.2, 0.6, 1.0)), rng.choice(FAILURES if rng.random() < 0.6 else BUSY))
        share, failure = self._moods[key]
        after = rng.choice((0, 0, 0, 400, 2_000, 40_000))
        if rng.random() < share:
            return Reply(after, failure)
        return Reply(after, empty=rng.random() < 0.03, drops=rng.random() < 0.03)

    def next_refresh(self, profile: ProfileId) -> Reply | None:
        rng = self._rng
        if rng.random() < 0.7:
            return None
        return Reply(rng.choice((0, 500)), Failure(status=400, body='{"error": "invalid_grant"}'))


def config(rng: random.Random) -> dict[str, Any]:
    """A random but valid configuration over the fixed providers."""
    order = {"acme": rng.sample(["acme:k1", "acme:k2", "acme:o1"], rng.randint(1, 3))} if rng.random() < 0.4 else {}
    defaults: dict[str, Any] = {"model": {"primary": rng.choice(MODELS[:6]), "fallbacks": rng.sample(MODELS, rng.randint(0, 4))}}
    if rng.random() < 0.3:
        defaults["heartbeat"] = {"model": rng.choice(MODELS[:6])}
    if rng.random() < 0.2:
        defaults["timeoutSeconds"] = rng.choice((5, 60, 300))
    agents = [
        {"id": "strict", "model": rng.choice(MODELS[:6])},
        {"id": "listed", "model": {"primary": rng.choice(MODELS[:6]), "fallbacks": rng.sample(MODELS[:6], 2)}},
    ]
    cooldowns = {
        "rateLimitedProfileRotations": rng.choice((0, 1, 2)),
        "overloadedProfileRotations": rng.choice((0, 1)),
        "overloadedBackoffMs": rng.choice((0, 700)),
    }
    api = {"api": "openai-completions"}
    if rng.random() < 0.2:
        defaults["imageModel"] = {"primary": rng.choice(MODELS[:6]), "fallbacks": rng.sample(MODELS[:6], rng.randint(0, 2))}
    providers = {
        "acme": {"baseUrl": "http://acme.test/v1", "maxRetries": rng.choice((0, 0, 1)), **api},
        "zeta": {"baseUrl": "http://zeta.test/v1", **api},
        "kilo": {"baseUrl": "http://kilo.test/v1", "auth": "none", **api},
        "openrouter": {"baseUrl": "http://or.test/v1", **api},
    }
    return {
        "agents": {"defaults": defaults, "list": agents},
        "auth": {"order": order, "cooldowns": cooldowns},
        "models": {"providers": providers},
    }


def env(rng: random.Random) -> dict[str, str]:
    return {"OPENCLAW_FALLBACK_SKIP_TTL_MS": rng.choice(("1000", "60000", "600000"))} if rng.random() < 0.4 else {}


def profiles(rng: random.Random, now: int) -> dict[str, Any]:
    """Stored credentials; some login is expired, some missing."""
    kept = [p for p in PROFILES if rng.random() < 0.85] or ["acme:k1"]
    made: dict[str, Any] = {}
    for name in kept:
        provider = name.partition(":")[0]
        if name == "acme:o1":
            expires = now + rng.choice((-1_000, 60_000, 3_600_000))
            made[name] = {
                "type": "oauth",
                "provider": provider,
                "access": "made-up",
                "refresh": rng.choice(("", "made-up")),
                "expires": expires,
            }
        else:
            made[name] = {"type": "api_key", "provider": provider, "key": f"made-up-{name}"}
    return made


def turn(rng: random.Random) -> dict[str, Any]:
    spec: dict[str, Any] = {"session": rng.choice(SESSIONS)}
    roll = rng.random()
    if roll < 0.08:
        spec["kind"] = "heartbeat"
    elif roll < 0.16:
        spec["kind"] = "cron"
        spec["payload"] = rng.choice(({}, {"model": rng.choice(MODELS[:6])}, {"fallbacks": rng.sample(MODELS[:6], 1)}))
    elif roll < 0.22:
        spec["model"] = rng.choice(MODELS[:6])
    elif roll < 0.30:
        spec["requested"] = rng.choice(MODELS[:6])
    elif roll < 0.36:
        spec["fallbacks"] = rng.sample(MODELS[:6], rng.randint(0, 2))
    if rng.random() < 0.1:
        spec["agent"] = rng.choice(("strict", "listed"))
    if rng.random() < 0.05:
        spec["budget_s"] = rng.choice((1, 30))
    if rng.random() < 0.03:
        spec["side_effect_only"] = True
    if rng.random() < 0.04:
        spec["image"] = True
    return spec


def act(rng: random.Random) -> dict[str, Any]:
    session, profile = rng.choice(SESSIONS), rng.choice(PROFILES)
    return rng.choice(
        (
            {"model": {"session": session, "ref": rng.choice((*MODELS, "default", "default", "acme/big@acme:k1"))}},
            {"pin": {"session": session, "profile": profile}},
            {"model": {"session": session, "ref": rng.choice((*MODELS[:6], "default"))}},
            {"unpin": {"session": session}},
            {"reset": {"session": session, "how": rng.choice(("new", "reset", "sessions.reset"))}},
            {"compact": {"session": session}},
            {"probe": {"session": session}},
            {"clear": {"profile": profile}},
            {"off": {"profile": profile}},
            {"on": {"profile": profile}},
            {"on": {"profile": profile}},
            {"off": rng.choice(({"provider": "zeta"}, {"ref": rng.choice(MODELS[:6])}))},
            {"on": {"provider": "zeta"}},
            *({"on": {"ref": ref}} for ref in MODELS[:6]),
        )
    )


def step(rng: random.Random) -> dict[str, Any]:
    roll = rng.random()
    if roll < 0.58:
        return {"turn": turn(rng)}
    if roll < 0.68:
        return {"parallel": [{"turn": turn(rng)} for _ in range(rng.randint(2, 5))]}
    if roll < 0.75:
        inner = [s for s in (act(rng), act(rng)) if "probe" not in s]
        if rng.random() < 0.15:
            inner.append({"restart": {}})
        return {"during": {"turn": turn(rng), "attempt": rng.randint(1, 3), "do": inner}}
    if roll < 0.78:
        return {"cancel": {"turn": turn(rng), "attempt": rng.randint(1, 2)}}
    if roll < 0.92:
        return {"advance_s": rng.choice((1, 5, 11, 15, 20, 31, 35, 61, 301, 3_700, 20_000, 90_000))}
    if roll < 0.98:
        return act(rng)
    if roll < 0.99:
        return {"set_config": config(rng)} if rng.random() < 0.8 else {"wall_clock_s": rng.choice((-7_200, -60, 60, 7_200))}
    return {"restart": {}}
