"""The demo's fault panel as lines: where the script stands, and what each provider, profile and model does now. Text only."""

from __future__ import annotations

from collections.abc import Mapping

from console.view.frame import Frame
from console.view.lines import Line, Tone, join, pad, span
from engine.simulation.demo.director import BY_HAND, ScriptPlace, TargetState
from engine.simulation.demo.script import Behaviour

_INDENT = {"provider": 0, "profile": 2, "model": 2}
_NAMES = 34

WORDS: Mapping[Behaviour, str] = {
    Behaviour.OK: "well: answers",
    Behaviour.RATE_LIMIT: "429, per-minute limit, retry after 45 s",
    Behaviour.OVERLOADED: "529, overloaded",
    Behaviour.BILLING: "402, the account is out of credit",
    Behaviour.SERVER_ERROR: "500, internal server error",
    Behaviour.BAD_GATEWAY: "502, a page of HTML from its own proxy",
    Behaviour.REVOKED: "401, the key has been revoked",
    Behaviour.SUBSCRIPTION: "429, the plan's allowance is used up for half an hour",
    Behaviour.HANGS: "takes the request and says nothing",
    Behaviour.CUTS: "breaks off in the middle of an answer",
}


def script_line(place: ScriptPlace, frame: Frame) -> tuple[Line, ...]:
    state = span("PAUSED", Tone.WARN) if place.paused else span("running", Tone.OK)
    at = span(f"{place.place_s:.0f}s of {place.round_s:.0f}s, round {place.round}", Tone.TEXT)
    return (
        join([span(f"script {place.name}", Tone.STRONG), state, at]),
        span(f"next: {place.following}", Tone.INFO),
        span(place.tells, Tone.DIM),
    )


def draw(state: TargetState, frame: Frame, cells: int) -> Line:
    indent = " " * _INDENT.get(state.kind, 0)
    tone = Tone.STRONG if state.kind == "provider" else Tone.TEXT
    name = pad(span(f"{indent}{state.target}", tone), _NAMES)
    glyphs = frame.look.glyphs
    if state.behaviour == Behaviour.OK:
        mark: Line = ((f"{glyphs.ready} ok", Tone.OK), ("  held well by hand" if state.source == BY_HAND else "", Tone.DIM))
    else:
        partly = " (in part)" if state.partly else ""
        by = "by hand" if state.source == BY_HAND else "script"
        mark = ((f"{glyphs.disabled} {state.behaviour}{partly}", Tone.WARN if state.partly else Tone.BAD), (f"  {by}", Tone.DIM))
    return pad((*name, *pad(span(state.kind, Tone.DIM), 10), *mark), cells)


def choice(behaviour: Behaviour) -> Line:
    return (*pad(span(behaviour.value, Tone.STRONG), 16), (WORDS[behaviour], Tone.TEXT))
