"""One registry: bindings, footer, palette, help and the README say the same (`console.actions`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from textual.binding import Binding

from console.actions import ACTIONS, Scope, key_table_markdown
from console.keymap import complaints, resolve
from console.view import help
from console.view.availability import Situation
from console.view.frame import Frame
from console.view.lines import plain
from console.widgets.keys import bindings
from tests.console.fake import NOW, SNAPSHOT
from tests.console.screenplay import on_stage

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- keys:begin -->", "<!-- keys:end -->"


def test_no_id_and_no_key_is_given_twice():
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    assert complaints() == []


def test_every_action_is_bound_under_its_own_id():
    bound = {binding.id for scope in Scope for binding in bindings(scope) if isinstance(binding, Binding)}
    assert bound == {action.id for action in ACTIONS}


def test_what_is_destructive_and_has_no_undo_says_so():
    for action in ACTIONS:
        if action.destructive:
            assert action.undo != ("No undo" in action.help), action.id


def test_the_help_names_every_action():
    text = "\n".join(plain(line) for line in help.draw(resolve(), Situation(Frame(SNAPSHOT, NOW))))
    assert [action.id for action in ACTIONS if action.help not in text] == []


def test_the_readme_has_the_key_table_of_the_registry():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert BEGIN in readme, "README.md needs the markers of the key table"
    assert END in readme, "README.md needs the markers of the key table"
    assert readme.partition(BEGIN)[2].partition(END)[0].strip() == key_table_markdown().strip()


async def test_every_action_of_the_live_screen_does_something_or_says_why_not():
    async with on_stage(size=(100, 30)) as stage:
        for action in ACTIONS:
            if action.scope is Scope.LIVE and action.id not in ("quit", "quit_tables"):
                stage.app.live.action_press(action.id)
                await stage.settled()
                if stage.app.screen is not stage.app.live:
                    await stage.press("escape")
                assert stage.app.screen is stage.app.live, action.id


def test_the_registry_needs_no_textual():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, console.actions; print('textual' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stdout.strip() == "False"
