"""A file's content as nouns, and the engine's own unwritten changes laid over it. Runs `load` on a connection's thread: fifty thousand
sessions take a moment; `lay_over` runs in the loop and looks at the touched records only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.domain.ids import SessionKey
from engine.domain.leases import Lease
from engine.domain.sessions import Session
from engine.domain.store import Change, StoredAgent
from engine.domain.stored_answers import StoredAnswer
from engine.domain.usage import OperatorOff
from store.codec import Record
from store.rows import Notes, Rows, read_agent, read_answers, read_feed, read_leases, read_off, read_sessions
from store.sqlite.rows import read
from store.sqlite.schema import Kind


@dataclass(slots=True)
class Loaded:
    """Of an agent's file only `agent` is filled, of the shared one the rest."""

    kind: Kind
    rows: Rows
    notes: tuple[str, ...] = ()
    agent: StoredAgent = field(default_factory=StoredAgent)
    sessions: dict[SessionKey, Session] = field(default_factory=dict)
    off: Mapping[str, OperatorOff] = field(default_factory=dict)
    feed: tuple[Record, ...] = ()
    answers: Mapping[str, StoredAnswer] = field(default_factory=dict)
    leases: tuple[Lease, ...] = ()

    def lay_over(self, changes: Iterable[Change]) -> None:
        """As if these changes were in the file already; log records are left out, they may be there."""
        self.rows.touched.clear()
        for change in changes:
            self.rows.apply(change, logs=False)
        if not self.rows.touched:
            return
        unheard = Notes("")
        if self.kind == "agent":
            self.agent = read_agent(self.rows, unheard)
            return
        self.off = read_off(self.rows, unheard)
        self.leases = read_leases(self.rows, unheard)
        if any(table == "stored_answers" for table, _ in self.rows.touched):
            self.answers = read_answers(self.rows, unheard)
        held = self.rows.tables["sessions"]
        for table, key in self.rows.touched:
            if table == "sessions":
                self.sessions.pop(SessionKey(key), None)
                self.sessions.update(read_sessions({key: held[key]} if key in held else {}, unheard))


def load(connection: sqlite3.Connection, kind: Kind, where: str) -> Loaded:
    """Everything that decisions need, as of one instant. where: how notes name the file. Raises sqlite3.Error."""
    notes = Notes(where)
    rows = read(connection, kind, notes)
    loaded = Loaded(kind, rows)
    if kind == "agent":
        loaded.agent = read_agent(rows, notes)
    else:
        loaded.sessions = read_sessions(rows.tables["sessions"], notes)
        loaded.off = read_off(rows, notes)
        loaded.answers = read_answers(rows, notes)
        loaded.leases = read_leases(rows, notes)
        loaded.feed = read_feed(rows)
    loaded.notes = notes.lines()
    return loaded
