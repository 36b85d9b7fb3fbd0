"""`fanfold output`: prints or saves the output of one item."""

from __future__ import annotations

import click

from fanfold.model.values.files import File
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal import result_output as results
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("output", cls=Command)
@click.argument("task_id", metavar="ID")
@click.argument("key", metavar="KEY")
@click.option("--stage", help="Stage of the item [default: the one with many items].")
@results.to_file
@click.option("--earlier", is_flag=True, help="The output from before it was redone.")
@click.pass_obj
def command(
    invocation: Invocation, task_id: str, key: str, stage: str | None, target_file: str | None, earlier: bool
) -> None:
    """Get the output of one finished item."""
    value = invocation.client().output(task_id, key, stage, earlier=earlier)
    if target_file is not None:
        results.write_result(value, target_file)
    elif invocation.json:
        printing.print_json(value)
    elif isinstance(value, File) and printing.on_terminal():
        click.echo(f"{value.name}, {printing.size(value.size)}: {value.where}")
    else:
        results.send(value)
