"""The live screen: header, four panes, key bar. It keeps focus, layout and selection, and hands every act on to the acting desk.

It holds no state of the engine: each frame replaces what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen

from console.actions import Scope
from console.panes.chain import ChainPane
from console.panes.notices import NoticesPane
from console.panes.pane import Pane
from console.panes.profiles import ProfilesPane
from console.panes.sessions import SessionsPane
from console.view import facts, footer, header
from console.view.availability import Situation, unavailable
from console.view.frame import Frame
from console.view.layout import Layout, layout_for, too_small
from console.view.lines import Tone, span, wrap
from console.widgets.bar import Bar
from console.widgets.keys import bindings
from console.widgets.lines import LineList
from console.widgets.table import LineTable

if TYPE_CHECKING:
    from console.app import FailoverApp

_ORDER = ("sessions", "profiles", "notices", "chain")
# Where h and l lead: the columns of the wide layout.
_LEFT = {"chain": "sessions", "notices": "profiles"}
_RIGHT = {"sessions": "chain", "profiles": "notices"}


class LiveScreen(Screen[None]):
    """Four panes and what is around them. `open_pane` is the one with the focus, and the only one shown as tab or maximised."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Scope.LIVE)
    AUTO_FOCUS = "#sessions-list"
    ESCAPE_TO_MINIMIZE = False

    def __init__(self) -> None:
        super().__init__()
        self.sessions = SessionsPane()
        self.profiles = ProfilesPane()
        self.notices = NoticesPane()
        self.chain = ChainPane()
        self.panes: dict[str, Pane] = {"sessions": self.sessions, "profiles": self.profiles, "notices": self.notices, "chain": self.chain}
        self.open_pane = "sessions"
        self.layout_now = Layout.TABS
        self.header = Bar(id="header")
        self.banner = Bar(id="banner")
        self.facts = Bar(id="facts")
        self.tabs = Bar(id="tabs")
        self.keys = Bar(id="keys")
        self.small = Bar(id="small")
        self._frame = Frame(None, 0)
        self._views: dict[str, Callable[[], None]] = {
            "zoom": self._zoom,
            "filter": lambda: self.panes[self.open_pane].open_filter(),
            "sort": lambda: self._sort(LineTable.sort_by_next),
            "sort_direction": lambda: self._sort(LineTable.turn_round),
            "only_session": self._only_session,
            "back": self._back,
            "left": lambda: self._sideways(_LEFT, -1),
            "right": lambda: self._sideways(_RIGHT, 1),
            "next_problem": lambda: self._problem(1),
            "previous_problem": lambda: self._problem(-1),
            "next_match": lambda: self._match(1),
            "previous_match": lambda: self._match(-1),
            "next_pane": lambda: self._step(1),
            "previous_pane": lambda: self._step(-1),
            **{f"pane_{number}": partial(self.go_to, pane) for number, pane in enumerate(_ORDER, 1)},
        }

    @property
    def console(self) -> FailoverApp:
        return cast("FailoverApp", self.app)

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.banner
        yield self.facts
        yield self.tabs
        with Container(id="panes"):
            yield self.sessions
            yield self.chain
            yield self.profiles
            yield self.notices
        yield self.keys
        yield self.small

    def on_mount(self) -> None:
        self._lay_out(self.app.size.width, self.app.size.height)
        self._mark_open()
        self.update(self.console.frame())

    # Frames.

    def update(self, frame: Frame) -> None:
        """Everything anew from a frame. The feed is merged even while the view is frozen elsewhere: nothing is lost."""
        self._frame = frame
        self.notices.log_of_feed = self.console.feed
        for pane in self.panes.values():
            pane.update(frame)
        self.chain.bind_to(self.selected_session)
        self._bars(frame)

    def tick(self, frame: Frame) -> None:
        """A second passed: clocks and countdowns of what is visible."""
        self._frame = frame
        for pane in self.panes.values():
            if pane.display and pane.size:
                pane.tick(frame)
        self._bars(frame)

    def _bars(self, frame: Frame) -> None:
        cells = self.app.size.width
        self.header.show([header.draw(frame, cells)])
        lines = header.banner(frame)
        if self.console.tour is not None:
            lines += self.console.tour.line(frame, self.console.key_of("tour_next"))
        self.banner.show([part for line in lines for part in wrap(((" ", Tone.TEXT), *line), max(20, cells - 1), 1)])
        if self.layout_now is Layout.TABS:
            self.facts.show(facts.draw(frame, cells))
            self.tabs.show([footer.tabs(self.open_pane, self._counts(), cells)])
        self.keys.show([footer.draw(self.console.actions, self.situation(), cells)])
        if self.layout_now is Layout.TINY:
            self.small.show([span(too_small(cells, self.app.size.height), Tone.WARN)])

    def _counts(self) -> dict[str, str]:
        new = f"+{self.notices.unread}" if self.notices.unread else str(self.notices.total())
        return {"sessions": str(self.sessions.total()), "profiles": str(self.profiles.total()), "notices": new}

    def situation(self) -> Situation:
        """What is under the cursor now; acts are judged and aimed by it."""
        frame = self._frame
        profile = {"profiles": self._profile_key(), "chain": self.chain.profile}.get(self.open_pane)
        return Situation(
            frame=frame,
            pane=self.open_pane,
            session=frame.session(self.selected_session),
            profile=frame.profile(profile),
            notice=self.notices.selected,
            filtered=bool(self.panes[self.open_pane].filter_text),
            undo=self.console.acting.undo_words,
            last_act=self.console.acting.not_undoable,
            demo=self.console.around.director is not None,
            tour=self.console.tour is not None and not self.console.tour.over,
            may_suspend=self.console.around.may_suspend,
        )

    @property
    def selected_session(self) -> str | None:
        """The session under the cursor of pane 1; every act on a session is about this one, whatever has the focus."""
        selected = self.sessions.selected
        return selected.key if selected is not None else None

    def _profile_key(self) -> str | None:
        selected = self.profiles.selected
        return selected.profile if selected is not None else None

    # Keys.

    def action_press(self, action_id: str) -> None:
        self.press(action_id, self.situation())

    def press(self, action_id: str, now: Situation) -> None:
        """Do it, or say why not. `now`: what it is about, as it was when the operator asked."""
        action = self.console.actions[action_id]
        refusal = unavailable(action, now)
        if refusal is not None:
            self.console.say(refusal, "warning")
        elif action_id in self._views:
            self._views[action_id]()
            self._bars(self._frame)
        else:
            self.console.do(action_id, now)

    def go_to(self, pane: str) -> None:
        self.open_pane = pane
        self._mark_open()
        self.panes[pane].lines.focus()

    def _mark_open(self) -> None:
        for name, pane in self.panes.items():
            pane.set_class(name == self.open_pane, "-open")

    def _step(self, step: int) -> None:
        self.go_to(_ORDER[(_ORDER.index(self.open_pane) + step) % len(_ORDER)])

    def _sideways(self, way: dict[str, str], step: int) -> None:
        if self.layout_now is Layout.TABS or self.has_class("-zoom"):
            self._step(step)
        elif self.open_pane in way:
            self.go_to(way[self.open_pane])

    def _zoom(self) -> None:
        self.toggle_class("-zoom")
        self.panes[self.open_pane].lines.focus()

    def _back(self) -> None:
        pane = self.panes[self.open_pane]
        if pane.filter_text:
            pane.close_filter(clear=True)
        elif self.has_class("-zoom"):
            self._zoom()
        elif self.notices.only is not None and self.open_pane == "notices":
            self._only_session()

    def _sort(self, how: Callable[[LineTable[object]], None]) -> None:
        table = self.panes[self.open_pane].lines
        if isinstance(table, LineTable):
            how(table)
            self.panes[self.open_pane].update(self._frame)

    def _only_session(self) -> None:
        self.notices.only = None if self.notices.only is not None else self.selected_session
        self.notices.update(self._frame)

    def _problem(self, step: int) -> None:
        """Round through Sessions, then Profiles."""
        places = [(pane, row) for pane in ("sessions", "profiles") for row in self.panes[pane].problems()]
        if not places:
            self.console.say("no problems: every session is on its model, no profile is out", brief=True)
            return
        # From another pane the first is next, and the last before it.
        here = (
            (_ORDER.index(self.open_pane), self.panes[self.open_pane].lines.place)
            if self.open_pane in ("sessions", "profiles")
            else (-1, 0)
        )
        ranks = [(_ORDER.index(pane), row) for pane, row in places]
        if step > 0:
            found = next((n for n, rank in enumerate(ranks) if rank > here), 0)
        else:
            found = next((n for n in reversed(range(len(ranks))) if ranks[n] < here), len(ranks) - 1)
        pane, row = places[found]
        self.go_to(pane)
        self.panes[pane].lines.move_to(row)
        self.console.say(f"problem {found + 1} of {len(places)}", brief=True)

    def _match(self, step: int) -> None:
        """Every row that is shown is one that the filter lets through."""
        lines = self.panes[self.open_pane].lines
        count = len(lines.items)
        if count:
            lines.move_to((lines.place + step) % count)
        self.console.say(f"match {lines.place + 1} of {count}" if count else "nothing matches", brief=True)

    # Messages.

    @on(LineList.Moved, "#sessions-list")
    def _selected(self) -> None:
        self.chain.bind_to(self.selected_session)
        if self.notices.only is not None and self.selected_session is not None:
            self.notices.only = self.selected_session
            self.notices.update(self._frame)
        self.console.want_preview()

    @on(LineList.Moved)
    def _moved(self) -> None:
        for pane in self.panes.values():
            pane.retitle()
        self._bars(self._frame)

    @on(LineList.Opened)
    def _opened(self) -> None:
        self.action_press("detail")

    @on(LineTable.HeadClicked)
    def _head_clicked(self, event: LineList.HeadClicked) -> None:
        self._sort(lambda table: table.sort_by_cell(event.cell))

    @on(Bar.Clicked, "#keys")
    def _key_clicked(self, event: Bar.Clicked) -> None:
        action = footer.key_at(event.cell, self.console.actions, self.situation(), self.app.size.width)
        if action is not None:
            self.action_press(action)

    @on(Bar.Clicked, "#tabs")
    def _tab_clicked(self, event: Bar.Clicked) -> None:
        pane = footer.tab_at(event.cell, self.open_pane, self._counts(), self.app.size.width)
        if pane is not None:
            self.go_to(pane)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        for name, pane in self.panes.items():
            if event.widget in pane.walk_children():
                self.open_pane = name
        self._mark_open()
        for pane in self.panes.values():
            pane.retitle()
        self._bars(self._frame)

    def on_resize(self, event: events.Resize) -> None:
        self._lay_out(event.size.width, event.size.height)
        self._bars(self._frame)

    def _lay_out(self, width: int, height: int) -> None:
        self.layout_now = layout_for(width, height)
        for layout in Layout:
            self.set_class(layout is self.layout_now, f"-{layout.value}")
