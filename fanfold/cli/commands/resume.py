"""`fanfold resume`: continues tasks that are paused or waiting at a gate."""

from __future__ import annotations

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import ids, steer
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("resume", cls=Command)
@ids
@click.option(
    "--answer",
    "answers",
    multiple=True,
    metavar="NAME=VALUE",
    help="Answer at a gate that asks; VALUE is JSON if it parses, otherwise text. Repeatable.",
)
@given.target
@click.pass_obj
def command(invocation: Invocation, ids: tuple[str, ...], answers: tuple[str, ...], targets: tuple[str, ...]) -> Exit:
    """Resume tasks that are paused or waiting at a gate; `fanfold show` says what a gate asks.

    \b
    fanfold resume 7f3a
    fanfold resume 7f3a --answer tone=formal --answer approved=true
    """
    answer = given.parse_options(answers, "an answer", "--answer") if answers else None
    return steer(invocation, ids, targets, lambda client, task_id: client.resume(task_id, answer))
