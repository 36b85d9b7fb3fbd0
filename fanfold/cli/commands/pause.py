"""`fanfold pause`: not now."""

from __future__ import annotations

import click

from fanfold.cli import given
from fanfold.cli.exits import Exit
from fanfold.cli.invocation import Command, Invocation
from fanfold.cli.steering import ids, steer


@click.command("pause", cls=Command)
@ids
@click.option("--reason", help="Why; it is kept with the task.")
@given.target
@click.pass_obj
def command(invocation: Invocation, ids: tuple[str, ...], reason: str | None, targets: tuple[str, ...]) -> Exit:
    """Pause tasks; what runs is handed back unharmed."""
    return steer(invocation, ids, targets, lambda client, task_id: client.pause(task_id, reason))
