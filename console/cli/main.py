"""`failover`: the entry point. Loads a command's module when that command is asked for, so that `failover status` is quick and never
meets the screen's library, and turns every error into words and an exit status. No command is implemented here."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from engine.domain.errors import FailoverError

PROGRAM = "failover"
NO_ROOM = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO})


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command is: `attribute` of `module`."""

    module: str
    attribute: str


SECTIONS: Mapping[str, Mapping[str, Entry]] = {
    "Run": {
        "run": Entry("console.cli.screen", "run_command"),
        "serve": Entry("console.cli.serve", "serve_command"),
        "attach": Entry("console.cli.screen", "attach_command"),
        "demo": Entry("console.cli.demo", "demo_command"),
        "open": Entry("console.cli.bundles", "open_command"),
    },
    "Look": {
        "status": Entry("console.cli.views", "status_command"),
        "sessions": Entry("console.cli.views", "sessions_command"),
        "explain": Entry("console.cli.explain", "explain_command"),
        "log": Entry("console.cli.log", "log_command"),
        "watch": Entry("console.cli.watch", "watch_command"),
        "export": Entry("console.cli.bundles", "export_command"),
    },
    "Act": {
        "pin": Entry("console.cli.steer", "pin_command"),
        "unpin": Entry("console.cli.steer", "unpin_command"),
        "model": Entry("console.cli.steer", "model_command"),
        "probe": Entry("console.cli.steer", "probe_command"),
        "reset": Entry("console.cli.steer", "reset_command"),
        "clear": Entry("console.cli.steer", "clear_command"),
        "off": Entry("console.cli.steer", "off_command"),
        "on": Entry("console.cli.steer", "on_command"),
        "order": Entry("console.cli.steer", "order_command"),
        "undo": Entry("console.cli.steer", "undo_command"),
        "reload": Entry("console.cli.steer", "reload_command"),
    },
    "Set up": {
        "init": Entry("console.cli.init", "init_command"),
        "config": Entry("console.cli.config", "config_group"),
        "profiles": Entry("console.cli.profiles", "profiles_group"),
        "doctor": Entry("console.cli.doctor", "doctor_command"),
        "completion": Entry("console.cli.completion", "completion_command"),
    },
    "Ask the rules": {
        "classify": Entry("console.cli.classify", "classify_command"),
        "simulate": Entry("console.cli.simulate", "simulate_command"),
    },
}
COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}

EXAMPLES = """\b
First steps:
  failover demo                     see it, with fake providers
  failover init                     write a commented failover.json5
  failover profiles add anthropic:work --provider anthropic
  failover run                      gateway and screen in one
  curl http://127.0.0.1:4141/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model": "auto", "messages": [{"role": "user", "content": "hello"}]}'

\b
On call:
  failover status                   who is on a fallback, what is cooling
  failover explain SESSION          why, and what its next request will do
  failover probe SESSION            try its primary now
  failover pin SESSION PROFILE      tie it to one credential

\b
Exit status: 0 done, 1 refused or failed, 2 bad use."""


class Commands(click.Group):
    """Knows its commands by name and imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        found: object = getattr(importlib.import_module(entry.module), entry.attribute)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in SECTIONS.items():
            with formatter.section(title):
                found = ((name, self.get_command(ctx, name)) for name in names)
                formatter.write_dl([(name, command.get_short_help_str(200)) for name, command in found if command is not None])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(name, COMMANDS, n=1)
            advice = f"did you mean {close[0]}?" if close else "see `failover --help`"
            ctx.fail(f"No such command {name!r}; {advice}")
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from console.cli.version import version

        click.echo(f"{PROGRAM} {version()}")
        ctx.exit()


@click.command(PROGRAM, cls=Commands, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Print the version and leave.")
def cli() -> None:
    """An operations console for LLM traffic: point applications at one local address, and their requests go on to the next key or the next
    model when one fails. These commands run that gateway, show what it does and steer it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command and ends the process with its status: never with a traceback."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """The exit status of a command: 0, 1 (refused or failed), 2 (bad use)."""
    if sys.stdout is None:
        # Closed on purpose (`>&-`); libraries take it for granted, until the process ends.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    try:
        status = cli.main(list(sys.argv[1:] if arguments is None else arguments), PROGRAM, standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Abort:
        click.echo("failover: stopped", err=True)
        return 1
    except click.ClickException as wrong:
        wrong.show()
        return wrong.exit_code
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        _leave_output()
        return 0
    except KeyboardInterrupt:
        return 130
    except FailoverError as error:
        from console.cli.output import say_error

        say_error(error)
        return error.exit_status
    except Exception as error:
        # Of all that is written, only standard output has no name and no error of its own.
        if isinstance(error, OSError) and error.errno in NO_ROOM and error.filename is None:
            from console.cli.output import say_error

            _leave_output()
            say_error(FailoverError("The output cannot be written", f"standard output: {error.strerror}.", "write it to another place"))
            return 1
        from console.cli.crash import say_crash

        say_crash(error)
        return 1


def _leave_output() -> None:
    """Nobody takes our output; Python must not complain of it at exit either."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
