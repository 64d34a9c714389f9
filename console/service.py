"""Acts on what all sessions share: out of service and back, all sessions back to their primaries, the order of a provider's profiles.
Each says whom it moves before it is confirmed. What an act does is the engine's; nothing here changes state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.screens.confirm import ConfirmScreen
from console.screens.form import Field, FormScreen
from console.screens.order import Chosen, OrderScreen, Rank
from console.screens.picker import Choice, PickerScreen
from console.view import consequences, targets, whatif
from console.view.availability import Situation
from console.view.consequences import Question
from console.view.filters import matcher
from console.view.frame import Frame
from console.view.lines import Line, span
from engine.domain.acts import Act, BulkReturn, SetOff, SetOn, SetOrder
from engine.domain.foresight import AssumedAct
from engine.domain.ids import ProfileId

if TYPE_CHECKING:
    from console.app import FailoverApp

Send = Callable[[Act, str], None]


@dataclass(slots=True)
class ServiceDesk:
    """send: carries a confirmed act out, and says what came of it."""

    app: FailoverApp
    send: Send

    def off(self, now: Situation) -> None:
        """Which of the things under the cursor, then whom it moves, then `y`."""
        offered = targets.in_service(now)

        def choices(query: str) -> list[Choice]:
            test = matcher(query)
            found = [t for t in offered if test is None or test(f"{t.id} {t.kind}".casefold())]
            return [
                Choice(t.id, targets.draw(t, now.frame), f"Takes {now.frame.look.safe(t.id)} from every session. Asks first.")
                for t in found
            ]

        screen = PickerScreen("Take out of service", choices, now.frame, more="give a reason")

        def chosen(target: str | None) -> None:
            if target is None:
                return
            if not screen.wants_more:
                self._confirm_off(target, None, now.frame)
                return
            form = FormScreen(
                f"Why is {now.frame.look.safe(target)} out of service?", [Field("reason", "shown to everyone who looks")], "go on"
            )
            self.app.push_screen(form, lambda said: self._confirm_off(target, said[0] or None, now.frame) if said is not None else None)

        self.app.push_screen(screen, chosen)

    def _confirm_off(self, target: str, reason: str | None, frame: Frame) -> None:
        act = SetOff(target, reason)
        question = consequences.out_of_service(target, reason, frame)
        self._ask(question, act, f"{target} out of service")

    def on(self, now: Situation) -> None:
        """At once when the cursor is on what is off, or when there is only one such thing."""
        out = targets.out_of_service(now)
        here = [t for t in out if now.profile is not None and t.id == now.profile.profile]
        if here or len(out) == 1:
            self._back((here or out)[0].id)
            return

        def choices(query: str) -> list[Choice]:
            test = matcher(query)
            return [
                Choice(t.id, targets.draw(t, now.frame), "Back in service at once; undo takes it back.")
                for t in out
                if test is None or test(f"{t.id} {t.kind}".casefold())
            ]

        screen = PickerScreen("Back in service", choices, now.frame)
        self.app.push_screen(screen, lambda target: self._back(target) if target is not None else None)

    def _back(self, target: str) -> None:
        self.send(SetOn(target), f"{target} back in service")

    def all_back(self, frame: Frame) -> None:
        question = consequences.all_back(frame)
        self._confirm(question, lambda: self.send(BulkReturn(), "all sessions back to their primaries"))

    def order(self, now: Situation) -> None:
        """Of the provider under the cursor; the act is reversible, so it happens when the editor is left with enter."""
        snapshot, frame = now.frame.snapshot, now.frame
        if snapshot is None:
            return
        provider = targets.provider_of(now)
        known = next((order for order in snapshot.orders if order.provider == provider), None)
        if provider is None or known is None:
            self.app.say("there is no provider with profiles under the cursor", "warning")
            return
        others = [p.profile for p in snapshot.profiles if p.provider.lower() == provider and p.profile not in known.profiles]
        ranks = [*(Rank(p) for p in known.profiles), *(Rank(p, used=False) for p in others)]
        width = max((len(frame.look.safe(rank.profile)) for rank in ranks), default=8)

        def draw(profile: ProfileId) -> Line:
            view = frame.profile(profile)
            return consequences.profile_choice(view, frame, min(36, width)) if view is not None else span(frame.look.safe(profile))

        def done(chosen: Chosen | None) -> None:
            if chosen is None or (chosen.profiles is not None and chosen.profiles == known.profiles):
                return
            self.send(SetOrder(provider, chosen.profiles), f"order of {provider}")

        title = f"Order of {frame.look.safe(provider)}'s profiles, for all sessions"
        self.app.push_screen(OrderScreen(title, ranks, known.rule, draw, frame), done)

    def _ask(self, question: Question, act: AssumedAct, words: str) -> None:
        async def whom() -> tuple[Line, ...]:
            return whatif.moves(await self.app.operations.moves([act]), self.app.frame())

        self._confirm(question, lambda: self.send(act, words), whom)

    def _confirm(
        self, question: Question, then: Callable[[], None], later: Callable[[], Awaitable[tuple[Line, ...]]] | None = None
    ) -> None:
        self.app.push_screen(ConfirmScreen(question, later=later), lambda yes: then() if yes else None)
