"""Pieces of patterns and wordings that several families share. No family stands here."""

from __future__ import annotations

from engine.policy.classify.families import say

BE = r"(?: (?:has|have|had|is|are|was|were|been|be|being|now|already|just|permanently|currently|could|can|either))"

TOKEN_RATE = (
    say("tpm", r"\btpm\b"),
    say("tpd", r"\btpd\b"),
    say("token+per", r"\btokens?[ -]per[ -](?:min|day|hour|second)"),
)

RATE_WORDS = (
    say("rate+limit|ratelimit", r"(?<![a-z])rate[ _-]?limit"),
    say("too+many+requests|toomanyrequests", r"too ?many ?requests"),
)
