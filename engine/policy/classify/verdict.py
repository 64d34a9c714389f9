"""What the classifier answers, and the small value that travels inside it: a reason together with the row that gave it.
No rule stands here."""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.reasons import FailoverReason


@dataclass(frozen=True, slots=True)
class Classification:
    """reason: None when no rule matched. family: the row that decided (`status.429`, `text.billing`, `code.insufficient_quota`,
    `provider.openrouter.key-limit`, `page.challenge`...), `none` with a null reason."""

    reason: FailoverReason | None
    family: str


NOTHING = Classification(None, "none")
