"""The words that the live engine shares with providers and gateway, under the name by which its modules know them. Defined in
`engine.domain.exchange`, because `engine.providers` lies below this room; nothing is defined here."""

from engine.domain.exchange import Answer, AnswerBroken, Answered, AttemptFailed, Payload, Upstream

__all__ = ["Answer", "AnswerBroken", "Answered", "AttemptFailed", "Payload", "Upstream"]
