"""The console as a Textual app: it holds snapshots, makes frames of them, and gives each screen the newest.

It reaches the engine through `Operations` only. What is drawn is decided in `console.view`, what is sent in `console.acting`;
starting engines, arguments and signals are the command line's."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

from rich.console import RenderableType
from textual import events, on
from textual.app import App
from textual.binding import BindingType
from textual.filter import ANSIToTruecolor, LineFilter, NoColor
from textual.notifications import Notification, Notify
from textual.screen import Screen
from textual.widgets import Input
from textual.worker import WorkType

from console import clipboard, insight, palette
from console.acting import ActingDesk
from console.actions import key_name
from console.around import Around
from console.cli.crash import write_details
from console.driver import ConsoleDriver
from console.exporting import export
from console.keymap import complaints, pressed, resolve, textual_keymap
from console.link import REFRESH_S, Link
from console.presence import Baseline, Presence
from console.ringing import Ringing
from console.screens.confirm import ConfirmScreen
from console.screens.faults import FaultScreen
from console.screens.form import FormScreen
from console.screens.live import LiveScreen
from console.screens.modal import Modal
from console.screens.order import OrderScreen
from console.screens.picker import PickerScreen
from console.screens.text import TextScreen
from console.screens.whatif import WhatIfScreen
from console.styles import ALIASES, ANSI, DARK, THEMES, tone_defaults
from console.view import consequences
from console.view.availability import Situation
from console.view.frame import Frame, Truth
from console.view.look import Look
from console.view.notices import FeedLog
from console.view.text import literal
from console.view.tour import Tour
from console.widgets.narrow import narrowed
from engine.domain.clock import SystemClock
from engine.domain.errors import FailoverError
from engine.domain.ids import SessionKey
from engine.domain.operations import Operations
from engine.domain.redaction import SINK
from engine.domain.snapshot import Snapshot

Severity = Literal["information", "warning", "error"]
_TOAST_S = 6.0
_BRIEF_S = 2.0
_NAMED_EVERY_MS = 1_000
_PREVIEW_PAUSE_S = 0.05


class FailoverApp(App[str], inherit_bindings=False):
    """The console on any engine.

    clock: epoch ms of this machine, monotonic. ticker: the 1 Hz timer (off in tests). by: who acts, for the audit record.
    keymap: action id -> keys. owns_engine: leaving ends the gateway, so `q` asks while turns are in flight. no_color: None asks
    the environment. copy_file: what `y` copies is written there too, for terminals without OSC 52. The app's result is what
    should be left in the scrollback. around: alerts, bundles, the demo."""

    CSS_PATH = "styles/console.tcss"
    TITLE = "failover"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self,
        operations: Operations,
        *,
        clock: Callable[[], int] | None = None,
        ticker: bool = True,
        read_only: bool = False,
        by: str = "operator",
        utc: bool = False,
        keymap: Mapping[str, str] | None = None,
        theme: str = "dark",
        ascii_only: bool = False,
        no_color: bool | None = None,
        reduced_motion: bool = False,
        owns_engine: bool = True,
        copy_file: Path | None = None,
        refresh_s: float = REFRESH_S,
        around: Around | None = None,
    ) -> None:
        plain = "NO_COLOR" in os.environ if no_color is None else no_color
        super().__init__(driver_class=ConsoleDriver, ansi_color=True if plain else None)
        if plain and not self.no_color:
            # Textual looks at the environment only; asked for by option, it is the same filter.
            self.no_color = True
            self._filters.append(NoColor())
        for known in THEMES:
            self.register_theme(known)
        self.theme = ANSI.name if plain else self._theme_name(theme)
        self.set_class(plain or self.theme == ANSI.name, "-plain")
        self.set_class(ascii_only, "-ascii")
        self.animation_level = "none"
        self.operations = operations
        self.by = by
        self.actions = resolve(keymap)
        self.feed = FeedLog()
        self.look = Look(utc=utc, ascii_only=ascii_only, reduced_motion=reduced_motion)
        self.acting = ActingDesk(self)
        self.clock = clock or SystemClock().now_ms
        self.owns_engine = owns_engine
        self.around = around or Around()
        self.tour = Tour() if self.around.tour else None
        self._ringing = Ringing(self)
        self.link = Link(operations, lambda: self.clock(), self._changed, refresh_s=refresh_s, on_event=self._ringing.heard)
        self._keymap_words = complaints(keymap)
        self._read_only = read_only
        self._ticks = ticker
        self._copy_file = copy_file
        self._held: tuple[Snapshot, int, FeedLog, int] | None = None
        self.presence = Presence()
        self._brief: Notification | None = None
        self._named_at = 0
        self.live = LiveScreen()
        self.set_keymap(textual_keymap(self.actions))

    def get_default_screen(self) -> LiveScreen:
        return self.live

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, narrowed(renderable))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return tone_defaults()

    def get_line_filters(self) -> Sequence[LineFilter]:
        # Our themes use either true colours or the terminal's own, never both: nothing is to be translated with every paint.
        return [known for known in super().get_line_filters() if not isinstance(known, ANSIToTruecolor)]

    def _theme_name(self, theme: str) -> str:
        name = ALIASES.get(theme, theme)
        return name if name in self.available_themes else DARK.name

    def on_mount(self) -> None:
        self.run_worker(self.link.run(), name="link", exit_on_error=False)
        if self._ticks:
            self.set_interval(1.0, self._tick, name="seconds")
        for words in self._keymap_words:
            self.say(words, "warning")

    # Frames: what every screen draws.

    def frame(self) -> Frame:
        """The newest frame; while the view is frozen, the one it was frozen at."""
        link = self.link
        snapshot, feed = link.snapshot, self.feed
        now = self._engine_now()
        behind = 0
        if self._held is not None:
            snapshot, now, feed, seen = self._held
            behind = link.events - seen
        return Frame(
            snapshot=snapshot,
            now=now,
            look=self.look,
            truth=self._truth(),
            age_ms=link.age_ms,
            behind=behind,
            trouble=link.trouble or "",
            since_key=len(feed.after(self.presence.since.seq)) if self.presence.since.snapshot is not None else 0,
            read_only=self._read_only,
        )

    def _engine_now(self) -> int:
        """The engine's clock, carried on from its last word at the speed of its policy time."""
        snapshot = self.link.snapshot
        if snapshot is None:
            return self.clock()
        return snapshot.now + int((self.clock() - self.link.received_at) * snapshot.speed)

    def _truth(self) -> Truth:
        link = self.link
        if link.trouble is not None:
            return Truth.DOWN
        if link.snapshot is None:
            return Truth.WAITING
        if self._held is not None:
            return Truth.FROZEN
        return Truth.STALE if link.stale else Truth.LIVE

    def _changed(self) -> None:
        """The link has news: a snapshot, or trouble."""
        snapshot = self.link.snapshot
        if snapshot is not None and self._held is None:
            self.feed = self.feed.merged(snapshot.feed)
            self.presence.began(Baseline(snapshot, self.feed.last_seq))
        if not self.live.is_mounted:
            return
        frame = self.frame()
        self._ringing.seen(frame)
        if self._held is None:
            self.live.update(frame)
            self.want_preview()
        else:
            self.live.tick(frame)
        self._follow(frame)

    def _follow(self, frame: Frame) -> None:
        """What is open over the live screen follows; a dialog whose thing is gone closes and says so."""
        top = self.screen
        if isinstance(top, ConfirmScreen | PickerScreen | FormScreen | WhatIfScreen | OrderScreen | FaultScreen):
            if not top.follow(frame) and top.subject is not None:
                self.say(top.subject.gone, "warning")
        elif isinstance(top, TextScreen):
            top.follow(frame)

    def _tick(self) -> None:
        """Once a second. Behind a dialog nothing moves."""
        if self.screen is self.live:
            self.live.tick(self.frame())
        elif isinstance(self.screen, TextScreen | FaultScreen):
            self.screen.follow(self.frame())

    def want_preview(self) -> None:
        """Ask what the selected session's next turn would do; the last question wins."""
        key = self.live.selected_session
        if key is not None:
            self.run_worker(self._preview(SessionKey(key)), name="preview", group="preview", exclusive=True, exit_on_error=False)

    async def _preview(self, key: SessionKey) -> None:
        # Holding j down asks once, at the end.
        await asyncio.sleep(_PREVIEW_PAUSE_S)
        try:
            preview = await self.operations.preview(key)
        except FailoverError as error:
            self.live.chain.show_problem(key, error.title, self.frame())
        except Exception as error:
            self.live.chain.show_problem(key, type(error).__name__, self.frame())
        else:
            self.live.chain.show_preview(preview, self.frame())

    # Keys.

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.presence.key(self.clock(), Baseline(self.link.snapshot, self.feed.last_seq))
        elif isinstance(event, events.Paste) and not event.is_forwarded:
            event.text = literal(event.text.strip(), ascii_only=self.look.ascii_only)
            if not isinstance(self.focused, Input):
                self.say(f"pasted text is not taken for keys; {self._where_keys_are()}", brief=True)
        await super().on_event(event)

    def on_key(self, event: events.Key) -> None:
        """A key came by that no field took; if it is bound to nothing either, that is said, once a second at most."""
        name = pressed(event.key, event.character, ascii_only=self.look.ascii_only)
        if name is None or event.key in self.screen.active_bindings or self.clock() - self._named_at < _NAMED_EVERY_MS:
            return
        self._named_at = self.clock()
        self.say(f"{name} does nothing here; {self._where_keys_are()}", "warning", brief=True)

    def _where_keys_are(self) -> str:
        return self.screen.ways_out if isinstance(self.screen, Modal) else f"{self.key_of('help')} lists the keys"

    def do(self, action_id: str, now: Situation) -> None:
        """An action of the live screen that is no matter of panes and focus."""
        if self.actions[action_id].act:
            self.acting.perform(action_id, now)
            return
        match action_id:
            case "freeze":
                self._freeze()
            case "time":
                self._look(Look(not self.look.utc, self.look.ascii_only, self.look.reduced_motion))
            case "theme":
                self._next_theme()
            case "copy":
                self.copy_text(insight.identity(now))
            case "copy_detail":
                self.run_worker(insight.copy_detail(self, now), name="copy", exit_on_error=False)
            case "export":
                work: WorkType[None] = partial(export, self)
                self.run_worker(work, name="export", group="export", exclusive=True, exit_on_error=False)
            case "faults" if self.around.director is not None:
                self.push_screen(FaultScreen(self.around.director, self.frame()))
            case "tour_next" if self.tour is not None:
                self.tour.go_on()
                self.live.update(self.frame())
            case "suspend":
                self.action_suspend_process()
            case "palette":
                palette.open_palette(self, now)
            case "quit":
                self.ask_to_quit()
            case "quit_tables":
                self.exit(insight.tables(self.frame(), self.feed))
            case _:
                insight.open_text(self, action_id, now)

    def _freeze(self) -> None:
        if self._held is not None:
            self._held = None
            self._changed()
        elif self.link.snapshot is not None:
            self._held = (self.link.snapshot, self._engine_now(), self.feed, self.link.events)
            self.live.update(self.frame())

    def _look(self, look: Look) -> None:
        self.look = look
        self.live.update(self.frame())

    def _next_theme(self) -> None:
        if self.no_color:
            self.say("NO_COLOR is set: there is one theme, without colours", "warning")
            return
        names = [theme.name for theme in THEMES]
        place = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(place + 1) % len(names)]
        self.set_class(self.theme == ANSI.name, "-plain")
        self.say(f"theme {self.theme}")
        self.live.update(self.frame())

    def ask_to_quit(self) -> None:
        """At once when nothing is lost by it; always possible."""
        frame = self.frame()
        busy = frame.snapshot is not None and frame.snapshot.traffic.in_flight > 0 and frame.truth is not Truth.DOWN
        if not (busy and self.owns_engine):
            self.exit("")
            return
        question = consequences.quitting(frame, self.owns_engine)
        self.push_screen(ConfirmScreen(question, interrupt=True), lambda yes: self.exit("") if yes else None)

    # Words to the operator.

    def say(self, text: str, severity: Severity = "information", *, brief: bool = False) -> None:
        """A toast. The text may be foreign: it is drawn as it stands, never as markup. brief: it goes soon, and the next such takes its
        place. The same words twice are one toast."""
        words = literal(text, ascii_only=self.look.ascii_only)
        for shown in [n for n in self._notifications if n.message == words or (brief and n is self._brief)]:
            self._unnotify(shown, refresh=False)
        toast = Notification(words, severity=severity, timeout=_BRIEF_S if brief else _TOAST_S, markup=False)
        if brief:
            self._brief = toast
        self.post_message(Notify(toast))

    def key_of(self, action_id: str) -> str:
        """The key to name in a sentence; the palette's way for an action that has none."""
        keys = self.actions[action_id].keys
        return key_name(keys[0], ascii_only=self.look.ascii_only) if keys else f":{self.actions[action_id].label}"

    def copy_text(self, text: str | None) -> None:
        """To the clipboard and the copy file, masked and harmless."""
        if not text:
            self.say("there is nothing to copy here", "warning")
            return
        text = SINK.mask(text)
        self.copy_to_clipboard(text)
        lines = text.count("\n") + 1
        what = text if lines == 1 else f"{lines} lines"
        self.say(f"copied {what}{clipboard.to_file(clipboard.harmless(text), self._copy_file)}")

    @on(TextScreen.Copied)
    def _copied(self, event: TextScreen.Copied) -> None:
        self.copy_text(event.text)

    def copy_to_clipboard(self, text: str) -> None:
        """OSC 52; inside tmux also wrapped, because tmux hands only wrapped sequences on to the terminal around it."""
        text = clipboard.harmless(text)
        super().copy_to_clipboard(text)
        wrapped = clipboard.for_tmux(text)
        if wrapped is not None and self._driver is not None:
            self._driver.write(wrapped)

    def _fatal_error(self) -> None:
        """A crash is one line and a file with the masked details, as for every other command; Textual would print local variables."""
        error = self._exception or sys.exc_info()[1] or RuntimeError("unknown")
        path = write_details(error)
        words = f"failover: unexpected {type(error).__name__}: {literal(SINK.mask(str(error)), 200)}"
        self._exit_renderables.append(f"{words}\n  details: {path or 'could not be written'}")
        self._close_messages_no_wait()
