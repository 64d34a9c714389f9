"""The acting desk: from a key press on an identity to an act that is sent, with the question before and the word after.

Reversible acts go at once and offer undo; the others ask. What an act does is the engine's; nothing here changes state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.screens.confirm import ConfirmScreen
from console.screens.form import Field, FormScreen
from console.screens.picker import Choice, PickerScreen
from console.service import ServiceDesk
from console.view import consequences
from console.view.availability import Situation
from console.view.consequences import Question
from console.view.filters import matcher
from console.view.frame import Frame, Subject
from console.view.lines import Tone, join, span
from console.view.moments import moment
from console.view.whatif import destination
from engine.domain.acts import Act, ActResult, BulkReturn, Clear, Pin, Probe, Reset, SelectModel, SetOff, Undo, Unpin
from engine.domain.errors import FailoverError
from engine.domain.foresight import AssumedAct
from engine.domain.ids import ProfileId, SessionKey
from engine.domain.snapshot import ProfileView, SessionView

if TYPE_CHECKING:
    from console.app import FailoverApp

_UNDO_KEPT = 20


@dataclass(frozen=True, slots=True)
class _Done:
    """An act that was carried out. before: what stood there, which undo brings back."""

    act_id: str
    words: str
    before: str


class ActingDesk:
    """Each method is about the identity it is given, which is the one under the cursor when the key was pressed."""

    def __init__(self, app: FailoverApp) -> None:
        self._app = app
        self._undoable: list[_Done] = []
        self.not_undoable: str | None = None
        """The last act, when it was one that cannot be taken back."""
        self.service = ServiceDesk(app, self._confirmed)

    @property
    def undo_words(self) -> str | None:
        """What `u` would take back: this console's last act, else what the engine names."""
        if self._undoable:
            return self._undoable[-1].words
        snapshot = self._app.link.snapshot
        return snapshot.undo[1] if snapshot is not None and snapshot.undo is not None else None

    def perform(self, action_id: str, now: Situation) -> None:
        """Any action of the registry that is an act."""
        session, profile = now.session, now.profile
        match action_id:
            case "pin" if session is not None:
                self.pin(session, now.frame, profile)
            case "unpin" if session is not None:
                self.send(Unpin(session.key), f"unpin {session.key}")
            case "reset" if session is not None:
                self.reset(session, now.frame)
            case "probe" if session is not None:
                self.probe(session, now.frame)
            case "model" if session is not None:
                self.model(session, now.frame)
            case "clear" if profile is not None:
                self._app.say(f"verifying {profile.profile} with one real call")
                self.send(Clear(profile.profile, verify=True), f"clear {profile.profile}")
            case "clear_blind" if profile is not None:
                self.send(Clear(profile.profile), f"clear {profile.profile}")
            case "undo":
                self.undo()
            case "off":
                self.service.off(now)
            case "on":
                self.service.on(now)
            case "bulk_return":
                self.service.all_back(now.frame)
            case "order":
                self.service.order(now)
            case _:
                self._app.say(f"{action_id} does not apply here", "warning")

    def pin(self, session: SessionView, frame: Frame, profile: ProfileView | None = None) -> None:
        snapshot = frame.snapshot
        if snapshot is None:
            return
        wanted = (consequences.provider_of_ref(session.active), consequences.provider_of_ref(session.selected))
        ranked = sorted(snapshot.profiles, key=lambda p: (p.provider not in wanted, p.provider, p.profile))
        names = consequences.names_width(tuple(ranked), frame)

        def choices(query: str) -> list[Choice]:
            test = matcher(query)
            return [
                Choice(p.profile, consequences.profile_choice(p, frame, names), consequences.pin_hint(session, p, frame))
                for p in ranked
                if test is None or test(f"{p.profile} {p.state.value}".casefold())
            ]

        def chosen(choice: str | None) -> None:
            if choice is not None and screen.wants_more:
                self._pin_with_more(session, ProfileId(choice), frame)
            elif choice is not None:
                self.send(Pin(session.key, ProfileId(choice)), f"pin {session.key} to {choice}")

        start = profile.profile if profile is not None else session.profile
        title = f"Pin a profile for {frame.look.safe(session.key)}"
        screen = PickerScreen(
            title,
            choices,
            frame,
            start=start,
            subject=Subject(session.key),
            more="with a reason or an end",
            predict=lambda choice: self._next_turn(session, Pin(session.key, ProfileId(choice))),
        )
        self._app.push_screen(screen, chosen)

    def _pin_with_more(self, session: SessionView, profile: ProfileId, frame: Frame) -> None:
        utc = frame.look.utc

        def end(text: str) -> int | None:
            return moment(text, self._app.frame().now, utc=utc) if text else None

        def said(words: tuple[str, ...] | None) -> None:
            if words is not None:
                reason, until = words
                self.send(Pin(session.key, profile, reason or None, end(until)), f"pin {session.key} to {profile}")

        fields = (
            Field("reason", "shown to everyone who looks; may stay empty"),
            Field("until", "30m, 2h, 14:30, 2026-01-05T14:30; empty: until somebody unpins", end),
        )
        title = f"Pin {frame.look.safe(session.key)} to {frame.look.safe(profile)}"
        self._app.push_screen(FormScreen(title, fields, "pin", subject=Subject(session.key)), said)

    async def _next_turn(self, session: SessionView, act: AssumedAct) -> str:
        """What the session's next turn would do once the act is done."""
        found = await self._app.operations.what_if(session.key, [act])
        frame = self._app.frame()
        refused = next((taken.text for taken in found.taken if not taken.held), None)
        if refused is not None:
            return f"would be refused: {frame.look.safe(refused)}"
        return f"next turn: {destination(found.after.next_ref, found.after.next_profile, frame)}"

    def model(self, session: SessionView, frame: Frame) -> None:
        snapshot = frame.snapshot
        refs = tuple(dict.fromkeys(("default", *(snapshot.models if snapshot is not None else ()))))

        def choices(query: str) -> list[Choice]:
            test = matcher(query)
            found = [ref for ref in refs if test is None or test(ref.casefold())]
            typed = query.strip()
            if typed and typed not in refs:
                # What is not in the list may still be a model: the engine decides, and says so if not.
                found.append(typed)
            return [
                Choice(ref, self._model_line(session, ref, frame, typed), consequences.model_hint(session, ref, frame)) for ref in found
            ]

        def chosen(choice: str | None) -> None:
            if choice is not None:
                self.send(SelectModel(session.key, choice), f"model {choice} for {session.key}")

        title = f"Model for {frame.look.safe(session.key)}"
        screen = PickerScreen(
            title,
            choices,
            frame,
            start=session.active,
            subject=Subject(session.key),
            predict=lambda choice: self._next_turn(session, SelectModel(session.key, choice)),
        )
        self._app.push_screen(screen, chosen)

    @staticmethod
    def _model_line(session: SessionView, ref: str, frame: Frame, typed: str) -> tuple[tuple[str, Tone], ...]:
        remarks = [word for word, yes in (("selected", ref == session.selected), ("active", ref == session.active)) if yes]
        if ref == "default":
            remarks.append("clears the selection")
        elif ref == typed:
            remarks.append("as typed")
        return join([span(frame.look.safe(ref), Tone.STRONG), span(", ".join(remarks), Tone.DIM)])

    def reset(self, session: SessionView, frame: Frame, how: str = "reset") -> None:
        self._ask(
            consequences.reset(session, frame), session.key, lambda: self.send(Reset(session.key, how), f"reset {session.key}", sure=True)
        )

    def probe(self, session: SessionView, frame: Frame) -> None:
        self._ask(consequences.probe(session, frame), session.key, lambda: self.send(Probe(session.key), f"probe {session.key}", sure=True))

    def undo(self) -> None:
        words = self.undo_words
        if words is None:
            return
        if self.not_undoable is not None:
            # Whoever presses it now means the last act, not the one before.
            self._app.say(f"{self.not_undoable} has no undo; {self._app.key_of('undo')} again undoes {words}", "warning")
            self.not_undoable = None
            return
        snapshot = self._app.link.snapshot
        if self._undoable:
            self.send(Undo(self._undoable[-1].act_id), f"undo {words}")
        elif snapshot is not None and snapshot.undo is not None:
            self.send(Undo(snapshot.undo[0]), f"undo {words}")

    def _ask(self, question: Question, key: SessionKey, then: Callable[[], None]) -> None:
        def answered(yes: bool | None) -> None:
            if yes:
                then()

        self._app.push_screen(ConfirmScreen(question, subject=Subject(key)), answered)

    def _confirmed(self, act: Act, words: str) -> None:
        # What opened a dialog has been asked about; the rest asks when the values are old.
        self.send(act, words, sure=isinstance(act, SetOff | BulkReturn))

    def send(self, act: Act, words: str, *, sure: bool = False) -> None:
        """Send it; when what the operator saw was old, ask first."""
        frame = self._app.frame()
        if frame.stale and not sure:
            question = consequences.stale(f"{words[:1].upper()}{words[1:]}?", frame)
            self._app.push_screen(ConfirmScreen(question), lambda yes: self.send(act, words, sure=True) if yes else None)
            return
        before = consequences.standing(act, frame)
        self._app.run_worker(self._send(act, words, before), name=f"act-{act.act}", exit_on_error=False)

    async def _send(self, act: Act, words: str, before: str) -> None:
        try:
            result = await self._app.operations.act(act, self._app.by)
        except FailoverError as error:
            self._app.say(f"{words}: {error}", "error")
        except Exception as error:
            # Not its text: what is unexpected may quote a request.
            self._app.say(f"{words}: {type(error).__name__} while sending it; look at the notices before trying again", "error")
        else:
            self._told(act, _Done(result.act_id or "", words, before), result)
        self._app.link.nudge()

    def _told(self, act: Act, done: _Done, result: ActResult) -> None:
        again = ""
        if isinstance(act, Undo):
            again = next((f"; again: {known.before}" for known in self._undoable if known.act_id == act.act_id and known.before), "")
            # Taken back or not any more possible: either way it is not offered again.
            self._undoable = [known for known in self._undoable if known.act_id != act.act_id]
        if not result.ok:
            self._app.say(result.message or f"{done.words}: refused", "warning")
            return
        if isinstance(act, Reset | Probe | BulkReturn):
            self.not_undoable = done.words
        elif result.undoable and done.act_id:
            self.not_undoable = None
            self._undoable = [*self._undoable, done][-_UNDO_KEPT:]
            again = f"  ({self._app.key_of('undo')} undoes it)"
        self._app.say(f"{result.message or done.words}{again}", "information" if result.outcome in (None, "ok") else "warning")
