"""`failover profiles import`: API keys from the environment or from an OpenClaw state folder, shown first and stored only when a person
says so. The folder is read and never written; what may be taken from it is `store.legacy`'s to say. No key is ever printed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from console.cli.options import Target, target
from console.cli.output import hint, safe, say, say_table
from engine.config.zero import providers_in_environment
from engine.domain.credentials import ApiKey, secrets_of
from engine.domain.errors import UsageError
from engine.domain.ids import MAIN_AGENT, ProfileId
from engine.domain.redaction import SINK
from engine.domain.store import PutCredential
from store.instance import running
from store.legacy import FoundKey, found_keys
from store.opening import opened
from store.paths import StateDirectory
from store.sqlite import SqliteStore


@click.command("import")
@click.option(
    "--from",
    "folder",
    metavar="FOLDER",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="An OpenClaw state folder with auth-profiles.json or auth.json [else the keys in the environment].",
)
@click.option("--replace", is_flag=True, help="Put them in the place of stored ones.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@target
def import_command(folder: Path | None, replace: bool, yes: bool, target: Target) -> None:
    """Take over API keys.

    Keys of the environment are stored as references (`env:NAME`), not as copies. Logins and subscription tokens belong to the tool that
    they were given to and are never taken.

    \b
    Examples:
      failover profiles import                       from OPENAI_API_KEY, ANTHROPIC_API_KEY, ...
      failover profiles import --from ~/.openclaw
    """
    found = found_keys(folder) if folder is not None else _in_environment()
    for one in found:
        for secret in secrets_of(one.credential) if one.credential is not None else ():
            SINK.add(secret)
    directory = StateDirectory.locate(target.state_dir)
    stored = asyncio.run(_stored(directory))
    wanted = [one for one in found if one.credential is not None and (replace or (one.agent, one.profile) not in stored)]
    rows = [(safe(one.profile), one.agent, safe(str(one.file)), _fate(one, one in wanted)) for one in found]
    say_table(("profile", "agent", "from", ""), rows, empty="no key was found")
    if not wanted:
        say("nothing to import")
        return
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("Nobody is there to ask", "standard input is no terminal", "give --yes to import what the table shows")
        click.confirm(f"Import {len(wanted)} of them?", abort=True, err=True)
    asyncio.run(_put(directory, wanted))
    say(f"imported: {', '.join(safe(one.profile) for one in wanted)}")
    if running(directory) is not None:
        hint("the running gateway uses them from now on")


def _in_environment() -> list[FoundKey]:
    return [
        FoundKey(MAIN_AGENT, ProfileId(f"{entry.id}:env"), Path(f"${variable}"), ApiKey(entry.id, key_ref=f"env:{variable}"))
        for entry, variable in providers_in_environment(os.environ)
    ]


def _fate(one: FoundKey, wanted: bool) -> str:
    if one.credential is None:
        return f"left: {one.why}"
    how = "by reference" if not secrets_of(one.credential) else "the key"
    return f"import {how}" if wanted else "left: it is stored already (--replace puts it in the place of that one)"


async def _stored(directory: StateDirectory) -> set[tuple[str, str]]:
    async with opened(SqliteStore(directory)) as stored:
        return {(agent, profile) for agent, held in stored.agents.items() for profile in held.credentials}


async def _put(directory: StateDirectory, wanted: Sequence[FoundKey]) -> None:
    store = SqliteStore(directory)
    async with opened(store):
        await store.commit([PutCredential(one.agent, one.profile, one.credential) for one in wanted if one.credential is not None])
