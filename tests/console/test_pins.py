"""What the Chain pane says of a user's pin: whether it counts for the next turn, and until when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.view import chain, pins
from console.view.frame import Frame
from console.view.lines import plain
from console.view.look import Look
from engine.domain.ids import ProfileId
from engine.domain.snapshot import Preview, ProfileState, ProfileVerdict, SessionView
from tests.console.fake import NOW, SESSIONS, SNAPSHOT, preview, session

MINUTE = 60_000


def pinned(profile: str, **fields: object) -> SessionView:
    return session("main", **{"profile": ProfileId(profile), "pin_source": "user", "pinned_by": "ana@ops1", **fields})


def frame_of(view: SessionView) -> Frame:
    return Frame(replace(SNAPSHOT, sessions=(view,)), NOW, Look(utc=True))


def with_state(found: Preview, profile: str, state: ProfileState) -> Preview:
    def seen(verdict: ProfileVerdict) -> ProfileVerdict:
        return replace(verdict, state=state, usable=False) if verdict.profile == profile else verdict

    return replace(found, chain=tuple(replace(c, profiles=tuple(map(seen, c.profiles))) for c in found.chain))


def said(view: SessionView, found: Preview | None = None) -> str:
    rows = chain.rows(found or preview(view), frame_of(view))
    names = chain.names_width(rows, frame_of(view), 200)
    return next(plain(chain.draw(row, frame_of(view), 200, names)).strip() for row in rows if row.key == "pin")


def test_a_pin_that_counts_says_what_it_does_and_until_when():
    assert said(pinned("openai:work")) == "pin openai:work holds: no other profile of openai is tried; set by ana@ops1, without an end"
    assert "until 14:12:31 (10:00 left)" in said(pinned("openai:work", pin_until=NOW + 10 * MINUTE))


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (pinned("zeta:k1"), "has no effect now: no candidate of this chain is of zeta"),
        (pinned("openai:work", pin_until=NOW - MINUTE), "has no effect now: it has ended"),
    ],
    ids=["another provider", "ended"],
)
def test_a_pin_without_effect_says_so(view: SessionView, words: str):
    assert words in said(view)


@pytest.mark.parametrize(("state", "word"), [(ProfileState.OFF, "out of service"), (ProfileState.DISABLED, "disabled")])
def test_a_pin_on_a_profile_that_cannot_be_used_says_what_that_means(state: ProfileState, word: str):
    view = pinned("openai:work")
    words = f"cannot be used now ({word}): openai is passed over, no other profile of it is tried"
    assert words in said(view, with_state(preview(view), "openai:work", state))


def test_an_automatic_pin_is_a_preference_and_stands_only_beside_its_profile():
    view = SESSIONS[0]
    assert pins.effect(view, preview(view), frame_of(view)) is None


def test_a_row_of_the_chain_is_explained_with_its_rule():
    frame = frame_of(SESSIONS[0])
    row = chain.rows(preview(SESSIONS[0]), frame)[0]
    assert plain(chain.explained(row, frame)).startswith("rule gate.open: a profile of it is free")
