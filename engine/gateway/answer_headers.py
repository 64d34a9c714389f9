"""The headers of an answered request (spec/gateway.md, "What comes back"). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import quote

from engine.domain.exchange import Answered
from engine.gateway.reply import masked

STREAMED = "text/event-stream"


def answer_headers(answered: Answered, turn: str, *, shows_profile: bool, took_ms: float, mask: Callable[[str], str]) -> dict[str, str]:
    """shows_profile: the caller has the operator token; the profile's id may hold an e-mail address. took_ms: until here. mask: takes
    secrets out of what the provider said."""
    answer = answered.answer
    headers = dict(masked(answer.headers, mask))
    headers.setdefault("content-type", STREAMED if answer.streamed else "application/json")
    if answer.streamed:
        headers["cache-control"] = "no-cache"
    headers["x-failover-selected"] = str(answered.selected)
    headers["x-failover-served"] = str(answered.served)
    headers["x-failover-attempts"] = str(answered.attempts)
    headers["x-failover-turn"] = turn
    if answered.reason is not None:
        headers["x-failover-reason"] = answered.reason
    if shows_profile and answered.profile is not None:
        headers["x-failover-profile"] = answered.profile
    if answered.notices:
        headers["x-failover-notice"] = ", ".join(quote(notice, safe="") for notice in answered.notices)
    headers["server-timing"] = f"gateway;dur={took_ms:.1f}"
    return headers


def notice_comments(notices: Iterable[str]) -> bytes:
    """The notices as comments of an event stream: seen by people who read the wire, by no client."""
    return b"".join(f": {' '.join(notice.splitlines())}\n\n".encode("utf-8", "replace") for notice in notices)
