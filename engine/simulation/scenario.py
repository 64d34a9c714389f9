"""The shape of a scenario (spec/scenarios.md): validated at the edge, refused with the path of what is wrong, before anything runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from engine.domain.errors import ScenarioError
from engine.domain.ids import ProfileId

LONGEST_S = 1e10
"""Three hundred years: more is a slip, and leaves what a calendar can show."""

Seconds = Annotated[float, Field(ge=0, le=LONGEST_S, allow_inf_nan=False)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Payload(Strict):
    model: str | None = None
    fallbacks: list[str] | None = None


class TurnSpec(Strict):
    session: str
    kind: Literal["chat", "heartbeat", "cron"] = "chat"
    agent: str | None = None
    image: bool = False
    side_effect_only: bool = False
    budget_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    model: str | None = None
    requested: str | None = None
    fallbacks: list[str] | None = None
    payload: Payload | None = None


class SessionOnly(Strict):
    session: str


class ModelStep(Strict):
    session: str
    ref: str


class PinStep(Strict):
    session: str
    profile: str
    reason: str | None = None
    until: Annotated[float, Field(allow_inf_nan=False)] | None = None


class ResetStep(Strict):
    session: str
    how: Literal["new", "reset", "sessions.reset"] = "reset"


class ProfileOnly(Strict):
    profile: str


class Target(Strict):
    profile: str | None = None
    provider: str | None = None
    ref: str | None = None

    @model_validator(mode="after")
    def exactly_one(self) -> Target:
        if len([v for v in (self.profile, self.provider, self.ref) if v is not None]) != 1:
            raise ValueError("exactly one of profile, provider and ref")
        return self

    @property
    def name(self) -> str:
        return self.profile or self.provider or self.ref or ""


class TurnStep(Strict):
    turn: TurnSpec


class During(Strict):
    turn: TurnSpec
    attempt: Annotated[int, Field(ge=1)] = 1
    do: list[Step]


class Cancel(Strict):
    turn: TurnSpec
    attempt: Annotated[int, Field(ge=1)] = 1


class Empty(Strict):
    pass


class Step(Strict):
    """Exactly one member is set; its name is what the step does."""

    turn: TurnSpec | None = None
    advance_s: Seconds | None = None
    advance_to: str | float | None = None
    parallel: list[TurnStep] | None = None
    model: ModelStep | None = None
    pin: PinStep | None = None
    unpin: SessionOnly | None = None
    reset: ResetStep | None = None
    compact: SessionOnly | None = None
    probe: SessionOnly | None = None
    clear: ProfileOnly | None = None
    off: Target | None = None
    on: Target | None = None
    set_config: Any = None
    restart: Empty | None = None
    wall_clock_s: Annotated[float, Field(ge=-LONGEST_S, le=LONGEST_S, allow_inf_nan=False)] | None = None
    during: During | None = None
    cancel: Cancel | None = None

    @model_validator(mode="after")
    def exactly_one(self) -> Step:
        if len(self.model_fields_set) != 1:
            raise ValueError(f"exactly one of {', '.join(type(self).model_fields)}")
        return self

    @property
    def kind(self) -> str:
        return next(iter(self.model_fields_set))


class Answer(Strict):
    """One upstream answer. The text `ok` stands for `{text: "ok"}`."""

    text: str | None = None
    tool: bool = False
    status: int | None = None
    headers: dict[str, str] = {}
    body: str | None = None
    exception: str | None = None
    message: str | None = None
    code: str | int | None = None
    after_s: Seconds = 0


class ApiKeySpec(Strict):
    type: Literal["api_key"]
    provider: str
    key: str = ""


class TokenSpec(Strict):
    type: Literal["token"]
    provider: str
    token: str = ""
    expires: Any = None


class OAuthSpec(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)
    type: Literal["oauth"]
    provider: str
    access: str = ""
    refresh: str = ""
    expires: Any = None
    email: str | None = None


_NO_FIT = "The scenario does not fit its schema"

ProfileSpec = Annotated[ApiKeySpec | TokenSpec | OAuthSpec, Field(discriminator="type")]
AnswerSpec = Literal["ok"] | Answer


class Scenario(Strict):
    id: Any = None
    config: dict[str, Any]
    env: dict[str, str] = {}
    start: str | float = "2026-01-05T09:00:00Z"
    profiles: dict[ProfileId, ProfileSpec] = {}
    usageStats: dict[ProfileId, dict[str, Any]] = {}
    order: dict[str, list[ProfileId]] = {}
    sessions: dict[str, dict[str, Any]] = {}
    providers: dict[str, AnswerSpec | Annotated[list[AnswerSpec], Field(min_length=1)]] = {}
    steps: list[Step]


During.model_rebuild()
Step.model_rebuild()
_SCENARIO = TypeAdapter(Scenario)


def parse_scenario(data: object) -> Scenario:
    """Raises ScenarioError whose problems begin with the path (`steps[2].turn.kind: ...`)."""
    try:
        return _SCENARIO.validate_python(data)
    except ValidationError as error:
        problems = tuple(
            f"{_path(e['loc'])}: {e['msg']}" for e in error.errors(include_url=False, include_input=False, include_context=False)
        )
        raise ScenarioError(_NO_FIT, problems, "see `failover simulate --help`") from None


def epoch_ms(value: str | float, path: str) -> int:
    """ISO 8601 or epoch ms. Raises ScenarioError for what is no time, and for one beyond every calendar."""
    try:
        ms = datetime.fromisoformat(value).timestamp() * 1000 if isinstance(value, str) else value
        if not abs(ms) <= LONGEST_S * 1000:
            raise ValueError
    except (ValueError, OverflowError):
        problem = f"{path}: not a time: {value!r}"
        raise ScenarioError(_NO_FIT, (problem,), 'write one such as "2026-01-05T09:00:00Z", or epoch milliseconds') from None
    return int(ms)


def _path(loc: tuple[int | str, ...]) -> str:
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "scenario"
