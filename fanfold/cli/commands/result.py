"""`fanfold result`: give it to me."""

from __future__ import annotations

import click

from fanfold.running import output_format as printing
from fanfold.running import result_output as results
from fanfold.running.exit_codes import Exit
from fanfold.running.invocation import Command, Invocation


@click.command("result", cls=Command)
@click.argument("task_id", metavar="ID")
@results.to_file
@click.option("--earlier", is_flag=True, help="Of a task that is being redone: what it had made before.")
@click.pass_obj
def command(invocation: Invocation, task_id: str, target_file: str | None, earlier: bool) -> Exit:
    """Get the result of a task, and what is missing or degraded in it.

    A file is copied to FILE; a value is written as text or JSON. Without -o, a file is described on a terminal, and sent
    to the standard output otherwise. The exit code is 7 when some of it is not what was asked for, unless it was accepted.
    """
    client = invocation.client()
    task = client.get(task_id)
    value = client.result(task.id, earlier=earlier)
    if earlier and task.state != "completed":
        click.echo(f"Task {task.id} is {task.status}: this is what it had made before.", err=True)
    if target_file is not None:
        results.write_result(value, target_file)
    if invocation.json:
        if target_file != "-":
            missing = [
                {"key": r.key, "code": r.error_code, "message": r.error_message} for r in client.missing(task.id)
            ]
            known = {"task": task.id, "state": task.state, "result": value, "missing": missing}
            printing.print_json(known | {"degraded": task.degraded, "accepted": task.accepted})
        return results.ended_well(task)
    if target_file is None:
        if printing.on_terminal():
            results.describe(value, task.id)
        else:
            results.send(value)
    results.list_missing(client, task)
    results.list_degraded(client, task)
    return results.ended_well(task)
