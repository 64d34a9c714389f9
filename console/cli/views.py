"""`failover status` and `failover sessions`: the snapshot as tables or JSON. What the state words mean is the engine's business, how
they are ordered is `console.view`'s."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from console.cli.options import Target, as_json, target
from console.cli.output import hint, safe, say, say_json, say_table
from console.cli.reach import Reached, ask
from console.view.states import model_names, urgency
from console.view.times import ago, clock, countdown
from engine.domain.snapshot import ProfileState, ProfileView, SessionView, Snapshot
from engine.gateway.wire import dump


async def _look(found: Reached) -> tuple[Snapshot, Reached]:
    return await found.operations.snapshot(), found


@click.command("status")
@click.option("--check", is_flag=True, help="Exit status 1 unless a gateway runs and no alarm stands: for probes and scripts.")
@target
@as_json
def status_command(check: bool, target: Target, as_json: bool) -> int:
    """Is traffic flowing, who is on a fallback and why, what is cooling until when.

    \b
    Examples:
      failover status
      failover status --check > /dev/null || page-somebody
      failover status --json | jq '.sessions[] | select(.on_fallback) | .key'
    """
    snapshot, found = ask(target, _look)
    _show(snapshot, found, as_json)
    return int(check and (found.url is None or bool(snapshot.alarms)))


def _show(snapshot: Snapshot, found: Reached, as_json: bool) -> None:
    if as_json:
        say_json({"running": found.url is not None, "url": found.url, **json.loads(dump(snapshot))})
        return
    if found.url is None:
        hint(f"no gateway is running; this is the stored state in {safe(found.directory.root)}")
    say(headline(snapshot, found.url))
    for alarm in snapshot.alarms:
        say(f"ALARM  {safe(alarm)}")
    for warning in snapshot.warnings:
        hint(f"warning: {safe(warning)}")
    say()
    say_table(
        PROFILE_COLUMNS,
        (profile_row(profile, snapshot.now) for profile in sorted(snapshot.profiles, key=lambda p: (urgency(p), p.profile))),
        empty="no profile is stored; add one with `failover profiles add`",
    )
    away = [session for session in snapshot.sessions if session.on_fallback or session.pin_source == "user" or session.source == "user"]
    if away:
        say()
        say_table(SESSION_COLUMNS, (session_row(session, snapshot.now) for session in away))


@click.command("sessions")
@click.option("--on-fallback", is_flag=True, help="Only those that are not on their own model.")
@target
@as_json
def sessions_command(target: Target, on_fallback: bool, as_json: bool) -> None:
    """Every session: its model, the one that answers now, its profile and what happened last."""
    snapshot, _ = ask(target, _look)
    chosen = [session for session in snapshot.sessions if session.on_fallback or not on_fallback]
    if as_json:
        keys = {session.key for session in chosen}
        say_json([view for view in json.loads(dump(snapshot))["sessions"] if view["key"] in keys])
        return
    say_table(SESSION_COLUMNS, (session_row(session, snapshot.now) for session in chosen), empty="no session yet")


def headline(snapshot: Snapshot, url: str | None) -> str:
    """One line: mode, address, traffic of the last minute, how many are away from their model."""
    traffic = snapshot.traffic
    on_fallback = sum(session.on_fallback for session in snapshot.sessions)
    out = sum(profile.state is not ProfileState.READY for profile in snapshot.profiles)
    parts = [
        f"{'READ-ONLY ' if snapshot.read_only else ''}{safe(snapshot.mode) if url else 'not running'}",
        url or "",
        f"speed ×{snapshot.speed:g}" if snapshot.speed != 1 else "",
        "draining" if snapshot.draining else "",
        f"{traffic.requests_per_s:.1f} req/s" if url else "",
        f"p50 {traffic.p50_ms:.0f} ms" if traffic.p50_ms is not None else "",
        f"ok {traffic.ok_share * 100:.1f} %" if traffic.ok_share is not None else "",
        f"{len(snapshot.sessions)} sessions",
        f"{on_fallback} on fallback",
        f"{out} of {len(snapshot.profiles)} profiles not ready",
        f"config gen {snapshot.config_generation}",
        clock(snapshot.now),
    ]
    return "  ".join(part for part in parts if part)


PROFILE_COLUMNS = ("profile", "state", ">left", "reason", "scope", ">step", ">errors", ">used")


def profile_row(profile: ProfileView, now: int) -> Sequence[object]:
    """A row under PROFILE_COLUMNS."""
    window = profile.window
    return (
        profile.profile,
        f"{profile.state} ({profile.detail})" if profile.detail else profile.state,
        countdown(window.until, now) if window else "",
        window.reason if window else "",
        _scope(profile) if window else "",
        window.step if window and window.step else "",
        profile.error_count or "",
        ago(profile.last_used, now),
    )


def _scope(profile: ProfileView) -> str:
    """Of the window in the row; how many more there are (`--json` and the screen show each)."""
    first, *more = profile.windows or (profile.window,)
    scope = (first.model if first is not None else None) or "whole profile"
    return f"{scope} (+{len(more)} scope{'s' if len(more) > 1 else ''})" if more else scope


SESSION_COLUMNS = ("session", "agent", "selected", "active", "source", "profile", "pin", "reason", ">since", "last", ">seen")


def session_row(session: SessionView, now: int) -> Sequence[object]:
    """A row under SESSION_COLUMNS."""
    selected, active = model_names(session)
    return (
        session.key,
        session.agent or "-",
        selected,
        active if session.selected != session.active else "",
        session.source,
        session.profile or "",
        session.pin_source or "",
        session.reason or "",
        ago(session.since, now),
        session.last_outcome or "",
        ago(session.last_activity, now),
    )
