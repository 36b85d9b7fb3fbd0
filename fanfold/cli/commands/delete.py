"""`fanfold delete`: deletes tasks with their files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import ids, steer
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.engine.client import Client


@click.command("delete", cls=Command)
@ids
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@given.target
@click.pass_obj
def command(invocation: Invocation, ids: tuple[str, ...], yes: bool, targets: tuple[str, ...]) -> Exit:
    """Delete tasks for good, with all their files.

    On a terminal, it asks for confirmation.
    """
    if not yes and sys.stdin.isatty() and not click.confirm(f"Delete {', '.join(ids)} with all files?", err=True):
        return Exit.OK
    return steer(invocation, ids, targets, delete)


def delete(client: Client, task_id: str) -> None:
    """Delete one task; nothing of it is left to print."""
    client.delete(task_id)
