"""What would happen, and what has happened to one session: the nouns of what-if, of the effect of an act before it is confirmed, and of
the detail screens. The operator API carries exactly these shapes as JSON. Times are epoch ms of the engine's clock. No rule is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.domain.acts import Clear, Pin, Reset, SelectModel, SetOff, SetOn, SetOrder, Unpin
from engine.domain.ids import ProfileId, SessionKey
from engine.domain.snapshot import Preview


@dataclass(frozen=True, slots=True)
class Fails:
    """From now on calls to `target` fail like this. target: a profile, a provider, `provider/model` or `provider/model@profile`.
    status: HTTP; reason: a failover reason instead of it; wait_s: what the provider's answer states (`retry-after`)."""

    target: str
    status: int | None = None
    reason: str | None = None
    wait_s: int | None = None
    assume: Literal["fails"] = "fails"


@dataclass(frozen=True, slots=True)
class At:
    """It is that moment (epoch ms), and nothing else has happened meanwhile."""

    moment: int
    assume: Literal["at"] = "at"


AssumedAct = Pin | Unpin | SelectModel | Reset | Clear | SetOff | SetOn | SetOrder
Assumption = Fails | At | AssumedAct
"""An act as an assumption: somebody has done it."""


@dataclass(frozen=True, slots=True)
class Taken:
    """How an assumption was understood, as a sentence. held False: it could not be assumed, and the sentence says why."""

    text: str
    held: bool = True


@dataclass(frozen=True, slots=True)
class PredictedStep:
    """One attempt or skip of the predicted turn. outcome: succeeded, failed or skipped. at_ms: since the turn began."""

    ref: str
    profile: ProfileId | None
    outcome: str
    reason: str | None = None
    status: int | None = None
    rule: str | None = None
    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The session's next turn under the assumptions, by the policy code; nothing was called and nothing changed.
    at: the instant it is about. before: as it stands now. after: the chain under the assumptions. steps, outcome, active, notices:
    what a turn would then do, with every call answered that no assumption lets fail."""

    session: SessionKey
    at: int
    taken: tuple[Taken, ...]
    before: Preview
    after: Preview
    steps: tuple[PredictedStep, ...]
    outcome: str
    active: str | None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """A session whose next turn would go elsewhere. A ref None: every candidate would be skipped."""

    session: SessionKey
    was_ref: str | None
    was_profile: ProfileId | None
    ref: str | None
    profile: ProfileId | None


@dataclass(frozen=True, slots=True)
class Moves:
    """Whom assumptions move. examined: how many sessions were looked at, the latest active first; total: how many there are.
    moved: at most 200 of them; count: all of them; stranded: those without any candidate afterwards that had one before."""

    taken: tuple[Taken, ...]
    examined: int
    total: int
    count: int
    stranded: int
    moved: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One upstream attempt of a finished turn. at_ms: since the turn began; ms: how long it took."""

    ref: str
    profile: ProfileId | None
    outcome: str
    at_ms: int
    ms: int | None = None
    reason: str | None = None
    status: int | None = None
    rule: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn that has ended. began: when; took_ms: to its end."""

    turn: str
    session: SessionKey
    began: int
    took_ms: int
    outcome: str
    selected: str
    active: str | None
    attempts: tuple[AttemptView, ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldView:
    """One field of a session's record. by: the rule with its turn, or the operator, that wrote it last; None: from before this engine
    started."""

    name: str
    value: str
    by: str | None = None
    at: int | None = None


@dataclass(frozen=True, slots=True)
class SessionDetail:
    """turns: newest first, those that the engine still remembers. fields: those that are set."""

    session: SessionKey
    turns: tuple[TurnRecord, ...] = ()
    fields: tuple[FieldView, ...] = ()
