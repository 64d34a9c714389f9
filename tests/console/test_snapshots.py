"""Pictures of the live screen, compared byte by byte: fixed clock, no ticker. `pytest --snapshot-update` after a wanted change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from console.app import FailoverApp
from console.around import Around
from console.pictures import settle
from engine.simulation.demo.director import Director
from engine.simulation.demo.scenarios import SCENARIOS
from engine.simulation.demo.script import Behaviour
from tests.console.fake import NOW, FakeOperations

SIZES = {"80x24": (80, 24), "120x36": (120, 36), "160x48": (160, 48)}


@pytest.fixture(autouse=True)
def same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TMUX", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


def console(**options: Any) -> FailoverApp:
    return FailoverApp(FakeOperations(), clock=lambda: NOW, ticker=False, utc=True, by="tester", **options)


def after(app: FailoverApp, *keys: str) -> Callable[[Any], Any]:
    async def run(pilot: Any) -> None:
        await settle(app, pilot)
        for key in keys:
            await pilot.press(key)
            await settle(app, pilot)

    return run


@pytest.mark.parametrize("size", SIZES)
def test_the_live_screen(snap_compare, size: str):
    app = console()
    assert snap_compare(app, terminal_size=SIZES[size], run_before=after(app, "j", "j"))


@pytest.mark.parametrize("name", ["profiles", "notices", "chain"])
def test_each_tab_at_eighty_columns(snap_compare, name: str):
    app = console()
    assert snap_compare(app, terminal_size=(80, 24), run_before=after(app, "j", "j", {"profiles": "2", "notices": "3", "chain": "4"}[name]))


@pytest.mark.parametrize(
    ("name", "options"),
    [("no-color", {"no_color": True}), ("ascii", {"ascii_only": True}), ("light", {"theme": "light"}), ("ansi", {"theme": "ansi"})],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_look(snap_compare, name: str, options: dict[str, Any]):
    app = console(**options)
    assert snap_compare(app, terminal_size=(120, 36), run_before=after(app, "j", "j"))


OVER_IT = {
    "pin": "p",
    "reset": "r",
    "why": "e",
    "detail": "enter",
    "help": "question_mark",
    "palette": "colon",
    "what-if": "w",
    "off": "d",
}


@pytest.mark.parametrize(("name", "key"), OVER_IT.items())
def test_what_opens_over_it(snap_compare, name: str, key: str):
    app = console()
    assert snap_compare(app, terminal_size=(100, 34), run_before=after(app, "j", "j", key))


def test_the_fault_panel(snap_compare):
    director = Director(SCENARIOS["outage"], lambda: NOW)
    director.begin()
    director.set("openai:work", Behaviour.REVOKED)
    app = console(around=Around(director=director))
    assert snap_compare(app, terminal_size=(110, 34), run_before=after(app, "exclamation_mark"))
