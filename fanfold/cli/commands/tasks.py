"""`fanfold tasks`: lists tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.model.task import Task

HEADINGS = ("id", "pipeline", "status", "progress", "done", "failed", "degraded", "created", "title")


@click.command("tasks", cls=Command)
@click.option(
    "--state",
    "states",
    multiple=True,
    help="active, waiting, paused, completed, partial, failed or cancelled. Repeatable.",
)
@click.option("--pipeline", help="Only tasks of this pipeline.")
@click.option("--owner", help="Only tasks of this owner.")
@click.option("--tag", help="Only tasks with this tag.")
@click.option("--text", help="Only tasks with this text in the id, title, error or a tag.")
@click.option("--needs-you", is_flag=True, help="Only tasks that need a person, with the reason.")
@click.option("--deliveries", is_flag=True, help="Also list the tasks that deliver webhooks.")
@click.option("--parent", metavar="ID", help="Only the subtasks of this task.")
@click.option(
    "--sort",
    type=click.Choice(["newest", "oldest", "updated"]),
    default="newest",
    show_default=True,
    help="updated: most recently changed first.",
)
@click.option("--after", metavar="ID", help="Next page: tasks after this one.")
@click.option("--limit", type=int, default=50, show_default=True, help="Maximum number of rows, up to 1000.")
@click.pass_obj
def command(
    invocation: Invocation,
    states: tuple[str, ...],
    pipeline: str | None,
    owner: str | None,
    tag: str | None,
    text: str | None,
    needs_you: bool,
    deliveries: bool,
    parent: str | None,
    sort: str,
    after: str | None,
    limit: int,
) -> None:
    """List tasks.

    Tasks that deliver webhooks are left out, unless you ask for them with --deliveries, or for their pipeline, or for what needs
    you.
    """
    found = invocation.client().list(
        states=states,
        pipeline=pipeline,
        owner=owner,
        tag=tag,
        text=text,
        needs_you=needs_you,
        parent=parent,
        after=after,
        limit=limit,
        sort=sort,
        deliveries=deliveries or needs_you or pipeline is not None,
    )
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo("No tasks.", err=True)
    else:
        right = ("progress", "done", "failed", "degraded")
        if needs_you:
            rows = ((*row(task)[:-1], task.needs_you or "") for task in found)
            printing.print_table((*HEADINGS[:-1], "why"), rows, right=right)
        elif any(task.wait_reason for task in found):
            rows = ((*row(task), task.wait_reason or "") for task in found)
            printing.print_table((*HEADINGS, "waits"), rows, right=right)
        else:
            printing.print_table(HEADINGS, map(row, found), right=right)
        if len(found) == limit:
            order = f"--sort {sort} " if sort != "newest" else ""
            click.echo(f"More: {order}--after {found[-1].cursor}", err=True)


def row(task: Task) -> tuple[str, ...]:
    """A task as a table row."""
    done = f"{task.done}/{task.total}" if task.total > 1 else ""
    created = printing.short_time(task.created_at)
    return (
        task.id,
        task.pipeline,
        task.status,
        f"{task.progress:.0f} %",
        done,
        str(task.failed_step or task.failed or ""),
        str(task.degraded or ""),
        created,
        task.title,
    )
