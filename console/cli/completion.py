"""`failover completion`: the shell's own completion script, as click makes it."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      eval "$(failover completion bash)"
      failover completion fish > ~/.config/fish/completions/failover.fish
    """
    from console.cli.main import PROGRAM, cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())
