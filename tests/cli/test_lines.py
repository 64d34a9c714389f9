"""Events in words, for `watch --plain`."""

from __future__ import annotations

import re

from console.cli.lines import event_line


def line(**data: object) -> str:
    told = event_line({"at": 1_767_603_600_000, **data})
    assert re.match(r"\d\d:\d\d:\d\d ", told)
    return told[9:]


def test_an_attempt_says_who_what_and_how_long():
    told = line(
        event="attempt_finished",
        session="main",
        turn="t1",
        provider="acme",
        model="big",
        profile="acme:k1",
        outcome="failed",
        reason="rate_limit",
        status=429,
        ms=812,
    )
    assert told == "main attempt_finished acme/big acme:k1: failed, rate_limit, HTTP 429, 812 ms"


def test_a_turn_says_who_served_when_that_is_another_model():
    assert line(event="turn_finished", session="main", outcome="ok", selected="acme/big", active="zeta/std").endswith(
        "ok, served by zeta/std"
    )
    assert line(event="turn_finished", session="main", outcome="ok", selected="acme/big", active="acme/big").endswith(": ok")
    assert line(event="turn_finished", session="main", outcome="failed", error={"text": "try again in 40 s"}).endswith("try again in 40 s")


def test_a_notice_keeps_its_words():
    assert line(event="notice", session="main", text="↪️ Model Fallback: zeta/std").endswith(": ↪ Model Fallback: zeta/std")


def test_a_derived_session_is_named_as_its_row_is():
    assert line(event="turn_started", session="derived:ab:cd", caller="curl at 127.0.0.1 (ab)") == "curl at 127.0.0.1 (ab) turn_started"


def test_an_event_that_nobody_knows_yet_is_told_too():
    assert line(event="comet_sighted", session="main", size=3, parts=[1, 2]) == "main comet_sighted: size 3"


def test_what_a_provider_wrote_stays_one_harmless_line():
    told = line(event="alarm", text="bad\x1b[2J\nnews [/red] \u202egpj.exe " + "x" * 1_000_000)
    assert "\x1b" not in told
    assert "\n" not in told
    assert "\u202e" not in told
    assert "[/red]" in told
    assert len(told) < 400


def test_nonsense_is_no_traceback():
    assert event_line({}) == "--:--:--"
    assert event_line({"event": None, "at": "soon", "session": 7}) == "--:--:-- 7"
