"""What opens to be read: details, decisions, what happened, help; and what `y` copies and `Q` leaves behind.

Reading only. The lines are made in `console.view`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from console.screens.text import TextScreen
from console.screens.whatif import WhatIfScreen
from console.view import cause, changes, detail, help, notices, profiles, sessions, why
from console.view.assumptions import Place
from console.view.availability import Situation
from console.view.frame import Frame
from console.view.lines import Line, Tone, plain, span
from console.view.notices import FeedLog
from console.view.records import Record
from console.view.table import Column, draw_head, draw_row, lay_out, wanted_widths
from engine.domain.errors import FailoverError
from engine.domain.foresight import SessionDetail
from engine.domain.ids import ProfileId, SessionKey
from engine.domain.snapshot import FeedEntry, Preview

if TYPE_CHECKING:
    from console.app import FailoverApp

T = TypeVar("T")

_RECORDS = 200
_TABLE_WIDTH = 120
_NOTICE_WIDTH = 1_000
"""The scrollback wraps; cut, the words of a notice would be lost."""

_LAST_NOTICES = 15
_NEVER = object()


def open_text(app: FailoverApp, action_id: str, now: Situation) -> None:
    """The screen for an action that only shows something."""
    match action_id:
        case "why" if now.session is not None:
            _open_why(app, now.session.key)
        case "since":
            before = app.presence.look()
            feed = app.feed.after(before.seq)
            screen = TextScreen(
                "What happened since you last looked", lambda frame, _: changes.draw(before.snapshot, frame, feed), app.frame()
            )
            app.push_screen(screen)
        case "help":
            app.push_screen(TextScreen("Keys and words", lambda frame, _: help.draw(app.actions, now), app.frame(), hang=help.KEYS))
        case "what_if" if now.session is not None:
            _open_what_if(app, now.session.key, now)
        case "detail" | "status":
            _open_detail(app, now, "sessions" if action_id == "status" else now.pane)


def _open_why(app: FailoverApp, key: SessionKey) -> None:
    held: list[Sequence[Record] | None] = [None]

    def make(frame: Frame, cells: int) -> tuple[Line, ...]:
        session = frame.session(key)
        if session is None:
            top: tuple[Line, ...] = (span("this session is gone", Tone.WARN),)
        else:
            top = cause.draw(session, held[0], frame, _preview(app, key))
        return (*top, (), *((span("asking the engine", Tone.DIM),) if held[0] is None else why.draw(held[0], frame)))

    _open_with_records(app, TextScreen(f"Why · {app.look.safe(key)}", make, app.frame(), copy=key), key, held)


def _preview(app: FailoverApp, key: SessionKey) -> Preview | None:
    """The session's, while the Chain pane holds it."""
    preview = app.live.chain.preview
    return preview if preview is not None and preview.session == key else None


def _open_what_if(app: FailoverApp, key: SessionKey, now: Situation) -> None:
    profile = now.profile.profile if now.profile is not None else None
    place = Place(key, now.frame.now, profile, app.look.utc)
    app.push_screen(WhatIfScreen(place, lambda assumed: app.operations.what_if(key, assumed), app.frame()))


def _open_detail(app: FailoverApp, now: Situation, pane: str) -> None:
    if pane == "profiles" or (pane == "chain" and now.profile is not None):
        if now.profile is not None:
            _open_profile(app, now.profile.profile)
    elif pane == "notices":
        entry = now.notice
        if entry is not None:
            _open_notice(app, entry)
    elif now.session is not None:
        _open_session(app, now.session.key)


def _open_notice(app: FailoverApp, entry: FeedEntry) -> None:
    """With the turn that it came from, if it names one."""
    held: list[Sequence[Record] | None] = [None]

    def make(frame: Frame, cells: int) -> tuple[Line, ...]:
        lines = detail.notice(entry, frame)
        if entry.turn is None:
            return lines
        records = (span("asking the engine", Tone.DIM),) if held[0] is None else why.draw(held[0], frame)
        return (*lines, (), span("The turn it came from", Tone.HEAD), *records)

    screen = TextScreen("Notice", make, app.frame(), copy=entry.turn or entry.text)
    if entry.turn is None:
        app.push_screen(screen)
    else:
        _open_with_records(app, screen, None, held, turn=entry.turn)


