"""What passes between gateway, engine and providers for one request: the payload going up, the answer coming down. Here, below all three,
because each of them speaks these words.
No policy and no HTTP here: who is called next is the walk's business."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from engine.domain.failure import Failure
from engine.domain.ids import ModelRef, ProfileId
from engine.domain.settings import ProviderSettings

ANSWER = "answer"
COUNT_TOKENS = "count_tokens"


@dataclass(frozen=True, slots=True)
class Payload:
    """A request as the application sent it. api: the caller's dialect (`openai-completions`, ...). body: parsed once; raw: the same as
    bytes. headers: those that may be forwarded, lower-case; credentials of the caller are never among them. task: ANSWER or
    COUNT_TOKENS."""

    api: str
    body: Mapping[str, object]
    raw: bytes
    stream: bool
    headers: Mapping[str, str] = field(default_factory=dict)
    task: str = ANSWER


class AnswerBroken(Exception):
    """The answer stopped after its first content (`attempt.committed`). failure: what the classifier sees."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message or "the answer broke off")
        self.failure = failure


class Answer(Protocol):
    """An upstream answer that has reached its first content, or ended without any (`empty`). headers: upstream's, lower-case names, only
    those that may be passed on. calls: upstream HTTP calls made (client retries included). response_id: under which upstream keeps this
    answer. notes: what a conversion left out."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def empty(self) -> bool: ...
    @property
    def streamed(self) -> bool: ...
    @property
    def calls(self) -> int: ...
    @property
    def response_id(self) -> str | None: ...
    @property
    def notes(self) -> tuple[str, ...]: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The answer's bytes as they arrive, what was held before the first content included; raises AnswerBroken."""
        ...

    async def aclose(self) -> None:
        """Closes the upstream connection; safe to call twice."""
        ...


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """No usable answer. calls: upstream HTTP calls made."""

    failure: Failure
    calls: int = 1


class Upstream(Protocol):
    """Makes attempts. Cancelling the task that awaits `attempt` closes the connection at once."""

    async def attempt(
        self,
        provider: ProviderSettings,
        ref: ModelRef,
        secret: str | None,
        payload: Payload,
        *,
        limit_ms: int | None,
        retry_max_wait_ms: int | None,
    ) -> Answer | AttemptFailed:
        """One attempt, with at most `provider.max_retries` client retries inside it (`attempt.retry-after`).
        limit_ms: cut it short after that time: AttemptFailed with `caller_fault`. Never raises for what a provider sends."""
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Answered:
    """The winning attempt has content: what the caller's headers need. profile: shown to operators only. reason: of the turn's first
    failure, when there was one."""

    answer: Answer
    selected: ModelRef
    served: ModelRef
    profile: ProfileId | None
    attempts: int
    reason: str | None
    notices: tuple[str, ...]
    upstream_ms: float = 0.0
