"""Who wrote which field of a session's record, and the turns that ended lately: for the detail screens only. Bounded, process-local, and
read by no decision."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from itertools import islice

from engine.domain.foresight import AttemptView, FieldView, SessionDetail, TurnRecord
from engine.domain.ids import SessionKey
from engine.domain.naming import camel
from engine.domain.redaction import Redactor
from engine.domain.sessions import NEW_SESSION, SESSION_FIELDS, Session
from engine.domain.turns import TurnResult

MAX_SESSIONS = 4_096
MAX_TURNS = 2_000
SHOWN_TURNS = 20


class Provenance:
    """redactor: what is shown of a provider's words goes through it."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._writers: OrderedDict[SessionKey, dict[str, tuple[str, int]]] = OrderedDict()
        self._turns: deque[TurnRecord] = deque(maxlen=MAX_TURNS)

    def wrote(self, key: SessionKey, before: Session, after: Session, by: str, at: int) -> None:
        """What differs was written by that rule or person."""
        changed = [name for name in SESSION_FIELDS if name != "updated_at" and getattr(before, name) != getattr(after, name)]
        self.signed(key, changed, by, at)

    def signed(self, key: SessionKey, fields: Iterable[str], by: str, at: int) -> None:
        """These fields are that person's or rule's, whoever carried it out."""
        fields = list(fields)
        if not fields:
            return
        self._writers.setdefault(key, {}).update(dict.fromkeys(fields, (by, at)))
        self._writers.move_to_end(key)
        while len(self._writers) > MAX_SESSIONS:
            self._writers.popitem(last=False)

    def ended(self, result: TurnResult, began: int, now: int) -> None:
        attempts = tuple(
            AttemptView(str(a.ref), a.profile, str(a.outcome), a.at_ms, a.ms, a.reason, a.status, a.rule, self._masked(a.error))
            for a in result.attempts
        )
        self._turns.append(
            TurnRecord(
                result.turn,
                result.session,
                began,
                max(0, now - began),
                str(result.outcome),
                str(result.selected),
                str(result.active) if result.active is not None else None,
                attempts,
                result.notices,
            )
        )

    def detail(self, key: SessionKey, session: Session) -> SessionDetail:
        writers = self._writers.get(key, {})
        fields = []
        for name in SESSION_FIELDS:
            value = getattr(session, name)
            if value is None or value is False or (name == "compaction_count" and value == 0):
                continue
            by, at = writers.get(name, (None, None))
            fields.append(FieldView(camel(name), self._masked(str(value)) or "", by, at))
        turns = tuple(islice((turn for turn in reversed(self._turns) if turn.session == key), SHOWN_TURNS))
        return SessionDetail(key, turns, tuple(fields) if session is not NEW_SESSION else ())

    def _masked(self, text: str | None) -> str | None:
        return self._redactor.mask(text) if text else None
