"""From a provider's failure to a reason (spec/classification.md). Pure: no clock, no I/O. `precedence` holds what beats what;
`wordings`, `codes` and `providers` are data; `evidence` reads a failure. Only failed attempts are ever brought here."""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.failure import Failure
from engine.policy.classify.connection import never_connected
from engine.policy.classify.evidence import Layer, chain_of, read_layer
from engine.policy.classify.precedence import decide
from engine.policy.classify.texts import shown
from engine.policy.classify.verdict import Classification

__all__ = ["Classification", "Described", "classify", "describe", "examine", "never_connected"]


@dataclass(frozen=True, slots=True)
class Described:
    """status: given or implied. code: the first code, else the first type. message: what the provider said, one line of at most 400
    characters; of a page only its title. All of it foreign text."""

    status: int | None
    code: str | None
    message: str | None


def classify(failure: Failure, provider: str) -> Classification:
    """The reason of a failed attempt and the row that gave it. A null reason means that no rule matched: the walk makes it
    `unclassified`, or `empty_response` when there was neither a usable message nor a status. Never raises."""
    return decide(_read(failure), provider)


def describe(failure: Failure) -> Described:
    """What to show of a failure: the first status, code and human message in the wrapped chain."""
    return _described(_read(failure))


def examine(failure: Failure, provider: str) -> tuple[Classification, Described]:
    """Both, for one reading: most of either's cost."""
    layers = _read(failure)
    return decide(layers, provider), _described(layers)


def _read(failure: Failure) -> list[Layer]:
    return [read_layer(layer) for layer in chain_of(failure)]


def _described(layers: list[Layer]) -> Described:
    status = next((layer.status for layer in layers if layer.status is not None), None)
    code = next((layer.code for layer in layers if layer.code), None)
    said = next((layer.said for layer in layers if layer.said and shown(layer.said)), None)
    return Described(status, shown(code, 100) if code else None, shown(said) if said else None)
