"""`fanfold stream`: prints output while a task runs."""

from __future__ import annotations

import click

from fanfold.model.item import BEGAN_AGAIN
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("stream", cls=Command)
@click.argument("task_id", metavar="ID")
@click.option("--no-follow", is_flag=True, help="Print what exists and exit.")
@click.pass_obj
def command(invocation: Invocation, task_id: str, no_follow: bool) -> None:
    """Print the pieces that items emit, in order, while they run.

    With --json, prints one {"key": …, "value": …} per line, and {"key": …, "began_again": true} when an item starts another
    attempt and its earlier output no longer counts.
    """
    piece = "\n"
    for key, value in invocation.client().stream(task_id, follow=not no_follow):
        if value is BEGAN_AGAIN and not invocation.json:
            click.echo("" if piece.endswith("\n") else "\n", nl=False)
            click.echo(f"Item {printing.one_line(key)} began again: its earlier output does not count.", err=True)
            piece = "\n"
        elif invocation.json:
            printing.print_json(
                {"key": key, "began_again": True} if value is BEGAN_AGAIN else {"key": key, "value": value}, indent=None
            )
        elif isinstance(value, str):
            piece = value
            click.echo(piece, nl=False)
        else:
            printing.print_json(value, indent=None)
    if printing.on_terminal() and not piece.endswith("\n"):
        click.echo()
