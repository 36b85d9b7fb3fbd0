"""`fanfold lane`: changes how the rest of a task asks its models."""

from __future__ import annotations

import click

from fanfold.cli.task_commands import sentence
from fanfold.model.money.batch import LANES
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("lane", cls=Command)
@click.argument("task_id", metavar="ID")
@click.argument("lane", type=click.Choice(LANES))
@click.pass_obj
def command(invocation: Invocation, task_id: str, lane: str) -> None:
    """Ask the models for the rest of a task live, or in batches at a lower price.

    \b
    live   now, at the full price; a batch that nobody else waits for is cancelled at the service
    batch  in batches, at about half the price, within a day
    auto   in batches if the deadline allows it
    """
    task = invocation.client().set_lane(task_id, lane)
    printing.print_json(task) if invocation.json else click.echo(sentence(task))
