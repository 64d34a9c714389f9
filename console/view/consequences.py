"""What an act will do, said before it is done: the texts of dialogs and the hints of pickers.

Text only; the act itself is a record of `engine.domain.acts`, and its effect is the engine's."""

from __future__ import annotations

from dataclasses import dataclass

from console.view import states, times
from console.view.frame import Frame
from console.view.lines import Line, Tone, join, pad, span
from console.view.text import width
from engine.domain.acts import Act, Clear, Pin, SelectModel, SetOff, SetOn, SetOrder, Unpin
from engine.domain.ids import provider_of
from engine.domain.snapshot import ProfileState, ProfileView, SessionView


@dataclass(frozen=True, slots=True)
class Question:
    """A dialog. verb: what `y` does, one word."""

    title: str
    lines: tuple[Line, ...]
    verb: str


def reset(session: SessionView, frame: Frame) -> Question:
    """Names what goes and what stays (`override.reset`)."""
    safe = frame.look.safe
    goes: list[str] = []
    if session.on_fallback:
        goes.append(f"the fallback to {safe(session.active)}")
    if session.pin_source:
        goes.append(f"the {safe(session.pin_source)} pin on {safe(session.profile)}")
    lines = [span("Clears " + (", ".join(goes) if goes else "auto override, pins and notice state (none is set now)") + ".")]
    lines.append(span("The session gets a new session id: applications start a new conversation."))
    if session.source == "user":
        lines.append(span(f"Stays: the user's model selection {safe(session.selected)} (m, then default, clears it).", Tone.WARN))
    if (card := frame.profile(session.profile)) is not None and card.window is not None:
        lines.append(span(f"Stays: {safe(card.profile)} is {card.state.value} for everyone (c in Profiles clears it).", Tone.DIM))
    lines.append(span("There is no undo.", Tone.WARN))
    return Question(f"Reset {safe(session.key)}?", (*lines, *_in_flight(session)), "reset")


def probe(session: SessionView, frame: Frame) -> Question:
    safe = frame.look.safe
    lines = [
        span(f"Sends one real request to {safe(session.selected)}, whatever windows say. It is billed as any other.", Tone.WARN),
        span(
            "If it answers, the session is back on it." if session.on_fallback else "If it answers, it counts as a success of its profile."
        ),
        span("If it fails, nothing changes. There is no undo.", Tone.DIM),
    ]
    return Question(f"Probe the primary of {safe(session.key)}?", tuple(lines), "probe")


def out_of_service(target: str, reason: str | None, frame: Frame) -> Question:
    """Whom it moves is added by the engine's answer."""
    safe = frame.look.safe
    lines = [span(f"No session uses {safe(target)} until somebody puts it back. Turns in flight go on.")]
    if reason:
        lines.append(span(f"Reason: {safe(reason)}", Tone.DIM))
    lines.append(span("Undo puts it back.", Tone.DIM))
    return Question(f"Take {safe(target)} out of service?", tuple(lines), "take it out")


def all_back(frame: Frame) -> Question:
    """How many calls it costs, and who stays where it is (`override.bulk-return`)."""
    safe = frame.look.safe
    held: dict[str, int] = {}
    for session in frame.snapshot.sessions if frame.snapshot is not None else ():
        if session.on_fallback and session.source != "user":
            held[session.selected] = held.get(session.selected, 0) + 1
    calls = f"{len(held)} real request{'s' if len(held) != 1 else ''}"
    lines = [span(f"Sends {calls}, one to each primary, whatever windows say. They are billed as any other.", Tone.WARN)]
    lines += [span(f"  {safe(ref)}: {count} session{'s' if count != 1 else ''} come back if it answers") for ref, count in held.items()]
    lines.append(span("Sessions whose primary fails stay where they are. There is no undo.", Tone.DIM))
    return Question("Bring all sessions back to their primaries?", tuple(lines), "bring back")


