"""Which account made an answer that upstream keeps (`previous_response_id`): a request that continues it can go nowhere else. What such an
answer said is not known here."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from engine.domain.ids import ModelRef, ProfileId, SessionKey

KEPT_MS = 30 * 24 * 3600 * 1000
KEPT_ANSWERS = 20_000
"""At most; the oldest go first."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """ref, profile: who made it (profile None: a provider without keys). session: of the turn, without its model. at: epoch ms."""

    ref: ModelRef
    profile: ProfileId | None
    session: SessionKey
    at: int


class StoredAnswers:
    """id -> answer, oldest first. `remember` tells what is to be stored; `find` knows none that is too old."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, StoredAnswer] = OrderedDict()

    def restore(self, stored: Mapping[str, StoredAnswer]) -> None:
        """Those of the store beside those that are known."""
        for name, answer in sorted(stored.items(), key=lambda item: item[1].at):
            self._kept.setdefault(name, answer)

    def find(self, name: str, now: int) -> StoredAnswer | None:
        found = self._kept.get(name)
        return found if found is not None and now - found.at < KEPT_MS else None

    def remember(self, name: str, answer: StoredAnswer) -> dict[str, StoredAnswer | None]:
        """What changed: the new one, and the ones that had to go (None)."""
        self._kept[name] = answer
        self._kept.move_to_end(name)
        changed: dict[str, StoredAnswer | None] = {name: answer}
        while self._kept:
            oldest, kept = next(iter(self._kept.items()))
            if len(self._kept) <= KEPT_ANSWERS and answer.at - kept.at < KEPT_MS:
                break
            del self._kept[oldest]
            changed[oldest] = None
        return changed
