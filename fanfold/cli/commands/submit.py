"""`fanfold submit`: creates a task for the workers."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import sentence
from fanfold.errors import BadInput
from fanfold.model.text.sentences import say
from fanfold.running.terminal import declared
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation
from fanfold.running.terminal.lanes import chosen_lane, lane_options

if TYPE_CHECKING:
    from fanfold.model.pipelines.pipeline import Target


@click.command("submit", cls=Command)
@click.argument("target")
@click.argument("inputs", metavar="[INPUT]...", nargs=-1)
@given.option
@declared.password
@given.items_file
@lane_options
@click.option(
    "--tasks",
    "tasks_file",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help='Submit many tasks at once: a JSON object per line, such as {"inputs": ["a.txt"], "key": "a"}; - for standard input.',
)
@click.option("--key", help="Idempotency key: the same key gives the same task, never a second one.")
@click.option("--priority", type=int, default=0, help="Tasks with a higher number run first.")
@click.option("--tag", "tags", multiple=True, help="Tag to find the task by. Repeatable.")
@click.option("--owner", help="Owner of the task.")
@click.option("--title", help="Title of the task [default: the name of its first file].")
@click.option("--retry-limit", type=int, metavar="N", help="Retries per item, instead of the stage's own limit.")
@click.option("--straight-through", is_flag=True, help="Do not stop at gates.")
@click.option(
    "--at", "run_at", metavar="TIME", help="Start at this time, such as 2026-12-24T20:00+01:00; local without a zone."
)
@click.option("--delay", type=given.FiniteRange(min=0), metavar="SECONDS", help="Start this many seconds from now.")
@click.option(
    "--notify", multiple=True, metavar="NAME|URL", help="Webhook, by name or URL, to notify about the task. Repeatable."
)
@declared.budget_options
@click.pass_obj
def command(
    invocation: Invocation,
    /,
    target: str,
    inputs: tuple[str, ...],
    options: tuple[str, ...],
    password: str | None,
    items_file: IO[str] | None,
    tasks_file: IO[str] | None,
    key: str | None,
    priority: int,
    tags: tuple[str, ...],
    owner: str | None,
    title: str | None,
    retry_limit: int | None,
    straight_through: bool,
    run_at: str | None,
    delay: float | None,
    notify: tuple[str, ...],
    **asked: Any,
) -> None:
    """Create a task for the workers and print its id.

    TARGET is package.module:pipeline, file.py:pipeline (file.py if it has only one) or the name of an installed pipeline.
    INPUTs are files, which are copied in, so that a worker on another machine finds them; for a pipeline that begins with
    `each` they are the items, as plain text; for a function made with @fanfold.task they are its arguments, JSON if they
    parse, otherwise text.
    """
    from fanfold.engine.discovery import load

    pipeline = load(target)
    chosen = given.parse_options(options) | given.secrets(password) | chosen_lane(asked)
    if tasks_file is not None:
        shared: dict[str, Any] = {
            "options": chosen, "priority": priority, "tags": tags, "owner": owner, "retry_limit": retry_limit, "notify": notify,
            "straight_through": straight_through, "run_at": given.moment(run_at), "delay": delay, **declared.spending(asked),
        }  # fmt: skip
        _submit_many(invocation, pipeline, tasks_file, shared, alone=bool(inputs or items_file or key or title))
        return
    found = given.given(pipeline, inputs, items_file)
    task = invocation.client().submit(
        pipeline, *found.inputs, items=found.items, options=chosen, key=key, priority=priority, tags=tags,
        owner=owner, title=title, retry_limit=retry_limit, straight_through=straight_through,
        run_at=given.moment(run_at), delay=delay, notify=notify, **declared.spending(asked),
    )  # fmt: skip
    if invocation.json:
        printing.print_json(task)
        return
    click.echo(task.id)
    click.echo(f"{sentence(task)}. To watch it: fanfold wait {task.id}", err=True)


def _submit_many(
    invocation: Invocation, pipeline: Target, lines: IO[str], shared: dict[str, Any], *, alone: bool
) -> None:
    """Submit one task per line, and print their ids; those that were refused are named at the end."""
    if alone:
        raise click.UsageError("--tasks names each task's own inputs, items, key and title: give them in the file.")
    made = invocation.client().submit_many(
        pipeline, [_read(number, line) for number, line in enumerate(lines, 1)], **shared
    )
    tasks = [one for one in made if not isinstance(one, Exception)]
    refused = {number: one for number, one in enumerate(made, 1) if isinstance(one, Exception)}
    if invocation.json:
        printing.print_json({"tasks": tasks, "refused": {str(number): str(one) for number, one in refused.items()}})
    else:
        for task in tasks:
            click.echo(task.id)
        for number, problem in refused.items():
            click.echo(f"Line {number} was refused: {problem}", err=True)
    if refused:
        raise click.exceptions.Exit(1)


def _read(number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise BadInput(say("tasks_line", line=number))
    return found
