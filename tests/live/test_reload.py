"""A configuration that changes under a running engine: the next turn uses it, a bad one changes nothing and says where."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from engine.domain.acts import Reload
from engine.domain.exchange import Answered
from tests.live.harness import CONFIG, Bench, chain, fails, names, running, settings_of, waits


def write(path: Path, config: Any) -> None:
    draft = path.with_suffix(".new")
    draft.write_text(config if isinstance(config, str) else json.dumps(config))
    os.replace(draft, path)


async def looked(bench: Bench) -> None:
    """As often as it takes for the file to be looked at."""
    for _ in range(4):
        await bench.engine.tick()


async def test_the_next_turn_uses_a_changed_file_and_a_turn_in_flight_keeps_its_own(tmp_path: Path):
    """K01, `walk.config-generation`"""
    path = tmp_path / "failover.json5"
    write(path, CONFIG)
    async with running(config_path=path) as bench:
        gate = asyncio.Event()
        bench.upstream.on("acme/big", waits(gate, fails(503)))
        old = bench.begin("old")
        await bench.upstream.called(1)
        write(path, chain("zeta/std"))
        await looked(bench)
        assert bench.engine.settings.generation == 2
        assert str((await bench.turn("new")).active) == "zeta/std"
        gate.set()
        answered = await old.answer()
        assert isinstance(answered, Answered)
        assert str(answered.served) == "acme/small"
        old.cancel()
        assert "config_reloaded" in names(await bench.events_from())
        assert (await bench.engine.snapshot()).config_generation == 2


async def test_a_rejected_file_leaves_the_last_good_one_and_the_alarm_names_the_path(tmp_path: Path):
    path = tmp_path / "failover.json5"
    write(path, CONFIG)
    async with running(config_path=path) as bench:
        write(path, chain("big"))
        await looked(bench)
        assert bench.engine.settings.generation == 1
        (alarm,) = (await bench.engine.snapshot()).alarms
        assert "agents.defaults.model.primary" in alarm
        rejected = [event for event in await bench.events_from() if event["event"] == "config_rejected"]
        assert len(rejected) == 1
        await looked(bench)
        assert names(await bench.events_from()).count("config_rejected") == 1
        write(path, chain("zeta/std"))
        await looked(bench)
        assert bench.engine.settings.generation == 2
        assert (await bench.engine.snapshot()).alarms == ()


async def test_an_operators_reload_answers_what_became_of_it(tmp_path: Path):
    path = tmp_path / "failover.json5"
    write(path, CONFIG)
    async with running(config_path=path) as bench:
        assert "unchanged" in (await bench.act(Reload())).message
        write(path, "{ broken")
        refused = await bench.act(Reload())
        assert not refused.ok
        assert "line 1" in refused.message
        write(path, {**CONFIG, "gateway": {"port": 4999}})
        assert "gateway.port with the next start" in (await bench.act(Reload())).message


async def test_without_a_file_there_is_nothing_to_reload():
    async with running() as bench:
        assert not (await bench.act(Reload())).ok


async def test_a_reference_that_leaves_the_file_takes_its_profile_along(tmp_path: Path):
    path = tmp_path / "failover.json5"
    with_reference = chain("acme/big", auth={"profiles": {"acme:env": {"provider": "acme", "mode": "api_key", "keyRef": "env:ACME"}}})
    write(path, with_reference)
    async with running(settings_of(with_reference), credentials={}, environ={"ACME": "secret-acme"}, config_path=path) as bench:
        assert [view.profile for view in (await bench.engine.snapshot()).profiles] == ["acme:env"]
        write(path, chain("acme/big"))
        assert (await bench.act(Reload())).ok
        assert (await bench.engine.snapshot()).profiles == ()
