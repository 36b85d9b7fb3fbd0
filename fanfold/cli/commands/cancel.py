"""`fanfold cancel`: stops tasks for good."""

from __future__ import annotations

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import ids, steer
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("cancel", cls=Command)
@ids
@click.option("--reason", help="Reason, stored with the task.")
@given.target
@click.pass_obj
def command(invocation: Invocation, ids: tuple[str, ...], reason: str | None, targets: tuple[str, ...]) -> Exit:
    """Cancel tasks for good; running items are stopped."""
    return steer(invocation, ids, targets, lambda client, task_id: client.cancel(task_id, reason))
