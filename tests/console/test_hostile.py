"""Hostile text on every surface: literal, no crash, nothing for the terminal to obey (field report M01)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.domain.acts import Unpin
from engine.domain.foresight import AttemptView, FieldView, Move, Moves, PredictedStep, SessionDetail, Taken, TurnRecord, WhatIf
from engine.domain.ids import ProfileId, SessionKey
from engine.domain.snapshot import FeedEntry, OffView, OrderView, Preview, ProfileState, Traffic, TurnView, WindowView
from tests.console.fake import NOW, SNAPSHOT, FakeOperations, preview, profile, session
from tests.console.screenplay import on_stage

EVIL = (
    "[/",
    "[0]",
    "[/red]",
    "[link=x]",
    '{"a":[true,false]}',
    "\x1b[2J",
    "\a",
    "\x1b]52;c;aGk=\a",
    "\u202egnp.exe",
    "a\u200bb",
    "\ud800",
    "x" * 1_000_000,
)
KEYS = (
    "2",
    "3",
    "4",
    "1",
    "p",
    "escape",
    "m",
    "escape",
    "r",
    "enter",
    "f",
    "enter",
    "e",
    "escape",
    "enter",
    "escape",
    "i",
    "escape",
    "colon",
    "escape",
    "2",
    "enter",
    "escape",
    "3",
    "enter",
    "escape",
    "question_mark",
    "escape",
    "1",
    "w",
    "escape",
    "d",
    "enter",
    "escape",
    "D",
    "o",
    "escape",
    "b",
    "enter",
    "3",
    "O",
    "y",
    "1",
    "y",
    "P",
    "space",
    "space",
    "z",
    "z",
    "s",
    "s",
    "S",
    "]",
    "[",
)


def evil_engine(text: str) -> FakeOperations:
    """Every string that a provider, a file or a client can choose, chosen badly."""
    window = WindowView(ProfileState.COOLDOWN, NOW + 10**15, text, text, NOW - 10**15, 10**6)
    row = session(
        text,
        agent=text,
        selected=text,
        active=f"{text}/{text}",
        source=text,
        profile=ProfileId(text),
        pin_source=text,
        pinned_by=text,
        pin_reason=text,
        on_fallback=True,
        reason=text,
        since=10**19,
        last_outcome=text,
        last_activity=-(10**19),
        in_flight=(TurnView(text, NOW, text, ProfileId(text), 1, False),),
    )
    card = replace(
        profile("x"),
        profile=ProfileId(text),
        provider=text,
        type=text,
        state=ProfileState.COOLDOWN,
        window=window,
        windows=(window,),
        detail=text,
        used_by=(SessionKey(text),),
        agent=text,
        error_count=10**9,
    )
    entry = FeedEntry(1, 10**19, text, text, text, SessionKey(text), text, ProfileId(text), text)
    snapshot = replace(
        SNAPSHOT,
        sessions=(row,),
        profiles=(card,),
        feed=(entry,),
        address=text,
        version=text,
        alarms=(text,),
        warnings=(text,),
        models=(text,),
        undo=(text, text),
        off=(OffView(text, 10**19, text, text), OffView(f"{text}2", NOW, text)),
        orders=(OrderView(text.lower(), text, (ProfileId(text),)),),
        traffic=Traffic(1e12, 1e12, 1e3, 10**9, 0, 1),
    )

    class Evil(FakeOperations):
        async def preview(self, key) -> Preview:
            good = preview(row)
            chain = tuple(
                replace(
                    c,
                    ref=text,
                    verdict=text,
                    rule=text,
                    reason=text,
                    role=text,
                    profiles=tuple(
                        replace(v, profile=ProfileId(text), rule=text, reason=text, pin=text, model=text, detail=text) for v in c.profiles
                    ),
                )
                for c in good.chain
            )
            return replace(
                good, session=SessionKey(text), selection=text, chain=chain, next_ref=text, next_profile=ProfileId(text), notes=(text,)
            )

        async def what_if(self, key, assumptions):
            seen = await self.preview(key)
            steps = (PredictedStep(text, ProfileId(text), text, text, 10**9, text, 10**15),)
            return WhatIf(SessionKey(text), 10**19, (Taken(text), Taken(text, False)), seen, seen, steps, text, text, (text,))

        async def moves(self, assumptions):
            return Moves((Taken(text),), 1, 2, 1, 1, (Move(SessionKey(text), text, ProfileId(text), None, None),))

        async def detail(self, key):
            attempts = (AttemptView(text, ProfileId(text), text, 10**15, 10**15, text, 429, text, text),)
            turn = TurnRecord(text, SessionKey(text), -(10**19), 10**15, text, text, text, attempts, (text,))
            return SessionDetail(
                SessionKey(text), (turn,), (FieldView(text, text, text, 10**19), FieldView("xUntil", "9" * 15, None, None))
            )

        async def decisions(self, **_):
            names = (
                "turn",
                "decision",
                "rule",
                "candidateProvider",
                "candidateModel",
                "profile",
                "reason",
                "status",
                "code",
                "error",
                "detail",
                "outcome",
            )
            return [{**dict.fromkeys(names, text), "at": NOW, "attempt": 1, "total": 1}]

    operations = Evil(snapshot)
    operations.refusal = text
    return operations


async def walk(text: str, keys: tuple[str, ...], *, ascii_only: bool) -> None:
    async with on_stage(evil_engine(text), size=(120, 36), ascii_only=ascii_only) as stage:
        for key in keys:
            await stage.press(key)
            screen = stage.text()
            assert all(char.isprintable() for char in screen.replace("\n", "")), key
            if ascii_only:
                assert screen.isascii(), [line for line in stage.lines() if not line.isascii()]
        stage.app.acting.send(Unpin(SessionKey(text)), text, sure=True)
        await stage.settled()
        assert all(char.isprintable() for toast in stage.toasts() for char in toast)


@pytest.mark.parametrize("text", EVIL, ids=lambda text: ascii(text[:12]))
async def test_no_text_breaks_the_live_screen_a_picker_or_a_dialog(text: str):
    await walk(text, ("2", "p", "escape", "r", "enter"), ascii_only=False)


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("text", [" ".join(EVIL[:-1]), EVIL[-1]], ids=["all together", "a megabyte"])
async def test_no_surface_obeys_or_breaks(text: str, ascii_only: bool):
    await walk(text, KEYS, ascii_only=ascii_only)


async def test_markup_is_shown_as_it_stands():
    async with on_stage(evil_engine("[/red]"), size=(120, 36)) as stage:
        assert "[/red]" in stage.text()
        await stage.press("p")
        assert "Pin a profile for [/red]" in stage.text()
