"""`failover log` and `failover explain` over the decisions of an engine that has really decided (`log.record`)."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from console.cli import log
from console.cli.moments import moment
from console.cli.options import Target
from engine.config.load import load_settings
from engine.domain.acts import SetOff
from engine.domain.decisions import Matching
from engine.domain.errors import GatewayUnreachable
from engine.domain.ids import SessionKey
from engine.domain.operations import Event
from store.paths import StateDirectory
from store.sqlite import SqliteStore
from tests.live import harness
from tests.live.harness import fails, running, stored_with

CONFIG = harness.chain("acme/big", "zeta/std")


@pytest.fixture
def decided(state: Path, tmp_path: Path) -> None:
    """Three turns of two sessions, a minute apart: limited, out of credit, and taken out of service."""

    async def happen() -> None:
        store = await stored_with(harness.keys("acme:k1", "zeta:k1"), SqliteStore(StateDirectory(state)))
        await store.close()
        clock = harness.StillClock()
        async with running(load_settings(CONFIG, env={}).settings, store=SqliteStore(StateDirectory(state)), clock=clock) as bench:
            bench.upstream.on("acme/big", fails(429, "slow down"))
            await bench.turn("desk")
            clock.advance(60)
            bench.upstream.on("zeta/std", fails(402, "insufficient credits"))
            await bench.turn("job", fallbacks=())
            clock.advance(60)
            await bench.act(SetOff("acme"))
            await bench.turn("desk")

    asyncio.run(happen())
    (tmp_path / "failover.json5").write_text(json.dumps(CONFIG))


def records(done: Any) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_filter_leaves_what_it_says_oldest_first(failover, decided):
    everything = records(failover("log", "--json"))
    assert [r["at"] for r in everything] == sorted(r["at"] for r in everything)
    t0 = everything[0]["at"]
    turn = everything[-1]["turn"]
    wanted: list[tuple[tuple[str, ...], list[Any]]] = [
        (("--session", "job"), [r for r in everything if r["session"] == "job"]),
        (("--provider", "ACME"), [r for r in everything if r.get("candidateProvider") == "acme"]),
        (("--reason", "operator_off"), [r for r in everything if r.get("reason") == "operator_off"]),
        (("--turn", turn), [r for r in everything if r["turn"] == turn]),
        (("--since", str(t0 + 1)), [r for r in everything if r["at"] > t0]),
        (("--until", str(t0 + 1)), [r for r in everything if r["at"] == t0]),
        (
            ("--provider", "acme", "--session", "desk"),
            [r for r in everything if r.get("candidateProvider") == "acme" and r["session"] == "desk"],
        ),
    ]
    for arguments, expected in wanted:
        assert expected
        assert records(failover("log", "--json", *arguments)) == expected, arguments
    assert records(failover("log", "--json", "--limit", "2")) == everything[-2:]
    assert failover("log", "--reason", "auth").stderr.strip().endswith("no such decision is logged")


def test_the_table_shows_each_decision_with_its_rule(failover, decided):
    lines = failover("log", "--session", "desk").stdout.splitlines()
    assert lines[0].split() == ["time", "session", "decision", "candidate", "profile", "rule", "reason", "status", "error"]
    assert any("candidate_failed" in line and "acme/big" in line and "gate.open" in line and "429" in line for line in lines)
    assert any("skip_candidate" in line and "gate.operator-off" in line for line in lines)


def test_explain_can_be_about_an_earlier_turn(failover, decided):
    last = failover("explain", "desk").stdout
    assert "its last turn" in last
    assert "gate.operator-off" in last
    earlier = failover("explain", "desk", "--reason", "rate_limit").stdout
    assert "rate_limit" in earlier.rsplit("turn,", 1)[1]
    first = records(failover("log", "--json", "--session", "desk"))[0]["turn"]
    told = json.loads(failover("explain", "desk", "--turn", first, "--json").stdout)
    assert {r["turn"] for r in told["decisions"]} == {first}
    assert "no such turn" in failover("explain", "desk", "--turn", "nothing").stderr


async def test_who_follows_gets_what_was_and_then_what_comes(capsys, monkeypatch):
    """Only what was asked for, none of it twice, and it ends with the gateway."""
    known = {"at": 1, "turn": "t1", "session": "desk", "decision": "skip_candidate", "candidateProvider": "acme", "reason": "billing"}
    other = {**known, "at": 2, "turn": "t2", "session": "other"}
    fresh = {**known, "at": 3, "turn": "t3"}

    class Told:
        async def snapshot(self):
            return type("Now", (), {"now": 10})()

        async def decisions(self, **asked):
            assert asked["matching"] == Matching("acme", "billing")
            return [known]

        async def events(self, after=None):
            for seq, record in enumerate((known, other, fresh)):
                yield Event(seq, {"event": "turn_finished", "turn": record["turn"], "decisions": [record]})
            yield Event(9, {"event": "notice", "text": "not a decision"})
            raise GatewayUnreachable("The gateway ended the event stream", "", "")

    @contextlib.asynccontextmanager
    async def reached(target, *, only_running):
        assert only_running
        yield type("Reached", (), {"operations": Told()})()

    monkeypatch.setattr(log, "reached", reached)
    wanted = log.Wanted(SessionKey("desk"), None, Matching("acme", "billing"))
    await log._follow(Target(), wanted, True)
    out = capsys.readouterr()
    assert [json.loads(line)["turn"] for line in out.out.splitlines()] == ["t1", "t3"]
    assert "ended" in out.err


NOW = 1_767_603_600_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("90s", NOW - 90_000),
        ("15m", NOW - 900_000),
        ("2h", NOW - 7_200_000),
        ("3d", NOW - 259_200_000),
        (str(NOW), NOW),
        ("2026-01-05T09:00:00Z", 1_767_603_600_000),
        ("soon", None),
        ("25:99", None),
        ("", None),
        ("-5m", None),
    ],
)
def test_times_as_people_give_them(text: str, ms: int | None):
    assert moment(text, NOW) == ms


def test_a_time_of_day_is_the_latest_such_time():
    for text in ("00:00", "12:34:56", "23:59"):
        found = moment(text, NOW)
        assert found is not None
        assert NOW - 90_000_000 < found <= NOW
