"""The filter line: words that must all be there, `!word` for what must not. Case does not matter; nothing is a pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def matcher(query: str) -> Callable[[str], bool] | None:
    """A test for the text of a row, or None when the filter lets everything through. A lone `!` is a filter being typed."""
    words = query.casefold().split()
    wanted = [word for word in words if not word.startswith("!")]
    unwanted = [word[1:] for word in words if word.startswith("!") and len(word) > 1]
    if not wanted and not unwanted:
        return None
    return lambda text: all(word in text for word in wanted) and not any(word in text for word in unwanted)


def keep(items: Sequence[T], query: str, text: Callable[[T], Iterable[str | None]]) -> Sequence[T]:
    """The items whose fields pass."""
    test = matcher(query)
    if test is None:
        return items
    return [item for item in items if test("\n".join(filter(None, text(item))).casefold())]
