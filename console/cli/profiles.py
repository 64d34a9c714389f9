"""`failover profiles add|list|remove`: stored credentials (`import` is `importing`'s). A key comes from a prompt, from standard input or
as a reference, never as an argument (other users of the machine can read those), and is never printed. The store is written directly: a
gateway that runs on the same directory notices within a second."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys

import click

from console.cli.importing import import_command
from console.cli.options import Target, as_json, target
from console.cli.output import hint, safe, say, say_json, say_table
from console.cli.reach import Reached, ask
from console.cli.views import PROFILE_COLUMNS, profile_row
from console.view.states import urgency
from engine.config.problems import REFERENCE_FORMS
from engine.config.references import resolve
from engine.config.values import is_reference
from engine.domain.credentials import ApiKey, Credential, Token, secrets_of
from engine.domain.errors import ConfigError, FailoverError, UsageError
from engine.domain.ids import MAIN_AGENT, AgentId, ProfileId
from engine.domain.redaction import SINK
from engine.domain.snapshot import Snapshot
from engine.domain.store import PutCredential, RemoveCredential
from engine.gateway.wire import dump
from store.instance import running
from store.opening import opened
from store.paths import StateDirectory
from store.sqlite import SqliteStore

_PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}:[^\s\x00-\x1f\x7f/]{1,128}")
_PROVIDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_KEY = 16_384


@click.group("profiles")
def profiles_group() -> None:
    """Add, import, list and remove credentials."""


profiles_group.add_command(import_command)


@profiles_group.command("add")
@click.argument("profile")
@click.option("--provider", help="Whose credential it is [else what stands before the `:` of its id].")
@click.option("--type", "kind", type=click.Choice(["api_key", "token"]), default="api_key", show_default=True)
@click.option("--key-ref", metavar="REF", help="Where the key lies instead of the key: env:NAME, file:PATH or keyring:SERVICE/NAME.")
@click.option("--agent", default=MAIN_AGENT, show_default=True, help="Whose store it goes to; main's is seen by every agent.")
@click.option("--replace", is_flag=True, help="Put it in the place of a stored one.")
@target
def add_command(profile: str, provider: str | None, kind: str, key_ref: str | None, agent: str, replace: bool, target: Target) -> None:
    """Store a credential as PROFILE (`provider:name`; a provider alone means `provider:default`).

    \b
    Examples:
      failover profiles add anthropic:work              asks for the key, without echo
      pass show anthropic | failover profiles add anthropic:work
      failover profiles add openai:ci --key-ref env:OPENAI_API_KEY
    """
    known = ProfileId(profile if ":" in profile else f"{profile}:default")
    if not _PROFILE.fullmatch(known) or SINK.mask(known) != known:
        # Not repeated: it may be a key that went to the wrong place.
        raise UsageError("That is no profile id", "a profile id is `provider:name`", "try: failover profiles add anthropic:work")
    owner = (provider or known.partition(":")[0]).lower()
    if not _PROVIDER.fullmatch(owner):
        raise UsageError("That is no provider id", "a provider id has letters, digits, '.', '_' and '-'", "give it with --provider")
    credential = _referred(kind, owner, key_ref) if key_ref else _typed(kind, owner, _read_key(known))
    directory = StateDirectory.locate(target.state_dir)
    asyncio.run(_put(directory, AgentId(agent), known, credential, replace))
    say(f"{safe(known)} is stored")
    if running(directory) is not None:
        hint("the running gateway uses it from now on")


@profiles_group.command("remove")
@click.argument("profile")
@click.option("--agent", default=MAIN_AGENT, show_default=True, help="From whose store.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@target
def remove_command(profile: str, agent: str, yes: bool, target: Target) -> None:
    """Remove a stored credential and what is known of its health. There is no undo."""
    if not yes and sys.stdin.isatty():
        click.confirm(f"Remove {safe(profile)}? The key is not kept anywhere else", abort=True, err=True)
    asyncio.run(_remove(StateDirectory.locate(target.state_dir), AgentId(agent), ProfileId(profile)))
    say(f"{safe(profile)} is removed")


@profiles_group.command("list")
@target
@as_json
def list_command(target: Target, as_json: bool) -> None:
    """Every profile with its state. Keys are never shown."""

    async def look(found: Reached) -> Snapshot:
        return await found.operations.snapshot()

    try:
        snapshot = ask(target, look)
    except ConfigError as missing:
        # Credentials may well be stored before there is a configuration that uses them.
        stored = asyncio.run(_stored(StateDirectory.locate(target.state_dir)))
        if as_json:
            say_json(stored)
        else:
            hint(f"{safe(missing.title)}: only what is stored can be listed")
            say_table(("profile", "provider", "type", "agent"), (tuple(row.values()) for row in stored), empty=_NONE)
        return
    if as_json:
        say_json(json.loads(dump(snapshot))["profiles"])
        return
    ordered = sorted(snapshot.profiles, key=lambda p: (urgency(p), p.profile))
    say_table(PROFILE_COLUMNS, (profile_row(profile, snapshot.now) for profile in ordered), empty=_NONE)


_NONE = "no profile is stored; add one with `failover profiles add`"


def _referred(kind: str, provider: str, reference: str) -> Credential:
    if not is_reference(reference):
        raise UsageError("That is no reference", f"a reference is {REFERENCE_FORMS}", "leave --key-ref away to be asked for the key")
    found = resolve(reference, os.environ)
    if found.reason is not None:
        # It may exist where the gateway runs, only not here.
        hint(f"warning: {found.reason}")
    SINK.add(found.secret)
    return ApiKey(provider, key_ref=reference) if kind == "api_key" else Token(provider, key_ref=reference)


def _typed(kind: str, provider: str, key: str) -> Credential:
    credential: Credential = ApiKey(provider, key) if kind == "api_key" else Token(provider, key)
    for secret in secrets_of(credential):
        SINK.add(secret)
    return credential


def _read_key(profile: ProfileId) -> str:
    """From the prompt, or from standard input when that is no terminal."""
    if sys.stdin.isatty():
        text: str = click.prompt(f"Key of {safe(profile)}", hide_input=True, err=True)
    else:
        text = sys.stdin.read(MAX_KEY + 1)
    key = text.strip()
    if not key:
        raise UsageError("There is no key", "standard input is empty", "pipe the key in, or run it in a terminal to be asked")
    if len(key) > MAX_KEY or any(ord(c) < 33 or ord(c) > 126 for c in key):
        raise UsageError("That is no key", "it has more than one line, a space, or characters that no header can carry", "copy it again")
    return key


async def _put(directory: StateDirectory, agent: AgentId, profile: ProfileId, credential: Credential, replace: bool) -> None:
    store = SqliteStore(directory)
    async with opened(store) as stored:
        there = stored.agents.get(agent)
        if there is not None and profile in there.credentials and not replace:
            raise FailoverError("That profile exists", f"{profile} is stored already", "give --replace to put the new key in its place")
        await store.commit([PutCredential(agent, profile, credential)])


async def _remove(directory: StateDirectory, agent: AgentId, profile: ProfileId) -> None:
    store = SqliteStore(directory)
    async with opened(store) as stored:
        there = stored.agents.get(agent)
        if there is None or profile not in there.credentials:
            raise FailoverError("No such profile", f"{profile} is not stored for the agent {agent}", "see `failover profiles list`")
        await store.commit([RemoveCredential(agent, profile)])


async def _stored(directory: StateDirectory) -> list[dict[str, str]]:
    async with opened(SqliteStore(directory)) as stored:
        return [
            {"profile": profile, "provider": credential.provider, "type": credential.type, "agent": agent}
            for agent, held in stored.agents.items()
            for profile, credential in held.credentials.items()
        ]
