"""HTML where an API answer was expected: an edge, a proxy or a challenge spoke, not the model's provider (precedence 1, R15).
Tells what kind of page it is; which reason follows is decided in `precedence`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.policy.classify.texts import HEAD, Folded, clip, fold, folded

_OPENING = re.compile(
    r"[^<{\[]{0,80}(?:<\?xml[^<>]{0,200}>\s{0,20})?(?:<!--[^<>]{0,400}-->\s{0,20}){0,3}<(?:!doctype\s{1,9}html|html|head|title)\b",
    re.IGNORECASE,
)
_TITLE = re.compile(r"<title[^<>]{0,100}>([^<]{0,300})", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_CHALLENGE = ("just a moment", "challenge-platform", "_cf_chl", "enable javascript and cookies", "checking your browser")


@dataclass(frozen=True, slots=True)
class Page:
    """title: as it came, may be empty. words: folded text of the page's beginning, without tags. challenge: a browser check."""

    title: str
    words: Folded
    challenge: bool


def page_in(raw: str, headers: Mapping[str, str]) -> Page | None:
    """The page that a text is, or None when it is no HTML. A short prefix (`502 <html>`) is allowed."""
    if "<" not in raw[:120] and "<" not in raw[:1024].lstrip()[:120]:
        return None
    if not _OPENING.match(raw) and not ("text/html" in headers.get("content-type", "") and raw.lstrip()[:1] == "<"):
        return None
    title = _TITLE.search(raw, 0, HEAD)
    seen = clip(raw).lower()
    return Page(
        title.group(1).strip() if title else "",
        folded(fold(_TAG.sub(" ", raw[:HEAD])).text[:400]),
        any(mark in seen for mark in _CHALLENGE),
    )
