"""What `/metrics` tells, as Prometheus text. Written by hand: five families of three kinds are fewer lines than the client library's
registry, whose state would be the process's, not a gateway's. Labels hold configured names and words of ours only, and are bounded: an
application cannot make one up. Nothing here waits or locks: one loop owns it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from engine.domain.ids import ModelRef
from engine.domain.reasons import FailoverReason, SkipReason
from engine.domain.turns import TurnResult

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MAX_FAILOVERS = 1000
"""Combinations of from, to and reason; what comes after them is counted as `other`."""

BUCKETS_S = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 1.0)
_REASONS = frozenset(map(str, (*FailoverReason, *SkipReason)))
_OTHER = "other"


class Metrics:
    """in_flight: turns right now."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._turns: Counter[tuple[str, str]] = Counter()
        self._failovers: Counter[tuple[str, str, str]] = Counter()
        self._overhead = [0] * (len(BUCKETS_S) + 1)
        self._overhead_s = 0.0

    def took(self, own_s: float) -> None:
        """A request reached its answer's first byte; own_s: without the time that providers took."""
        own_s = max(0.0, own_s)
        place = next((i for i, edge in enumerate(BUCKETS_S) if own_s <= edge), len(BUCKETS_S))
        self._overhead[place] += 1
        self._overhead_s += own_s

    def ended(self, result: TurnResult, dialect: str) -> None:
        self._turns[str(result.outcome), dialect] += 1
        for before, after, reason in _steps(result):
            known = reason if reason in _REASONS else "window"
            label = (str(before), str(after), known)
            if label not in self._failovers and len(self._failovers) >= MAX_FAILOVERS:
                label = (_OTHER, _OTHER, known)
            self._failovers[label] += 1

    def exposition(self, windows: Mapping[str, int]) -> bytes:
        """windows: how many are open, by kind."""
        lines: list[str] = []
        lines += _family("failover_turns_total", "counter", "Turns that ended, by outcome and the caller's dialect.")
        lines += [_line("failover_turns_total", n, outcome=o, dialect=d) for (o, d), n in sorted(self._turns.items())]
        lines += _family("failover_failovers_total", "counter", "Steps from one candidate to the next, by the reason of the first.")
        lines += [
            _line("failover_failovers_total", n, **{"from": f, "to": t, "reason": r}) for (f, t, r), n in sorted(self._failovers.items())
        ]
        lines += _family("failover_windows_open", "gauge", "Windows of profiles and models that are open now, by kind.")
        lines += [_line("failover_windows_open", n, kind=kind) for kind, n in sorted(windows.items())]
        lines += _family("failover_turns_in_flight", "gauge", "Turns that run now.")
        lines.append(_line("failover_turns_in_flight", self.in_flight))
        name = "failover_overhead_seconds"
        lines += _family(name, "histogram", "The gateway's own share of the time to an answer's first byte.")
        total = 0
        for edge, count in zip((*map(str, BUCKETS_S), "+Inf"), self._overhead, strict=True):
            total += count
            lines.append(_line(f"{name}_bucket", total, le=edge))
        lines += [f"{name}_sum {self._overhead_s:.6f}", _line(f"{name}_count", total)]
        return ("\n".join(lines) + "\n").encode()


def _steps(result: TurnResult) -> Iterator[tuple[ModelRef, ModelRef, str]]:
    """Each candidate that failed or was skipped, and the next that was looked at."""
    looked = [candidate for candidate in result.candidates if candidate.outcome != "not_reached"]
    failed = {attempt.ref: attempt.reason for attempt in result.attempts if attempt.reason is not None}
    for before, after in pairwise(looked):
        yield before.ref, after.ref, before.reason or failed.get(before.ref) or "unknown"


def _family(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _line(name: str, value: int, **labels: str) -> str:
    told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{told}}} {value}" if told else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
