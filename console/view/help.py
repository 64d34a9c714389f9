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
    """What applies here under its headings, then what does not, with the reason: nobody has to read past what they cannot press."""
    ascii_only = now.frame.look.ascii_only
    lines: list[Line] = [span(_PANE_WORDS.get(now.pane, ""), Tone.TEXT), _about(now)]
    refused = {action.id: reason for action in actions.values() if (reason := unavailable(action, now)) is not None}
    for section, members in sections(actions.values()).items():
        here = [action for action in members if action.id not in refused]
        lines += [(), span(section, Tone.HEAD), *(_line(action, Tone.STRONG, Tone.TEXT, ascii_only) for action in here)]
    if refused:
        lines += [(), span("Not here, and why", Tone.HEAD)]
        for name, reason in refused.items():
            lines += [_line(actions[name], Tone.DIM, Tone.DIM, ascii_only), ((" " * KEYS, Tone.DIM), (reason, Tone.WARN))]
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


def _about(now: Situation) -> Line:
    look = now.frame.look
    words = [f"the session {look.safe(now.session.key)}"] if now.session is not None else []
    words += [f"the profile {look.safe(now.profile.profile)}"] if now.profile is not None else []
    return span(f"Acts are about {' and '.join(words)}, under the cursor." if words else "", Tone.DIM)


def _line(action: Action, key: Tone, text: Tone, ascii_only: bool) -> Line:
    keys = keys_text(action, ascii_only=ascii_only) or f":{action.label}"
    # Keys of one's own may take more room than the column has.
    return (*(pad(span(keys, key), KEYS) if len(keys) < KEYS else span(f"{keys} ", key)), (action.help, text))