def standing(act: Act, frame: Frame) -> str:
    """What an act that can be taken back is about to replace, in a few words; empty where nothing is known."""
    safe = frame.look.safe
    match act:
        case Pin() | Unpin() if (session := frame.session(act.session)) is not None:
            pin = f"with the {safe(session.pin_source)} pin on {safe(session.profile)}" if session.pin_source else "without a pin"
            return f"{safe(session.key)} {pin}"
        case SelectModel() if (session := frame.session(act.session)) is not None:
            model = f"{safe(session.selected)} selected" if session.source == "user" else "no model selected"
            return f"{safe(session.key)} with {model}"
        case Clear() if (profile := frame.profile(act.profile)) is not None:
            return f"{safe(profile.profile)} {profile.state.value}"
        case SetOff():
            return f"{safe(act.target)} in service"
        case SetOn():
            return f"{safe(act.target)} out of service"
        case SetOrder() if frame.snapshot is not None:
            known = next((order for order in frame.snapshot.orders if order.provider == act.provider), None)
            return f"the order {', '.join(safe(p) for p in known.profiles)}" if known is not None else ""
        case _:
            return ""


def stale(question: str, frame: Frame) -> Question:
    """Acts on old values ask again."""
    age = times.span_s(frame.age_ms // 1000)
    return Question(question, (span(f"What you see is {age} old and may be wrong by now.", Tone.WARN),), "send")


def quitting(frame: Frame, owns_engine: bool) -> Question:
    turns = frame.snapshot.traffic.in_flight if frame.snapshot is not None else 0
    lines = [span(f"{turns} turn{'s are' if turns != 1 else ' is'} in flight.", Tone.WARN if turns else Tone.TEXT)]
    if owns_engine:
        lines.append(span("The gateway ends with this console: it drains first, and takes no new requests."))
    else:
        lines.append(span("The gateway goes on without this console.", Tone.DIM))
    return Question("Quit?", tuple(lines), "quit")


def _in_flight(session: SessionView) -> tuple[Line, ...]:
    count = len(session.in_flight)
    if not count:
        return ()
    what = "A turn is in flight: what it writes" if count == 1 else f"{count} turns are in flight: what they write"
    return (span(f"{what} to the session is dropped.", Tone.DIM),)


def profile_choice(profile: ProfileView, frame: Frame, names: int) -> Line:
    """A profile in the pin picker: name, state word, clock, reason, scope."""
    look = frame.look
    tone = states.tone_of(profile.state, profile.detail)
    parts: list[Line] = [
        (*pad(span(look.safe(profile.profile), Tone.STRONG), max(names, 1)),),
        span(f"{states.glyph_of(profile.state, look.glyphs)} {profile.state.value:<8}", tone),
    ]
    if window := profile.window:
        parts.append(span(f"{times.left(window.until, frame.now, reduced_motion=frame.look.reduced_motion):>13}", tone))
        scope = look.safe(states.short_model(window.model)) if window.model else "all models"
        parts.append(span(f"{look.safe(window.reason)} ({scope})"))
    elif profile.detail:
        parts.append(span(look.safe(profile.detail), Tone.DIM))
    return join(parts)


def names_width(profiles: tuple[ProfileView, ...], frame: Frame) -> int:
    return min(36, max((width(frame.look.safe(p.profile)) for p in profiles), default=8))


def pin_hint(session: SessionView, profile: ProfileView, frame: Frame) -> str:
    """What the pin will do, for the profile as it is now."""
    safe = frame.look.safe
    name = safe(profile.profile)
    if session.pin_source == "user" and session.profile == profile.profile:
        return f"{name} is the session's pin already."
    wanted = {provider_of_ref(session.selected), provider_of_ref(session.active)}
    text = f"{safe(session.key)} will use only {name} with {safe(profile.provider)}, until unpinned."
    if provider_of(profile.profile) not in wanted and profile.provider not in wanted:
        return f"{text} Neither its selected nor its active model is of this provider."
    if profile.state is ProfileState.READY:
        return text
    if profile.window is not None:
        return f"{text} Now {profile.state.value}, for {times.countdown(profile.window.until, frame.now)} more: turns skip it until then."
    return f"{text} Now {profile.state.value}: turns cannot use it."


def provider_of_ref(ref: str) -> str:
    return ref.partition("/")[0]


def model_hint(session: SessionView, ref: str, frame: Frame) -> str:
    safe = frame.look.safe
    if ref == "default":
        return f"{safe(session.key)} goes back to the configured model and may fall back again."
    return f"{safe(session.key)} will use {safe(ref)} and nothing else: a user's selection does not fall back."
