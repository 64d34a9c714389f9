"""`failover doctor`: is the installation well? Looks at configuration, state, permissions, secrets, the running gateway and the clock, and
says of each what was found and what to do. It repairs nothing (`--fix` is later work) and calls no provider."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass

import click

from console.cli.options import Target, as_json, target
from console.cli.output import safe, say, say_json, say_table
from console.remote import RemoteOperations
from engine.config.files import find_config, read_config
from engine.config.load import Loaded
from engine.config.references import resolve
from engine.domain.credentials import OAuth
from engine.domain.errors import ConfigError, FailoverError
from engine.domain.snapshot import ProfileState, Snapshot
from engine.domain.store import Stored
from store.instance import RunningGateway, operator_token, running
from store.opening import opened
from store.paths import StateDirectory
from store.private import OTHERS
from store.sqlite import SqliteStore

OK, WARNING, ERROR = "ok", "warning", "error"
EARLIEST_S = 1_735_689_600
"""2025-01-01: a clock that shows an earlier time was never set, and every window it writes will look long past."""
SLOWEST_S = 2.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table. level: ok, warning or error. advice: what to do, when there is something."""

    what: str
    level: str
    found: str
    advice: str = ""


@click.command("doctor")
@target
@as_json
def doctor_command(target: Target, as_json: bool) -> int:
    """Check configuration, state, permissions, secrets, gateway and clock. Exit status 0 when well; warnings alone are no illness."""
    findings = list(examine(target))
    well = all(finding.level != ERROR for finding in findings)
    if as_json:
        rows = [{"what": f.what, "level": f.level, "found": f.found, "advice": f.advice} for f in findings]
        say_json({"ok": well, "findings": rows})
    else:
        say_table(("", "what", "found", "next"), ((f.level, f.what, f.found, f.advice) for f in findings))
        say("well" if well else "not well")
    return 0 if well else 1


def examine(target: Target) -> Iterator[Finding]:
    """Every finding, in the order in which a person would look."""
    directory = StateDirectory.locate(target.state_dir)
    snapshot, gateway = _gateway(directory)
    loaded, findings = _config(target, gateway_runs=snapshot is not None)
    yield from findings
    yield from _permissions(directory)
    stored, found = _state(directory)
    yield found
    if stored is not None:
        yield from (Finding("state", WARNING, safe(note)) for note in stored.notes)
    if snapshot is not None:
        yield from _seen_by_the_gateway(snapshot)
    elif loaded is not None:
        yield from _secrets(loaded, stored)
    yield gateway
    yield _clock()


def _config(target: Target, *, gateway_runs: bool) -> tuple[Loaded | None, list[Finding]]:
    path = None
    try:
        path = find_config(target.config, os.environ)
        loaded = read_config(path, os.environ)
    except ConfigError as wrong:
        if path is None and gateway_runs:
            return None, [Finding("config", WARNING, "no file here; the running gateway has its own", "name it with --config")]
        problems = wrong.problems or (wrong.title,)
        return None, [
            Finding("config", ERROR, safe(problem), wrong.next_step if place == 0 else "") for place, problem in enumerate(problems)
        ]
    source = f"{path}" if path is not None else "no file; from the environment"
    chain = " → ".join(str(ref) for ref in (loaded.settings.primary, *(loaded.settings.model.fallbacks or ())))
    return loaded, [Finding("config", OK, f"{source}: {chain}"), *(Finding("config", WARNING, safe(w)) for w in loaded.warnings)]


def _permissions(directory: StateDirectory) -> Iterator[Finding]:
    """Looked at before the state is opened, which tightens what it can."""
    if not directory.root.exists():
        yield Finding("permissions", OK, f"{directory.root} is not there yet; it is made at first use")
        return
    try:
        paths = [directory.root, *(path for path in directory.root.rglob("*") if path.is_file() or path.is_dir())]
        loose = [path for path in paths if stat.S_IMODE(path.stat().st_mode) & OTHERS]
    except OSError as problem:
        yield Finding("permissions", ERROR, f"{directory.root}: {problem.strerror}", "look at who owns it")
        return
    for path in loose[:10]:
        mode = "700" if path.is_dir() else "600"
        yield Finding("permissions", WARNING, f"others can read {path}", f"chmod {mode} {path}")
    if not loose:
        yield Finding("permissions", OK, f"{directory.root} is its owner's alone")


