"""What a request continues that is kept at a provider (`previous_response_id`, file ids): whose it is, and that nobody else is asked
(spec/gateway.md). The memory of it is the engine's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from engine.domain.ids import SessionKey
from engine.domain.stored_answers import StoredAnswer
from engine.domain.turns import TurnRequest
from engine.gateway.engine_port import Engine

MAX_REFERENCES = 100
MAX_ID = 200


@dataclass(frozen=True, slots=True)
class Held:
    """names: the ids that a request continues. holder: who has them, None when no one is known."""

    names: tuple[str, ...] = ()
    holder: StoredAnswer | None = None

    @property
    def session(self) -> SessionKey | None:
        """Of the answer that is continued, when it is known."""
        return (self.holder.session or None) if self.holder is not None else None

    def in_request(self, request: TurnRequest) -> TurnRequest:
        if not self.names:
            return request
        if self.holder is None:
            return replace(request, held_somewhere=True, continues=self.names)
        return replace(request, held_by=(self.holder.ref, self.holder.profile), continues=self.names)


NOTHING = Held()


def held_state(references: Iterable[str], engine: Engine) -> Held:
    """The first id that is known decides: one request cannot be at two accounts."""
    names = tuple(name for name in dict.fromkeys(references) if len(name) <= MAX_ID)[:MAX_REFERENCES]
    if not names:
        return NOTHING
    return Held(names, next((found for name in names if (found := engine.stored_answer(name)) is not None), None))
