"""Incident bundles: what `x` writes, that it holds no secret and is for its owner only, and that `failover open` shows it read-only."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from console import bundle
from console.around import Around
from engine.domain.acts import Unpin
from engine.domain.errors import FailoverError, UsageError
from engine.domain.ids import SessionKey
from engine.domain.redaction import SINK
from engine.domain.snapshot import FeedEntry
from tests.console.fake import FEED, NOW, SNAPSHOT, FakeOperations
from tests.console.screenplay import on_stage
from tests.console.test_hostile import EVIL

SECRET = "sk-live-" + "q" * 24


def listed(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def exported(folder: Path, operations: FakeOperations | None = None) -> Path:
    async with on_stage(operations, keys=("j", "j", "x"), around=Around(bundles=folder)) as stage:
        await stage.settled()
        assert any("exported to" in toast for toast in stage.toasts()), stage.toasts()
    found = listed(folder)
    assert len(found) == 1
    return found[0]


async def test_x_writes_json_a_picture_and_a_timeline_that_only_their_owner_may_read(tmp_path: Path):
    place = await exported(tmp_path / "incidents")
    assert {path.name for path in place.iterdir()} == {"incident.json", "timeline.md", "screen.svg"}
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in place.iterdir()} == {0o600}
    assert "support-bot" in (place / "screen.svg").read_text()
    timeline = (place / "timeline.md").read_text()
    assert "| `support-bot` | `anthropic/claude-opus-4-8` | `openai/gpt-5.5` | `rate_limit` |" in timeline
    assert "`started anthropic:me cooldown 1m rate_limit`" in timeline
    told = json.loads((place / "incident.json").read_text())
    assert (told["format"], told["by"]) == (1, "tester")
    assert {"snapshot", "previews", "details", "decisions"} <= set(told)


async def test_no_secret_is_in_any_file_of_a_bundle(tmp_path: Path):
    """Field report L01."""
    SINK.add(SECRET)
    entry = FeedEntry(7, NOW, "error", "x", f"upstream said {SECRET}", SessionKey("main"))
    place = await exported(tmp_path, FakeOperations(replace(SNAPSHOT, feed=(*FEED, entry))))
    for path in place.iterdir():
        assert SECRET not in path.read_text(), path.name


async def test_hostile_text_cannot_become_markup_of_the_timeline(tmp_path: Path):
    """Field report M01."""
    text = "`[x](http://evil) | <img> \n# heading\x1b[2J" + "".join(EVIL[:-2])
    entry = FeedEntry(1, NOW, text, "x", text, SessionKey(text))
    made = bundle.timeline(bundle.Bundle(replace(SNAPSHOT, feed=(entry,)), by=text))
    assert "\x1b" not in made
    assert "\n# heading" not in made
    assert all(line.count("`") % 2 == 0 for line in made.splitlines())


async def test_two_exports_of_the_same_instant_are_two_folders(tmp_path: Path):
    found = await bundle.gather(FakeOperations(), "me")
    assert bundle.write(found, tmp_path) != bundle.write(found, tmp_path)


async def test_a_folder_that_cannot_be_written_is_a_word(tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("")
    async with on_stage(keys=("x",), around=Around(bundles=file)) as stage:
        await stage.settled()
        assert any("not exported" in toast for toast in stage.toasts())


async def test_an_opened_bundle_shows_the_screen_as_it_was_and_refuses_every_act(tmp_path: Path):
    place = await exported(tmp_path)
    operations = bundle.BundleOperations(bundle.read(place))
    async with on_stage(operations, keys=("j", "j")) as stage:  # type: ignore[arg-type]
        stage.now += 3_600_000
        await stage.news()
        assert "BUNDLE" in stage.text()
        assert "READ-ONLY" in stage.text()
        assert "00:41" in stage.text()
        assert "14:02:31Z" in stage.text()
        await stage.press("p", "r", "w")
        assert stage.app.screen is stage.app.live
        assert any("read-only" in toast for toast in stage.toasts())
        await stage.press("e")
        assert "40,000 input tokens" in stage.text()
        await stage.press("escape", "enter")
        assert "412ms" in stage.text()
    assert not (await operations.act(Unpin(SessionKey("main")), "me")).ok
    with pytest.raises(FailoverError):
        await operations.what_if(SessionKey("main"), [])


@pytest.mark.parametrize("text", [None, "{}", "[]", "nonsense", '{"format": 99}', '{"format": 1, "snapshot": {}}'])
def test_what_is_no_bundle_says_so(tmp_path: Path, text: str | None):
    if text is not None:
        (tmp_path / "incident.json").write_text(text)
    with pytest.raises(UsageError):
        bundle.read(tmp_path)
