"""`fanfold estimate`: estimates the cost of a task."""

from __future__ import annotations

import logging
from typing import IO

import click

from fanfold.cli import parameters as given
from fanfold.running.terminal import declared
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("estimate", cls=Command)
@click.argument("target")
@click.argument("inputs", metavar="[INPUT]...", nargs=-1)
@given.option
@given.items_file
@declared.sample
@click.pass_obj
def command(
    invocation: Invocation,
    target: str,
    inputs: tuple[str, ...],
    options: tuple[str, ...],
    items_file: IO[str] | None,
    sample: int,
) -> None:
    """Estimate what a task will cost: low, expected and high, live and as a batch.

    TARGET and INPUTs are those of `fanfold run`. No model is asked, unless --sample is given: then that many items are
    processed now, and `fanfold run` with the same arguments continues the task.
    """
    invocation.log(logging.ERROR)
    from fanfold.engine.discovery import load
    from fanfold.running.one import RunWish
    from fanfold.running.terminal.estimate_output import print_estimates

    pipeline = load(target)
    client = invocation.client([pipeline])
    found = given.given(pipeline, inputs, items_file)
    items = None if found.items is None else list(found.items)
    chosen = given.parse_options(options)
    key = RunWish(pipeline, found.inputs, items, chosen).key() if sample else None
    made = client.estimate(pipeline, *found.inputs, items=items, options=chosen, sample=sample, key=key)
    print_estimates([(pipeline.title, made)], as_json=invocation.json)
