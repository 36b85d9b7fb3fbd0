"""`fanfold events`: lists the history of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.model.task import Event

HEADINGS = ("time", "who", "what", "where", "why")


@click.command("events", cls=Command)
@click.argument("task_id", metavar="ID")
@click.option(
    "--after", type=int, default=0, metavar="NUMBER", help="Only events with a higher number (its `id` in --json)."
)
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=1_000, show_default=True, help="Maximum number of rows."
)
@click.option(
    "--follow", "-f", is_flag=True, help="Keep printing until the task is finished; with --json, one event per line."
)
@click.pass_obj
def command(invocation: Invocation, task_id: str, after: int, limit: int, follow: bool) -> None:
    """List what happened to a task, who did it and why."""
    from fanfold.model.task import Event

    client = invocation.client()
    if follow:
        for found in client.follow(task_id, after=after):
            if isinstance(found, Event):
                show(found, as_json=invocation.json)
        return
    events = client.events(task_id, after, limit)
    if invocation.json:
        printing.print_json(events)
    else:
        printing.print_table(HEADINGS, map(row, events))


def show(event: Event, *, as_json: bool) -> None:
    """Print one event."""
    if as_json:
        printing.print_json(event, indent=None)
    else:
        click.echo("  ".join(filter(None, row(event))))


def row(event: Event) -> tuple[str, ...]:
    """An event as a table row."""
    change = f"{event.source or ''} → {event.target or 'gone'}" if event.source or event.target else ""
    where = " ".join(filter(None, (event.stage, event.item)))
    what = f"{event.verb} ({change.strip()})" if change else event.verb
    return printing.short_time(event.at), event.actor, what, where, printing.one_line(event.reason)
