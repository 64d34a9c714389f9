"""The help screen as lines, made from the registry: every key with its sentence, and a word on those that do not apply here.

Which key does what is the registry's; this only words it."""

from __future__ import annotations

from collections.abc import Mapping

from console.actions import Action, keys_text, sections
from console.view import states
from console.view.availability import Situation, unavailable
from console.view.lines import Line, Tone, pad, span
from engine.domain.snapshot import ProfileState

KEYS = 13
_PANE_WORDS = {
    "sessions": "Sessions: who is on which model, and why. One line per session that the gateway has seen.",
    "profiles": "Profiles: each stored credential, worst first: its state, until when, why, and for which model.",
    "notices": "Notices: what happened. The feed follows while the cursor is on its last line; G goes back there.",
    "chain": "Chain: what the selected session's next turn would do, by the very rules that will decide it.",
}
_STATES = {
    ProfileState.READY: "can be used now",
    ProfileState.COOLDOWN: "failed for a moment (rate limit, overload, timeout): rested until the clock ends",
    ProfileState.DISABLED: "billing or a dead credential: rested for long, somebody should look",
    ProfileState.BLOCKED: "the provider itself said until when",
    ProfileState.EXPIRED: "the login has run out; `refreshable`: it is renewed with its next use",
    ProfileState.MISSING: "named in the config, but there is no secret",
    ProfileState.OFF: "taken out of service by an operator",
}


def draw(actions: Mapping[str, Action], now: Situation) -> tuple[Line, ...]:
    ascii_only = now.frame.look.ascii_only
    lines: list[Line] = [span(_PANE_WORDS.get(now.pane, ""), Tone.TEXT)]
    for section, members in sections(actions.values()).items():
        lines += [(), span(section, Tone.HEAD)]
        for action in members:
            reason = unavailable(action, now)
            keys = pad(span(keys_text(action, ascii_only=ascii_only), Tone.DIM if reason else Tone.STRONG), KEYS)
            text: Line = (*keys, (action.help, Tone.DIM if reason else Tone.TEXT))
            lines.append((*text, (f"  ({reason})", Tone.DIM)) if reason else text)
    lines += [(), span("States of a profile", Tone.HEAD)]
    for state, meaning in _STATES.items():
        glyph = states.glyph_of(state, now.frame.look.glyphs)
        lines.append(((f"{glyph} {state.value:<{KEYS - 2}}", states.tone_of(state)), (meaning, Tone.TEXT)))
    glyphs = now.frame.look.glyphs
    lines += [
        (),
        span("Turns in flight", Tone.HEAD),
        ((f"{glyphs.open} {'open':<{KEYS - 2}}", Tone.INFO), ("can still fail over: nothing has been sent to the application", Tone.TEXT)),
        ((f"{glyphs.committed} {'committed':<{KEYS - 2}}", Tone.DIM), ("content has gone out: it cannot fail over any more", Tone.TEXT)),
    ]
    return tuple(lines)
