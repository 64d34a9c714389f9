"""`simulate`'s readable timeline: what one pastes into an incident report (`engine.simulation.timeline`)."""

from __future__ import annotations

from typing import Any

from engine.simulation.run import simulate
from engine.simulation.timeline import timeline
from tests.policy.transcript import World

KEYS = {name: {"type": "api_key", "provider": name.partition(":")[0], "key": "made-up"} for name in ("acme:k1", "acme:k2", "zeta:k1")}


def lines(providers: dict[str, Any], *steps: dict[str, Any], fallbacks: tuple[str, ...] = ("zeta/std", "nope/x")) -> list[str]:
    scenario = {"config": World(fallbacks=fallbacks).config, "start": "2026-01-05T09:00:00Z", "profiles": KEYS}
    return [line.plain for line in timeline(simulate({**scenario, "providers": providers, "steps": list(steps)}))]


TURN = {"turn": {"session": "main"}}
LIMITED = {"after_s": 2.5, "status": 429, "headers": {"retry-after": "90"}, "body": '{"error": {"message": "slow down"}}'}


def test_a_fallback_reads_as_what_happened_when_and_by_which_rule() -> None:
    got = lines(
        {"acme/big": [LIMITED, {"status": 402, "body": '{"error": {"message": "insufficient credits"}}'}]}, TURN, {"advance_s": 600}
    )
    assert got == [
        "2026-01-05 (UTC)",
        "  1  09:00:00.000  turn of main: ok by zeta/std instead of acme/big  (selection.configured-default, 3 calls)",
        '      09:00:00.000  acme/big  failed    acme:k1: rate_limit, HTTP 429, "slow down"  [gate.open]',
        '      09:00:02.500  acme/big  failed    acme:k2: billing, HTTP 402, "insufficient credits"',
        "      09:00:02.500  zeta/std  succeeded zeta:k1  [gate.open]",
        "      not reached: nope/x",
        "      told: ↪️ Model Fallback: zeta/std (selected acme/big; rate limit (+1 more attempts))",
        "  2  09:10:02.500  10 min later",
        "at the end, 2026-01-05 09:10:02.500Z",
        "      acme:k1: free",
        "      acme:k2: disabled until 2026-01-05 14:00:02.500Z (billing)",
        "      zeta:k1: free",
        "      main: on zeta/std (auto), since 2026-01-05 09:00:02.500Z because of rate limit (+1 more attempts), auto pin zeta:k1",
    ]


def test_a_dead_end_says_why_each_was_passed_over_and_when_it_is_free() -> None:
    got = lines({"*": LIMITED}, TURN, TURN, fallbacks=("zeta/std",))
    assert "                    acme/big  skipped   rate_limit until 09:01:32.500  [gate.primary-probe]" in got
    assert "      FallbackSummaryError, rate_limit; free again at 09:01:35.000" in got


def test_acts_restarts_and_what_was_not_tried_have_their_lines() -> None:
    got = lines(
        {"acme/big": 3 * [{"status": 429}]},
        {"off": {"profile": "acme:k2"}},
        {"pin": {"session": "main", "profile": "acme:k9"}},
        {"restart": {}},
        {"parallel": [TURN, TURN]},
    )
    assert got[0] == "  1  off: done  acme:k2: out of service for every session"
    assert got[1].startswith("  2  pin: refused  no profile acme:k9")
    assert got[2:4] == ["  3  restart", "  4  2 turns at the same instant:"]
    capped = lines({"acme/big": {"status": 429}}, TURN, {"advance_s": 90_061}, TURN)
    assert "25 h 1 min 1 s later" in "\n".join(capped)
    assert sum(line == "2026-01-06 (UTC)" for line in capped) == 1
