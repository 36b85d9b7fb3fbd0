"""`fanfold rerun`: starts tasks over."""

from __future__ import annotations

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import ids, steer
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("rerun", cls=Command)
@ids
@given.rerun_target
@click.pass_obj
def command(invocation: Invocation, ids: tuple[str, ...], targets: tuple[str, ...]) -> Exit:
    """Start tasks over, discarding their results.

    The stages come from the current code, so the pipeline must be installed or named with --target.

    \b
    fanfold rerun 7f3a --target book.py:book
    """
    return steer(invocation, ids, targets, lambda client, task_id: client.rerun(task_id))
