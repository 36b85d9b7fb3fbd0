"""`fanfold wait`: waits for a task to finish."""

from __future__ import annotations

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import sentence
from fanfold.errors import FanfoldError
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal import result_output as results
from fanfold.running.terminal.exit_codes import BY_STATE, Exit
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("wait", cls=Command)
@click.argument("task_id", metavar="ID")
@click.option("--timeout", type=given.FiniteRange(min=0), metavar="SECONDS", help="Give up after this time.")
@click.pass_obj
def command(invocation: Invocation, task_id: str, timeout: float | None) -> Exit:
    """Wait for a task to finish; the exit code tells how it ended.

    Returns at once for a task that cannot continue without a person: one that is paused, waits at a gate, or has only items
    left that wait for a decision.
    """
    from fanfold.running.follow import watch
    from fanfold.running.terminal.display import display

    client = invocation.client()
    shown = display(wanted=not invocation.json)
    try:
        task = watch(client, task_id, shown, lambda seconds: timeout is not None and seconds >= timeout)
    finally:
        shown.close()
    if task.state == "active" and not task.stalled:
        raise FanfoldError(
            f"Task {task.id} is still {task.status} after {timeout:g} s and keeps running.", code="timeout"
        )
    if invocation.json:
        printing.print_json(task)
    else:
        click.echo(sentence(task))
    return BY_STATE[task.state] or results.ended_well(task)
