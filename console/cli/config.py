"""`failover config check`: what is wrong with a configuration, before the gateway is asked to live by it. Judges with the
loader that the engine uses; no rule of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click

from console.cli import options
from console.cli.output import LONG, hint, say, say_json
from console.keymap import complaints
from console.view.text import literal
from engine.config.files import find_config, read_config
from engine.config.problems import path
from engine.config.references import resolve
from engine.domain.errors import ConfigError
from engine.domain.settings import Settings

NO_FILE = "the environment (no file)"


@click.group("config")
def config_group() -> None:
    """Look at the configuration."""


@config_group.command("check")
@options.target
@options.as_json
@click.pass_context
def check(context: click.Context, target: options.Target, as_json: bool) -> None:
    """Check the configuration. Exit status 2 if anything is wrong; warnings alone are no failure."""
    file: Path | None = None
    settings: Settings | None = None
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    next_step = ""
    try:
        file = find_config(target.config, os.environ)
        loaded = read_config(file, os.environ)
        settings, notes = loaded.settings, loaded.notes
        warnings = (*loaded.warnings, *unresolved(loaded.settings), *complaints(loaded.settings.console.keys))
    except ConfigError as error:
        problems, next_step = error.problems, error.next_step
    source = str(file or target.config or NO_FILE)
    if as_json:
        answer = {"ok": not problems, "file": source, "problems": problems, "warnings": warnings, "notes": notes}
        say_json(answer | ({"summary": summary(settings)} if settings else {}))
    else:
        for kind, lines in (("error", problems), ("warning", warnings), ("note", notes)):
            for line in lines:
                say(f"{kind}: {literal(line, LONG)}")
        say(f"{literal(source, LONG)}: {literal(summary(settings), LONG) if settings else _count(problems)}")
        if next_step:
            hint(f"next: {literal(next_step, LONG)}")
    context.exit(2 if problems else 0)


def unresolved(settings: Settings) -> Iterator[str]:
    """A warning for each reference that names nothing on this machine now. Another machine may differ, so it is no error."""
    references = {path(("auth", "profiles", profile.id, "keyRef")): profile.key_ref for profile in settings.profiles.values()}
    references["gateway.token"] = settings.gateway.token_ref
    for provider in settings.providers.values():
        if provider.oauth:
            references[path(("models", "providers", provider.id, "oauth", "clientSecretRef"))] = provider.oauth.client_secret_ref
    for where, reference in references.items():
        if reference and (reason := resolve(reference, os.environ).reason):
            yield f"{where}: {reason}"


def summary(settings: Settings) -> str:
    """The chain and the counts, in one line."""
    chain = " → ".join(str(ref) for ref in (settings.primary, *(settings.model.fallbacks or ())))
    counts = ((len(settings.providers), "provider"), (len(settings.profiles), "profile"), (len(settings.agents), "agent"))
    return f"ok; {chain}; " + ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts)


def _count(problems: tuple[str, ...]) -> str:
    return f"{len(problems)} error{'' if len(problems) == 1 else 's'}"