def _state(directory: StateDirectory) -> tuple[Stored | None, Finding]:
    async def look() -> Stored:
        async with opened(SqliteStore(directory)) as stored:
            return stored

    try:
        stored = asyncio.run(look())
    except FailoverError as trouble:
        return None, Finding("state", ERROR, safe(f"{trouble.title}: {trouble.happened}"), trouble.next_step)
    profiles = sum(len(agent.credentials) for agent in stored.agents.values())
    return stored, Finding("state", OK, f"{profiles} stored profiles, {len(stored.sessions)} sessions, {len(stored.off)} out of service")


def _seen_by_the_gateway(snapshot: Snapshot) -> Iterator[Finding]:
    """What the running gateway knows of each profile: its environment counts, not that of this command."""
    for profile in snapshot.profiles:
        lacks = profile.state is ProfileState.MISSING or (profile.state is ProfileState.EXPIRED and profile.detail != "refreshable")
        if lacks:
            why = f"{profile.profile} is {profile.state}" + (f": {profile.detail}" if profile.detail else "")
            yield Finding("secrets", WARNING, safe(why), f"failover profiles add {safe(profile.profile)}")
    fine = [p.profile for p in snapshot.profiles if p.state not in (ProfileState.MISSING, ProfileState.EXPIRED)]
    yield Finding("secrets", OK, f"the gateway can use {', '.join(map(safe, fine)) or 'no stored profile'}")


def _secrets(loaded: Loaded, stored: Stored | None) -> Iterator[Finding]:
    """Is there a usable credential for every provider of the chain? Secrets are looked for, never shown."""
    settings = loaded.settings
    names: dict[str, list[str]] = {}
    references = {p.id: (p.provider, p.key_ref) for p in settings.profiles.values() if p.key_ref is not None}
    for agent in stored.agents.values() if stored is not None else ():
        for profile_id, credential in agent.credentials.items():
            provider = credential.provider.lower()
            if provider not in settings.providers:
                said = f"{profile_id} is a profile of {provider}, and no such provider is configured"
                yield Finding("secrets", WARNING, safe(said), f"configure it, or: failover profiles remove {safe(profile_id)}")
            elif not isinstance(credential, OAuth) and credential.key_ref is not None:
                references[profile_id] = (provider, credential.key_ref)
            else:
                names.setdefault(provider, []).append(profile_id)
    for profile_id, (provider, reference) in references.items():
        reason = resolve(reference, os.environ).reason
        if reason is None:
            names.setdefault(provider, []).append(profile_id)
        else:
            yield Finding("secrets", WARNING, safe(f"{profile_id}: {reason}"), "set it where the gateway runs")
    for provider in dict.fromkeys(ref.provider for ref in (settings.primary, *(settings.model.fallbacks or ()))):
        known = settings.providers.get(provider)
        if known is None:
            said = f"{provider} is in the chain, but no such provider is configured"
            yield Finding("secrets", WARNING, said, "see `failover config check`")
        elif not known.keyless and provider not in names:
            yield Finding("secrets", WARNING, f"{provider} has no credential", f"failover profiles add {provider}:NAME")
        else:
            yield Finding("secrets", OK, f"{provider}: " + (", ".join(map(safe, names.get(provider, []))) or "needs none"))


def _gateway(directory: StateDirectory) -> tuple[Snapshot | None, Finding]:
    try:
        gateway = running(directory)
        if gateway is None:
            return None, Finding("gateway", OK, "none runs on this state directory", "failover serve")
        return asyncio.run(_asked(directory, gateway))
    except FailoverError as trouble:
        return None, Finding("gateway", ERROR, safe(f"{trouble.title}: {trouble.happened}"), trouble.next_step)


async def _asked(directory: StateDirectory, gateway: RunningGateway) -> tuple[Snapshot, Finding]:
    begun = time.monotonic()
    async with RemoteOperations(gateway.address, operator_token(directory), instance=gateway.instance) as operations:
        snapshot = await operations.snapshot()
    took = time.monotonic() - begun
    if snapshot.alarms:
        return snapshot, Finding("gateway", WARNING, safe(f"{gateway.address}: {'; '.join(snapshot.alarms)}"), "failover status")
    level = OK if took < SLOWEST_S else WARNING
    return snapshot, Finding("gateway", level, f"{gateway.address} (pid {gateway.pid}) answers in {took * 1000:.0f} ms")


def _clock() -> Finding:
    now = time.time()
    if now < EARLIEST_S:
        return Finding("clock", ERROR, f"this machine's clock shows {time.strftime('%Y-%m-%d', time.gmtime(now))}", "set it")
    return Finding("clock", OK, time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now)))
