"""How commands print: data on standard output, everything else on standard error, foreign text made harmless, secrets masked.
What is printed is decided by the commands; nothing here knows an engine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from console.view.text import literal
from engine.domain.errors import FailoverError
from engine.domain.redaction import SINK

WIDE = 10_000
"""Columns of a table that no terminal shows: a script gets every word whole."""

LONG = 2_000
"""Characters of one line of an error."""


def say(text: str = "") -> None:
    """One line of data. The text is ours; foreign parts of it have been through `safe`."""
    click.echo(SINK.mask(text))


def hint(text: str) -> None:
    """A word for the person at the terminal, on standard error."""
    click.echo(SINK.mask(text), err=True)


def safe(text: object) -> str:
    """Foreign text as one harmless line; None is `-`."""
    return "-" if text is None else literal(SINK.mask(str(text)))


def say_json(value: object) -> None:
    """A whole answer as JSON: indented for a person, one line in a pipe."""
    click.echo(json.dumps(SINK.mask_json(value), ensure_ascii=False, indent=2 if sys.stdout.isatty() else None, default=str))


def say_record(record: Mapping[str, object]) -> None:
    """One JSON object a line."""
    click.echo(json.dumps(SINK.mask_json(record), ensure_ascii=False, default=str))


def say_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str = "", indent: int = 0) -> None:
    """Columns under their names; a leading `>` in a name sets the column to the right. Without rows the word for that, on standard error:
    an empty table is no data."""
    table = Table(box=None, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        right = column.startswith(">")
        table.add_column(Text(column.removeprefix(">"), style="dim"), justify="right" if right else "left", overflow="fold")
    any_row = False
    for row in rows:
        any_row = True
        table.add_row(*(Text("" if cell is None else safe(cell)) for cell in row))
    if not any_row:
        if empty:
            hint(empty)
        return
    _print(table, indent)


def say_error(error: FailoverError) -> None:
    """Title, what happened, the next step; on standard error."""
    hint(f"failover: {literal(error.title)}")
    # Line by line: the line breaks are ours, the words may be quoted from anywhere.
    for line in error.happened.splitlines():
        hint(f"  {literal(line, LONG)}")
    if error.next_step:
        hint(f"  next: {literal(error.next_step, LONG)}")


def _print(table: Table, indent: int) -> None:
    console = Console(
        file=sys.stdout,
        width=None if sys.stdout.isatty() else WIDE,
        # Highlighting would colour foreign text by what it looks like.
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
    with console.capture() as drawn:
        console.print(Padding(table, (0, 0, 0, indent), expand=False) if indent else table)
    # Rich fills the last column up: nothing to see, and in the way of whoever compares or copies.
    for line in drawn.get().splitlines():
        click.echo(line.rstrip())
