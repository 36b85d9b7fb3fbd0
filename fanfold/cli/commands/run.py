"""`fanfold run`: runs a pipeline in this process."""

from __future__ import annotations

import logging
from typing import IO, Any

import click

from fanfold.cli import parameters as given
from fanfold.running.terminal import declared
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal import result_output as results
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation
from fanfold.running.terminal.lanes import chosen_lane, lane_options


@click.command("run", cls=Command)
@click.argument("target")
@click.argument("inputs", metavar="[INPUT]...", nargs=-1)
@given.option
@given.items_file
@click.option("--fresh", is_flag=True, help="Start a new task even if one exists.")
@lane_options
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Items to run at the same time.")
@click.option("--straight-through", is_flag=True, help="Do not stop at gates.")
@declared.budget_options
@results.to_file
@click.pass_obj
def command(
    invocation: Invocation,
    /,
    target: str,
    inputs: tuple[str, ...],
    options: tuple[str, ...],
    items_file: IO[str] | None,
    fresh: bool,
    concurrency: int | None,
    straight_through: bool,
    target_file: str | None,
    **spending: Any,
) -> Exit:
    """Run a pipeline here; run it again and it resumes.

    TARGET is package.module:pipeline, file.py:pipeline (file.py if it has only one) or the name of an installed pipeline.
    INPUTs are files, which are copied in; for a pipeline that begins with `each` they are the items, as plain text; for a
    function made with @fanfold.task they are its arguments, JSON if they parse, otherwise text.

    The same pipeline, inputs and options mean the same task: an interrupted task resumes, a failed one retries what failed,
    and a finished one returns its result again (--fresh starts a new task). The exit code is 7 if part of the result is
    degraded and not accepted.
    """
    invocation.log(logging.ERROR)
    from fanfold.engine.discovery import load
    from fanfold.running.one import RunWish, run_task

    pipeline = load(target)
    client = invocation.client()
    client.pipelines[pipeline.name] = pipeline
    found = given.given(pipeline, inputs, items_file)
    items = None if found.items is None else list(found.items)
    chosen, budget = given.parse_options(options) | chosen_lane(spending), declared.budget_wish(spending)
    wanted = RunWish(pipeline, found.inputs, items, chosen, fresh, concurrency, straight_through, budget)
    task = run_task(client, wanted)
    value = client.result(task.id)
    if target_file is not None:
        results.write_result(value, target_file)
    if invocation.json:
        printing.print_json({"task": task, "result": value})
    elif target_file is None:
        results.describe(value, task.id)
        results.list_missing(client, task)
        results.list_degraded(client, task)
    return results.ended_well(task)
