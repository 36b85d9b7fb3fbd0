"""`fanfold pause`: pauses tasks."""

from __future__ import annotations

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import ids, steer
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("pause", cls=Command)
@ids
@click.option("--reason", help="Reason, stored with the task.")
@given.target
@click.pass_obj
def command(invocation: Invocation, ids: tuple[str, ...], reason: str | None, targets: tuple[str, ...]) -> Exit:
    """Pause tasks; running items go back to the queue unharmed."""
    return steer(invocation, ids, targets, lambda client, task_id: client.pause(task_id, reason))
