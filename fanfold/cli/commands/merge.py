"""`fanfold merge`: with what there is."""

from __future__ import annotations

import click

from fanfold.cli import given
from fanfold.cli.exits import Exit
from fanfold.cli.invocation import Command, Invocation
from fanfold.cli.steering import ids, steer


@click.command("merge", cls=Command)
@ids
@given.target
@click.pass_obj
def command(invocation: Invocation, ids: tuple[str, ...], targets: tuple[str, ...]) -> Exit:
    """Merge now, or again, with what there is."""
    return steer(invocation, ids, targets, lambda client, task_id: client.merge(task_id))
