"""Applies one command to one or several tasks and reports on each separately."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from fanfold.errors import BadInput, FanfoldError
from fanfold.model.text.counting import ITEMS, counted
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.error_output import described, exit_of
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Invocation
from fanfold.running.terminal.result_output import marked

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.model.task import Task

Act = Callable[["Client", str], "Task | None"]

ids = click.argument("ids", metavar="ID...", nargs=-1, required=True)


def steer(invocation: Invocation, task_ids: Sequence[str], targets: Sequence[str], act: Act) -> Exit:
    """Apply ``act`` to every task. A refusal does not stop the rest; the first one determines the exit code."""
    client = invocation.client(targets)
    answers: list[Any] = []
    code = Exit.OK
    for task_id in task_ids:
        try:
            task = with_mirror(client, task_id, act)
        except FanfoldError as error:
            if len(task_ids) == 1:
                raise
            code = code or exit_of(error)
            answers.append({"id": task_id, "error": described(error)})
            if not invocation.json:
                click.echo(f"Error: {printing.printable(str(error))}", err=True)
            continue
        answers.append(task if task is not None else {"id": task_id, "deleted": True})
        if not invocation.json:
            click.echo(sentence(task) if task is not None else f"{task_id} is deleted")
    if invocation.json:
        printing.print_json(answers[0] if len(task_ids) == 1 else answers)
    return code


def sentence(task: Task) -> str:
    """A task in one line."""
    why = f" ({task.still_running})" if task.still_running else ""
    why += f" ({task.wait_reason})" if task.wait_reason and task.wait_reason != task.status else ""
    degraded = f"; {marked(task, f'of {counted(task.total, ITEMS)} degraded')}" if task.degraded else ""
    return f"{task.id} is {task.status}{why}{degraded}"


def with_mirror(client: Client, task_id: str, act: Act) -> Task | None:
    """Apply ``act``. If the task's pipeline mirrors its state to a record, load the installed pipeline and try again."""
    try:
        return act(client, task_id)
    except BadInput as error:
        if error.code != "mirror_needed":
            raise
        pipeline = client.get(task_id).pipeline
        if pipeline in client.pipelines or not _load_installed(client, pipeline):
            raise
    return act(client, task_id)


def _load_installed(client: Client, name: str) -> bool:
    from fanfold.engine.installed import find_installed

    found = find_installed(name)
    if found is not None:
        client.pipelines[name] = found
    return found is not None