def _open_profile(app: FailoverApp, profile: ProfileId) -> None:
    def make(frame: Frame, cells: int) -> tuple[Line, ...]:
        view = frame.profile(profile)
        return detail.profile(view, frame, app.feed.entries) if view is not None else (span("this profile is gone", Tone.WARN),)

    app.push_screen(TextScreen(f"Profile · {app.look.safe(profile)}", make, app.frame(), copy=profile))


def _open_session(app: FailoverApp, key: SessionKey) -> None:
    held: list[Sequence[Record] | None] = [None]
    found: list[SessionDetail | None] = [None]

    def make(frame: Frame, cells: int) -> tuple[Line, ...]:
        view = frame.session(key)
        if view is None:
            return (span("this session is gone", Tone.WARN),)
        return detail.session(view, frame, _preview(app, key), held[0], cells, found[0])

    screen = TextScreen(f"Session · {app.look.safe(key)}", make, app.frame(), copy=key)
    _open_with_records(app, screen, key, held, found)


def _open_with_records(
    app: FailoverApp,
    screen: TextScreen,
    key: SessionKey | None,
    held: list[Sequence[Record] | None],
    found: list[SessionDetail | None] | None = None,
    *,
    turn: str | None = None,
) -> None:
    """The screen, and its records: asked for when it opens, and again when the session has come to another model or a turn has ended."""
    asked_at: list[object] = [_NEVER]

    async def fetch() -> None:
        try:
            if found is not None and key is not None:
                found[0] = await app.operations.detail(key)
            held[0] = await app.operations.decisions(session=key, turn=turn, limit=_RECORDS)
        except FailoverError as error:
            app.say(f"no decisions: {error.title}", "error")
        except Exception as error:
            app.say(f"no decisions: {type(error).__name__}", "error")
        if screen.is_mounted:
            screen.follow(app.frame())

    def ask(frame: Frame) -> None:
        session = frame.session(key)
        mark = None if session is None else (session.active, session.since, session.last_outcome, bool(session.in_flight))
        if mark != asked_at[0]:
            asked_at[0] = mark
            app.run_worker(fetch(), name="decisions", group="decisions", exclusive=True, exit_on_error=False)

    screen.ask = ask
    app.push_screen(screen)


async def copy_detail(app: FailoverApp, now: Situation) -> None:
    """What `Y` copies: the detail screen of the row under the cursor, as text."""
    frame = app.frame()
    lines: Sequence[Line] = ()
    if now.pane in ("profiles", "chain") and now.profile is not None:
        lines = detail.profile(now.profile, frame, app.feed.entries)
    elif now.pane == "notices" and now.notice is not None:
        lines = detail.notice(now.notice, frame)
    elif now.session is not None:
        try:
            found = await app.operations.detail(now.session.key)
            records = await app.operations.decisions(session=now.session.key, limit=_RECORDS)
        except FailoverError as error:
            app.say(f"not copied: {error.title}", "error")
            return
        lines = detail.session(now.session, frame, None, records, _TABLE_WIDTH, found)
    app.copy_text("\n".join(plain(line).rstrip() for line in lines))


def identity(now: Situation) -> str | None:
    """What `y` copies: the id under the cursor."""
    if now.pane in ("profiles", "chain") and now.profile is not None:
        return now.profile.profile
    if now.pane == "notices" and now.notice is not None:
        return now.notice.turn or now.notice.text
    return now.session.key if now.session is not None else None


def tables(frame: Frame, feed: FeedLog) -> str:
    """The last tables as plain text, for the scrollback."""
    snapshot = frame.snapshot
    if snapshot is None:
        return ""
    people = sessions.rows(snapshot.sessions, "", sessions.DEFAULT_ORDER, frame)
    keys = profiles.rows(snapshot.profiles, "", profiles.DEFAULT_ORDER, frame)
    lines = [
        *_table(sessions.COLUMNS, people, _TABLE_WIDTH, frame),
        "",
        *_table(profiles.COLUMNS, keys, _TABLE_WIDTH, frame),
        "",
        *_table(notices.COLUMNS, feed.entries[-_LAST_NOTICES:], _NOTICE_WIDTH, frame)[1:],
    ]
    return "\n".join(line.rstrip() for line in lines)


def _table(columns: Sequence[Column[T]], items: Sequence[T], cells: int, frame: Frame) -> list[str]:
    """Its titles, then its rows."""
    widths = lay_out(columns, cells, wanted_widths(columns, items, frame))
    by_id = {column.id: column for column in columns}
    return [plain(draw_head(by_id, widths, None, frame)), *(plain(draw_row(by_id, widths, item, frame)) for item in items)]
