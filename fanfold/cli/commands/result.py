"""`fanfold result`: prints or saves the result of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fanfold.cli import parameters as given
from fanfold.errors import BadInput
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal import result_output as results
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.engine.make_form import FormFile
    from fanfold.model.task import Task


@click.command("result", cls=Command)
@click.argument("task_id", metavar="ID")
@results.to_file
@click.option("--earlier", is_flag=True, help="For a task that is being redone: its previous result.")
@click.option("--form", metavar="NAME", help="Get the result in this form, such as html.")
@click.option("--partial", is_flag=True, help="With --form, before the task is completed: made of the results so far.")
@given.target
@click.pass_obj
def command(
    invocation: Invocation,
    task_id: str,
    target_file: str | None,
    earlier: bool,
    form: str | None,
    partial: bool,
    targets: tuple[str, ...],
) -> Exit:
    """Get the result of a task and list what is missing or degraded.

    A file is copied to FILE; a value is written as text or JSON. Without -o, a file is described on a terminal and otherwise
    sent to standard output. The exit code is 7 if part of the result is missing, or degraded and not accepted.
    `fanfold pipelines` lists the forms of each pipeline.
    """
    client = invocation.client(targets)
    task = client.get(task_id)
    if partial and form is None:
        raise BadInput("--partial is for a form: also pass --form NAME.")
    if form is not None:
        with client.make_form(task.id, form, earlier=earlier, partial=partial) as made:
            _give_form(invocation, made, target_file)
        if partial and task.state != "completed":
            click.echo(f"Task {task.id} is {task.status}: so far {task.done} of {task.total}.", err=True)
            return Exit.PARTIAL
        return _tell(invocation, client, task)
    value = client.result(task.id, earlier=earlier)
    if earlier and task.state != "completed":
        click.echo(f"Task {task.id} is {task.status}: this is its previous result.", err=True)
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
    return _tell(invocation, client, task)


def _give_form(invocation: Invocation, made: FormFile, target_file: str | None) -> None:
    """Write a form to a file, a folder or standard output."""
    if target_file in (None, "-"):
        if invocation.json:
            raise BadInput("A form is a file. With --json, also pass -o FILE.")
        if target_file is None and not made.form.is_text and printing.on_terminal():
            raise BadInput(f"The form {made.form.name} is not text. Save it to a file: -o {made.name}")
        results.send_file(made.path)
        return
    written = results.written(lambda place: [made.save(place)], str(target_file))
    if invocation.json:
        printing.print_json(
            {"form": made.form.name, "media_type": made.form.media_type, "files": [str(path) for path in written]}
        )


def _tell(invocation: Invocation, client: Client, task: Task) -> Exit:
    """List what is missing from the result and what is degraded."""
    if not invocation.json:
        results.list_missing(client, task)
        results.list_degraded(client, task)
    return results.ended_well(task)
