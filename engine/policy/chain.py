"""Spec section 3: the candidates of a turn, in order. Only the order; whether one may be attempted is the gate's business."""

from __future__ import annotations

from collections.abc import Iterable

from engine.domain.ids import ModelRef


def build_chain(first: ModelRef, fallbacks: Iterable[ModelRef], last: ModelRef | None) -> tuple[ModelRef, ...]:
    """`chain.requested-first`, `chain.fallbacks`, then `last` (`chain.primary-last` or `chain.origin-last`; None under
    `chain.exact-override`); `chain.dedupe`: the first occurrence of a pair wins."""
    refs = [first, *fallbacks]
    if last is not None:
        refs.append(last)
    return tuple(dict.fromkeys(refs))
