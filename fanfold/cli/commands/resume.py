"""`fanfold resume`: continues tasks that are paused or waiting at a gate."""

from __future__ import annotations

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import ids, steer
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("resume", cls=Command)
@ids
@given.target
@click.pass_obj
def command(invocation: Invocation, ids: tuple[str, ...], targets: tuple[str, ...]) -> Exit:
    """Resume tasks that are paused or waiting at a gate."""
    return steer(invocation, ids, targets, lambda client, task_id: client.resume(task_id))
