"""A trial that one of several gateways on a directory has claimed (`--shared`, spec/store.md): the others take it as one in flight, until
it is given back or its holder has not renewed it for a while. Who claims when is the live engine's business."""

from __future__ import annotations

from dataclasses import dataclass

from engine.domain.ids import ProfileId, TurnId

Trial = tuple[ProfileId, str]
"""A profile and a model: what `gate.single-flight` counts by."""


@dataclass(frozen=True, slots=True)
class Lease:
    """holder: the turn that makes the attempt. until: epoch ms on the wall clock, which all processes of a machine share."""

    profile: ProfileId
    model: str
    holder: TurnId
    until: int

    @property
    def trial(self) -> Trial:
        return self.profile, self.model
