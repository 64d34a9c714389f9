"""`failover init`: writes a first configuration that a person can read. It names variables and copies no value; it never
replaces a file unless it is told to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import click

from console.cli.output import LONG, hint, safe, say
from console.cli.starter import EXAMPLE_PRIMARY, starter_text
from console.view.text import literal
from engine.config.files import FILE_NAME, VARIABLE, read_text
from engine.config.load import parse
from engine.config.openclaw import Copied, copy_what_applies
from engine.domain.errors import FailoverError


@click.command("init")
@click.option(
    "--config",
    "target",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar=VARIABLE,
    default=FILE_NAME,
    show_default=True,
    help="The file to write.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Copy what applies from an OpenClaw configuration, and list the rest.",
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def init_command(target: Path, source: Path | None, force: bool) -> None:
    """Write a commented failover.json5 to start from."""
    copied = copy_what_applies(parse(read_text(source)), default_primary=EXAMPLE_PRIMARY) if source else None
    _write(target.expanduser(), _copied_text(copied) if copied else starter_text(os.environ), force=force)
    say(f"wrote {safe(target)}")
    for line in copied.left if copied else ():
        say(f"not copied: {literal(line, LONG)}")
    hint("next: failover config check")


def _copied_text(copied: Copied) -> str:
    left = "".join(f"//   {line}\n" for line in copied.left)
    head = "// Copied from an OpenClaw configuration.\n" + (f"// Not copied:\n{left}" if left else "")
    return f"{head}{json.dumps(_ordered(copied.config), indent=2, ensure_ascii=False)}\n"


def _ordered(config: Mapping[str, object]) -> dict[str, object]:
    return {key: config[key] for key in ("agents", "auth", "models") if key in config}


def _write(path: Path, text: str, *, force: bool) -> None:
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise FailoverError("Nothing was written", f"{path} is there already", "use --force to replace it, or --config FILE") from None
    except OSError as error:
        raise FailoverError("Nothing was written", f"{path}: {error.strerror}", "name another file with --config") from None
