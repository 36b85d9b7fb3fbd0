"""`fanfold submit`: creates a task for the workers."""

from __future__ import annotations

from typing import IO, Any

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import sentence
from fanfold.running.terminal import declared
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation
from fanfold.running.terminal.lanes import chosen_lane, lane_options


@click.command("submit", cls=Command)
@click.argument("target")
@click.argument("inputs", metavar="[INPUT]...", nargs=-1)
@given.option
@declared.password
@given.items_file
@lane_options
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
    "--notify", multiple=True, metavar="NAME|URL", help="Webhook or address to tell what becomes of it. Repeatable."
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

    TARGET is package.module:pipeline, file.py:pipeline or the name of an installed pipeline. INPUTs are files, which are
    copied in, so that a worker on another machine finds them; for a pipeline that begins with `each` they are the items,
    as plain text; for a function made with @fanfold.task they are its arguments, JSON if they parse, otherwise text.
    """
    from fanfold.engine.discovery import load

    pipeline = load(target)
    found = given.given(pipeline, inputs, items_file)
    chosen = given.parse_options(options) | given.secrets(password) | chosen_lane(asked)
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
