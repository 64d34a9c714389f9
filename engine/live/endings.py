"""What ends by itself: windows, pins with an end, tokens. One list for all of them, looked at when the first is due, instead of a timer
each. An ended window stays in its record (a trial is due then): this only tells that its time has come."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from engine.domain.credentials import ApiKey
from engine.domain.ids import AgentId, ProfileId, SessionKey
from engine.domain.snapshot import ProfileState
from engine.live.effects import patch_session
from engine.live.parts import Parts
from engine.live.telling import window_closed
from engine.policy.pins import pin_is_user, unpin_fields
from engine.policy.windows import Window, all_windows

_Place = tuple[AgentId, ProfileId, ProfileState, str | None]


@dataclass(frozen=True, slots=True)
class OpenWindow:
    """since: when this engine saw it open, None if it found it open."""

    window: Window
    provider: str
    since: int | None


class Endings:
    """`look` is cheap unless something is due or a window opened since. changed: told when only time has changed something."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._open: dict[_Place, OpenWindow] = {}
        self._pins: list[tuple[int, SessionKey]] = []
        self._next: int | None = None
        self._stale = True

    def note_window(self, owner: AgentId, profile: ProfileId, provider: str, window: Window) -> None:
        """It opened just now."""
        self._open[(owner, profile, window.kind, window.model)] = OpenWindow(window, provider, self._parts.clock.now_ms())
        self._next = window.until if self._next is None else min(self._next, window.until)

    def forget_window(self, owner: AgentId, profile: ProfileId, window: Window) -> None:
        """It was cleared before its end, and that has been told."""
        self._open.pop((owner, profile, window.kind, window.model), None)

    def note_everything(self) -> None:
        """The stored state is another one."""
        self._stale = True

    def note_session(self, key: SessionKey) -> None:
        until = self._parts.memory.session(key).pin_until
        if until is not None:
            heapq.heappush(self._pins, (until, key))

    def since(self, agent: AgentId, profile: ProfileId, window: Window) -> int | None:
        seen = self._open.get((agent, profile, window.kind, window.model))
        return seen.since if seen is not None and seen.window.until == window.until else None

    def due_in_ms(self) -> int | None:
        """Until the next thing ends, in policy time; None: nothing that is known."""
        ends = [end for end in (self._next, self._pins[0][0] if self._pins else None) if end is not None]
        return min(ends) - self._parts.clock.now_ms() if ends else None

    def look(self) -> None:
        now, wall = self._parts.clock.now_ms(), self._parts.wall()
        if self._stale or (self._next is not None and self._next <= now):
            self._look_at_windows(now, wall)
        while self._pins and self._pins[0][0] <= now:
            _, key = heapq.heappop(self._pins)
            self._end_pin(key, now)

    def _look_at_windows(self, now: int, wall: int) -> None:
        found: dict[_Place, OpenWindow] = {}
        tokens: list[int] = []
        for agent, kept in self._parts.memory.agents.items():
            for profile, credential in kept.credentials.items():
                expires = None if isinstance(credential, ApiKey) else credential.expires
                if isinstance(expires, int) and expires > now:
                    tokens.append(expires)
                usage = kept.usage.get(profile)
                for window in all_windows(usage) if usage is not None else ():
                    place = (agent, profile, window.kind, window.model)
                    if window.until > (wall if window.kind is ProfileState.BLOCKED else now):
                        known = self._open.get(place)
                        same = known is not None and known.window.until == window.until
                        found[place] = known if same and known is not None else OpenWindow(window, credential.provider, None)
        for place, known in self._open.items():
            over = known.window.until <= (wall if known.window.kind is ProfileState.BLOCKED else now)
            if over and found.get(place) is not known:
                self._tell_end(place[1], known)
        self._open, self._stale = found, False
        self._next = min([*(seen.window.until for seen in found.values()), *tokens], default=None)
        self._parts.revision.touch()

    def _tell_end(self, profile: ProfileId, seen: OpenWindow) -> None:
        told = window_closed(profile, seen.provider, seen.window, "ended")
        self._parts.bus.publish(told.event, **told.data)
        self._parts.feed.say(told.severity, told.kind, told.text or "", provider=seen.provider, profile=profile)

    def _end_pin(self, key: SessionKey, now: int) -> None:
        session = self._parts.memory.session(key)
        if session.pin_until is None or session.pin_until > now or not pin_is_user(session):
            return
        profile = session.auth_profile_override
        self._parts.writer.put(patch_session(self._parts, key, unpin_fields(session), note="pin.user"))
        self._parts.feed.say("notice", "pin", f"{key}: the pin to {profile} has ended", session=key, profile=profile)
