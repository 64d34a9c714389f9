"""Does a key apply now, and if not, why: the one place that dims footer, palette and help, and that answers when the key is pressed.

The engine has the last word on every act; this only spares the operator a refusal."""

from __future__ import annotations

from dataclasses import dataclass

from console.actions import Action, Needs
from console.view.frame import Frame, Truth
from engine.domain.snapshot import FeedEntry, ProfileView, SessionView


@dataclass(frozen=True, slots=True)
class Situation:
    """What is under the cursor. pane: sessions, profiles, notices or chain. filtered: the pane has a filter. undo: the
    act that would be taken back. last_act: the one that was done last, if it has no undo. demo, tour, may_suspend: what this console was
    started with."""

    frame: Frame
    pane: str = "sessions"
    session: SessionView | None = None
    profile: ProfileView | None = None
    notice: FeedEntry | None = None
    filtered: bool = False
    undo: str | None = None
    last_act: str | None = None
    demo: bool = False
    tour: bool = False
    may_suspend: bool = False


def unavailable(action: Action, now: Situation) -> str | None:
    """Why the action does not apply, as a sentence for the operator; None when it does."""
    frame = now.frame
    if action.act:
        if frame.snapshot is None:
            return "not connected to an engine yet"
        if frame.truth is Truth.DOWN:
            return "the engine does not answer: nothing can be sent to it"
        if frame.read_only or frame.snapshot.read_only:
            return "this console is read-only (--read-only)"
    if action.needs is Needs.SESSION and now.session is None:
        return f"{action.label} works on a session, and none is selected (1)"
    if action.needs is Needs.PROFILE and now.profile is None:
        return f"{action.label} works on a profile: put the cursor on one (2)"
    return _particular(action.id, now)


def _particular(action_id: str, now: Situation) -> str | None:
    frame, session, profile = now.frame, now.session, now.profile
    match action_id:
        case "pin" if session is not None and session.derived:
            return "this session lives in memory only and takes no pin: send x-failover-session to name it"
        case "pin" if frame.snapshot is not None and not frame.snapshot.profiles:
            return "there is no profile to pin"
        case "unpin" if session is not None and session.pin_source is None:
            return f"{frame.look.safe(session.key)} has no pin"
        case "clear" | "clear_blind" if profile is not None and not profile.windows and profile.window is None and not profile.error_count:
            return f"{frame.look.safe(profile.profile)} has no window to clear"
        case "off" if frame.snapshot is not None and not frame.snapshot.profiles and not frame.snapshot.models:
            return "there is nothing to take out of service"
        case "on" if frame.snapshot is not None and not frame.snapshot.off:
            return "nothing is out of service"
        case "bulk_return" if frame.snapshot is not None and not any(s.on_fallback for s in frame.snapshot.sessions):
            return "no session is on a fallback"
        case "order" if now.profile is None and session is None:
            return "order works on a provider: put the cursor on one of its profiles (2)"
        case "undo" if now.undo is None and now.last_act is not None:
            return f"{frame.look.safe(now.last_act)} has no undo, and nothing before it can be taken back"
        case "undo" if now.undo is None:
            return "there is no act to undo"
        case "next_match" | "previous_match" if not now.filtered:
            return f"{action_id.partition('_')[0]} match: there is no filter here; / sets one"
        case "detail" if now.pane == "sessions" and session is None:
            return "there is no row here"
        case "detail" if now.pane == "profiles" and profile is None:
            return "there is no row here"
        case "detail" if now.pane == "notices" and now.notice is None:
            return "there is no row here"
        case "faults" if not now.demo:
            return "the fault panel belongs to `failover demo`"
        case "tour_next" if not now.tour:
            return "there is no tour: `failover demo --tour` has one"
        case "suspend" if not now.may_suspend:
            return "not suspended: the gateway of this process would stop with the screen (`failover attach` may be)"
        case "what_if" if frame.snapshot is not None and frame.snapshot.mode == "BUNDLE":
            return "what-if needs an engine, and this is a bundle"
        case "sort" | "sort_direction" if now.pane not in ("sessions", "profiles"):
            return "this pane has an order of its own"
        case "filter" if now.pane == "chain":
            return "a chain is shown whole"
        case _:
            return None
