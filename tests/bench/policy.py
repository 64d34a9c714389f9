"""CPU of the rules, by hand: `python -m tests.bench.policy`. The budgets stand beside the figures. Nothing is called, nothing is stored:
this is what a decision costs, not what a request does (`tests.bench.gateway`)."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.domain.ids import TurnId
from engine.domain.turns import TurnRequest
from engine.domain.usage import ModelCooldown, UsageStats
from engine.policy.classify import classify
from engine.policy.gate import admit
from engine.policy.preview import preview
from engine.policy.selection import select
from tests.bench.classify import cases
from tests.policy.transcript import MAIN, T0, World

CHAIN = tuple(f"p{n}/m" for n in range(8))
PER_PROVIDER = 10


def crowd(cooling: bool) -> World:
    """Eight candidates of eight providers with ten keys each: all free but the first, or all but one in windows of every kind."""
    names = [f"p{n}" for n in range(8)]
    profiles = tuple(f"{name}:k{k}" for name in names for k in range(PER_PROVIDER))
    usage: dict[str, UsageStats] = {}
    for i, profile in enumerate(profiles):
        usage[profile] = UsageStats(last_used=T0 - i)
        if cooling:
            usage[profile] = UsageStats(
                last_used=T0 - i,
                cooldown_until=T0 + 90_000 + i,
                cooldown_reason="overloaded",
                model_cooldowns={"m": ModelCooldown(T0 + 95_000 + i, "rate_limit", 2)},
                error_count=2,
                last_failure_at=T0 - 10_000,
            )
    world = World(profiles=profiles, usage=usage, primary="acme/big", fallbacks=())
    world.config["agents"]["defaults"]["model"] = {"primary": CHAIN[0], "fallbacks": list(CHAIN[1:])}
    for name in names:
        world.config["models"]["providers"][name] = {"baseUrl": f"http://{name}.test/v1", "api": "openai-completions"}
    world.reconfigure("auth", "cooldowns", value={})
    return world


def decide(world: World) -> Callable[[], None]:
    """What a turn does before its calls: the row, then order and gate of every candidate, each with its rule and numbers."""
    request = TurnRequest(TurnId("t"), MAIN)

    def run() -> None:
        look = world.look()
        selected = select(request, world.settings, look)
        for index in range(len(selected.chain)):
            admit(index, selected.chain, request, selected, world.settings, look)

    return run


def explain(world: World) -> Callable[[], None]:
    """The same with a verdict on every profile, as the chain pane and `failover explain` show it."""
    return lambda: void(preview(MAIN, world.settings, world.look()))


def void(_: object) -> None:
    pass


def parsed(body: str | None) -> object:
    try:
        return json.loads(body or "null")
    except (ValueError, RecursionError):
        return None


def turn(answers: dict[str, object], world: World) -> Callable[[], None]:
    fresh = world.memory.session(MAIN)

    def run() -> None:
        world.memory.sessions[MAIN] = fresh
        for usage in world.memory.agents.values():
            usage.usage.clear()
        world.run(answers)

    return run


def best_us(run: Callable[[], None], rounds: int = 400, repeats: int = 7) -> float:
    """The best of several rounds: what the machine does besides only ever adds."""
    run()
    gc.collect()
    gc.disable()
    found = []
    for _ in range(repeats):
        began = time.process_time()
        for _ in range(rounds):
            run()
        found.append((time.process_time() - began) / rounds)
    gc.enable()
    return min(found) * 1e6


def say(name: str, figure: float, budget: float, unit: str = "us", *, at_least: bool = False) -> None:
    missed = figure < budget if at_least else figure > budget
    print(f"{name:64} {figure:9.1f} {unit}  ({'at least' if at_least else 'at most'} {budget:g}){'  MISSED' if missed else ''}")


def batch() -> float:
    """Ten-step scenarios a second of CPU through `failover simulate --batch`, its start included."""
    world = World(fallbacks=("acme/small", "zeta/std"), profiles=("acme:k1", "acme:k2", "zeta:k1"))
    keys = {name: {"type": "api_key", "provider": name.partition(":")[0], "key": "x"} for name in ("acme:k1", "acme:k2", "zeta:k1")}
    one: dict[str, Any] = {
        "config": world.config,
        "start": T0,
        "profiles": keys,
        "providers": {"acme/big": [{"status": 429}, {"status": 503}, "ok"]},
        "steps": [{"turn": {"session": "main"}}, {"advance_s": 60}] * 5,
    }
    count = 1_500
    text = "\n".join(json.dumps({"id": n, **one}) for n in range(count))
    root = Path(__file__).parents[2]
    began = time.perf_counter()
    command = [sys.executable, "-m", "console.cli.main", "simulate", "--batch", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.count("\n") == count
    return count / (time.perf_counter() - began)


def main() -> None:
    for name, cooling in (("free", False), ("all cooling", True)):
        say(f"select, order, gate: 8 candidates x 10 profiles, {name}", best_us(decide(crowd(cooling)), 200), 120)
        say(f"the same with every profile's verdict (preview), {name}", best_us(explain(crowd(cooling)), 100), 120)
    say("a whole turn, answered at once", best_us(turn({}, World())), 300)
    say("a whole turn, a fallback with override, notice and window", best_us(turn({"acme/big": 429}, World())), 300)
    worst: dict[str, tuple[float, str]] = {}
    over: list[str] = []
    for name, failure in cases():
        size = name[:4]
        figure = best_us(lambda failure=failure: void(classify(failure, "openai")), 100 if size == "1 KB" else 3, 3)  # type: ignore[misc]
        worst[size] = max(worst.get(size, (0.0, "")), (figure, name))
        if figure > (100 if size == "1 KB" else 5_000):
            parsing = best_us(lambda failure=failure: void(parsed(failure.body)), 3, 3)  # type: ignore[misc]
            over.append(f"    over: {name}: {figure:.0f} us, of which json.loads alone {parsing:.0f}")
    for size, budget in (("1 KB", 100), ("1 MB", 5_000)):
        say(f"classification, the worst: {worst[size][1]}", worst[size][0], budget)
    print("\n".join(over) if over else "    every other case is below")
    say("ten-step scenarios through --batch", batch(), 300, "/s", at_least=True)


if __name__ == "__main__":
    main()
