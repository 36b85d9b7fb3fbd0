"""`fanfold items`: lists the items of a task with state, attempts and duration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fanfold.errors import BadInput
from fanfold.model.money.questions import money
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.model.item import Item

HEADINGS = ("key", "stage", "state", "tries", "took", "finished", "note")


@click.command("items", cls=Command)
@click.argument("task_id", metavar="ID")
@click.option("--stage", help="Items of this stage [default: the one with many items].")
@click.option(
    "--state", "states", multiple=True, help="pending, running, retrying, waiting, done or failed. Repeatable."
)
@click.option("--degraded", is_flag=True, help="Only degraded items.")
@click.option("--key", "keys", multiple=True, help="Only this item. Repeatable.")
@click.option("--after", metavar="KEY", help="Next page: items after this one.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Maximum number of rows.")
@click.pass_obj
def command(
    invocation: Invocation,
    task_id: str,
    stage: str | None,
    states: tuple[str, ...],
    degraded: bool,
    keys: tuple[str, ...],
    after: str | None,
    limit: int,
) -> None:
    """List the items of a task in order."""
    from fanfold.model.lifecycle import ItemState

    unknown = [state for state in states if state not in [*ItemState]]
    if unknown:
        raise BadInput(f"Unknown item state {', '.join(unknown)}. Use one of: {', '.join(ItemState)}.")
    found = invocation.client().items(
        task_id, stage=stage, states=states, keys=keys, degraded=degraded or None, after=after, limit=limit
    )
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo("No items.", err=True)
    else:
        headings: tuple[str, ...] = HEADINGS
        rows = [row(item) for item in found]
        if any(item.model for item in found):
            headings = (*HEADINGS[:-1], "model", "cost", HEADINGS[-1])
            rows = [
                (*cells[:-1], item.model or "", cost(item), cells[-1]) for item, cells in zip(found, rows, strict=True)
            ]
        printing.print_table(headings, rows, right=("tries", "took", "cost"))
        if len(found) == limit:
            click.echo(f"More: --after {found[-1].key}", err=True)


def cost(item: Item) -> str:
    """Cost of the item's model calls, if it made any."""
    return money(item.spending) if item.spending.calls or item.spending.possibly_paid else ""


def row(item: Item) -> tuple[str, ...]:
    """An item as a table row."""
    took = ""
    if item.started_at is not None and item.finished_at is not None:
        took = printing.duration((item.finished_at - item.started_at).total_seconds())
    note = item.error_message if item.state in ("failed", "retrying") else item.held or item.message
    note = f"degraded{', accepted' if item.accepted else ''}: {item.degraded}" if item.degraded else note
    finished = printing.short_time(item.finished_at)
    state = item.state.value if item.word == item.state else f"{item.state.value} ({item.word})"
    return item.key, item.stage, state, str(item.attempts), took, finished, note or ""
