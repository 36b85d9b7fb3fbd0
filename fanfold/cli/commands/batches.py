"""`fanfold batches`: lists the batches of questions at services."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.model.money.batch import Batch

HEADINGS = ("batch", "model", "state", "questions", "answered", "failed", "since", "job", "reason")


@click.command("batches", cls=Command)
@click.argument("task_id", metavar="[ID]", required=False)
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Maximum number of rows.")
@click.pass_obj
def command(invocation: Invocation, task_id: str | None, limit: int) -> None:
    """List the batches of questions at services, the newest first; with ID, those with questions of that task.

    `fanfold lane ID live` asks the rest of a task live.
    """
    found = invocation.client().batches(task_id, limit=limit)
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo("No batches.", err=True)
    else:
        printing.print_table(HEADINGS, map(row, found), right=("questions", "answered", "failed"))


def row(one: Batch) -> tuple[str, ...]:
    """A batch as a table row."""
    state = f"{one.state}, cancelling" if one.cancelling and one.ended_at is None else str(one.state)
    return (
        one.id, f"{one.provider}:{one.model}", state, str(one.questions), str(one.answered), str(one.failed),
        printing.short_time(one.created_at), one.job or "", one.reason or "",
    )  # fmt: skip
