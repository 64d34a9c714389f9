"""What scripted providers answer: takes the next answer of a script and turns it into what a real call would have come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.domain.failure import Failure
from engine.domain.ids import ModelRef, ProfileId
from engine.simulation.scenario import Answer, AnswerSpec

OK = Answer(text="ok")
_RETRYABLE = frozenset({408, 409, 429})


@dataclass(frozen=True, slots=True)
class Reply:
    """What one upstream call came to after `after_ms`: a failure, or content (`empty`: nothing usable; `drops`: breaks after content)."""

    after_ms: int
    failure: Failure | None = None
    empty: bool = False
    drops: bool = False


class Script:
    """`providers` of a scenario. The more exact key wins; a list is used up one answer a call, its last element repeats."""

    def __init__(self, providers: Mapping[str, AnswerSpec | Sequence[AnswerSpec]]) -> None:
        self._lists: dict[str, list[Answer]] = {}
        for key, value in providers.items():
            listed: Sequence[AnswerSpec] = [value] if isinstance(value, (str, Answer)) else value
            self._lists[key] = [OK if isinstance(a, str) else a for a in listed]
        self._used: Counter[str] = Counter()

    def next(self, ref: ModelRef, profile: ProfileId | None) -> Reply:
        """The answer of the next upstream call to this pair with this profile."""
        for key in (f"{ref}@{profile}", str(ref), "*"):
            if key in self._lists:
                return reply(self._take(key))
        return reply(OK)

    def next_refresh(self, profile: ProfileId) -> Reply | None:
        """The token endpoint's next answer; None: the script says nothing about it."""
        key = f"refresh:{profile}"
        return reply(self._take(key)) if key in self._lists else None

    def _take(self, key: str) -> Answer:
        answers = self._lists[key]
        used = self._used[key]
        self._used[key] += 1
        return answers[min(used, len(answers) - 1)]


def reply(answer: Answer) -> Reply:
    after = round(answer.after_s * 1000)
    if answer.exception is not None:
        return _exception(answer, after)
    if answer.status is not None and not 200 <= answer.status < 300:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Reply(after, Failure(status=answer.status, body=answer.body, headers=headers, code=answer.code, message=answer.message))
    if answer.status is not None and answer.body is not None and '"error"' in answer.body:
        return Reply(after, Failure(status=answer.status, body=answer.body))
    return Reply(after, empty=not (answer.tool or answer.text or (answer.text is None and (answer.status is None or answer.body))))


def _exception(answer: Answer, after: int) -> Reply:
    match answer.exception:
        case "timeout":
            return Reply(after, Failure(error_type="TimeoutError", message=answer.message, code=answer.code))
        case "connect":
            return Reply(after, Failure(error_type="ConnectError", message=answer.message, code=answer.code, connected=False))
        case "abort":
            return Reply(after, Failure(error_type="AbortError", message=answer.message or "This operation was aborted", code=answer.code))
        case "drop":
            return Reply(after, drops=True)
        case name:
            return Reply(after, Failure(error_type=name, message=answer.message, code=answer.code))


def may_retry(failure: Failure) -> bool:
    """`attempt.retry-after`: 408, 409, 429 and 5xx."""
    status = failure.status
    return isinstance(status, int) and (status in _RETRYABLE or 500 <= status <= 599)
