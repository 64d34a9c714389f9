"""What an operator may do (spec/console.md): one frozen record an act, so that key, command line and operator API send the same thing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.domain.ids import AgentId, ProfileId, SessionKey


@dataclass(frozen=True, slots=True)
class Pin:
    """`pin.user`. until: epoch ms or None."""

    session: SessionKey
    profile: ProfileId
    reason: str | None = None
    until: int | None = None
    act: Literal["pin"] = "pin"


@dataclass(frozen=True, slots=True)
class Unpin:
    session: SessionKey
    act: Literal["unpin"] = "unpin"


@dataclass(frozen=True, slots=True)
class SelectModel:
    """`/model`: ref is `provider/model`, an alias, either with `@profile`, or `default` (clears)."""

    session: SessionKey
    ref: str
    act: Literal["model"] = "model"


@dataclass(frozen=True, slots=True)
class Reset:
    """`override.reset`: how is `new`, `reset` or `sessions.reset`; all three are one routine."""

    session: SessionKey
    how: str = "reset"
    act: Literal["reset"] = "reset"


@dataclass(frozen=True, slots=True)
class Compact:
    """A compaction of the session completed (`pin.compaction`)."""

    session: SessionKey
    act: Literal["compact"] = "compact"


@dataclass(frozen=True, slots=True)
class Probe:
    """`override.forced-probe`: one real request."""

    session: SessionKey
    act: Literal["probe"] = "probe"


@dataclass(frozen=True, slots=True)
class Clear:
    """Clear a profile's windows and counters. verify: with one real call; they come back if it fails."""

    profile: ProfileId
    verify: bool = False
    act: Literal["clear"] = "clear"


@dataclass(frozen=True, slots=True)
class SetOff:
    """Take a profile id, a provider or a ref out of service."""

    target: str
    reason: str | None = None
    act: Literal["off"] = "off"


@dataclass(frozen=True, slots=True)
class SetOn:
    target: str
    act: Literal["on"] = "on"


@dataclass(frozen=True, slots=True)
class SetOrder:
    """An operator's stored order of a provider's profiles; None removes it."""

    provider: str
    profiles: tuple[ProfileId, ...] | None
    agent: AgentId | None = None
    act: Literal["order"] = "order"


@dataclass(frozen=True, slots=True)
class BulkReturn:
    """`override.bulk-return`: one forced probe per distinct primary."""

    act: Literal["bulk_return"] = "bulk_return"


@dataclass(frozen=True, slots=True)
class Reload:
    """Read the configuration file again."""

    act: Literal["reload"] = "reload"


@dataclass(frozen=True, slots=True)
class Undo:
    """Take an earlier act back while its fields still hold what it wrote. act_id None: the caller's last act."""

    act_id: str | None = None
    act: Literal["undo"] = "undo"


Act = Pin | Unpin | SelectModel | Reset | Compact | Probe | Clear | SetOff | SetOn | SetOrder | BulkReturn | Reload | Undo


@dataclass(frozen=True, slots=True)
class ActResult:
    """ok False: refused or failed, nothing changed; message says why and what to do next. outcome: of a probe
    (`ok`, `upstream_failed`, `not_probeable`, `internal_error`). act_id: for `Undo`, when the act can be taken back."""

    ok: bool
    message: str
    outcome: str | None = None
    act_id: str | None = None
    undoable: bool = False
    details: Mapping[str, object] = field(default_factory=dict)
