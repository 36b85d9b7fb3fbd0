"""`fanfold calls`: lists a task's model calls with their tokens, cost and duration."""

from __future__ import annotations

import click

from fanfold.model.money.questions import cost_of_calls
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("calls", cls=Command)
@click.argument("task_id", metavar="ID")
@click.option("--item", "key", metavar="KEY", help="Only calls of this item.")
@click.option("--stage", help="Stage of the item, if several stages have an item with this key.")
@click.option("--raw", is_flag=True, help="Print the stored raw answers: bad ones, or all with the option keep_raw.")
@click.pass_obj
def command(invocation: Invocation, task_id: str, key: str | None, stage: str | None, raw: bool) -> None:
    """List the model calls of a task with tokens, cost and time."""
    client = invocation.client()
    task = client.get(task_id)
    rows = client.calls(task.id, key, stage, limit=None)
    if invocation.json:
        printing.print_json({"task": task.id, "spending": task.spending, "calls": rows})
        return
    if raw:
        for row in rows:
            if row.raw is not None:
                click.echo(f"{row.stage} {row.item}, {row.provider}:{row.model}, {row.outcome}:\n{row.raw}\n")
        return
    headings = ("item", "model", "outcome", "in", "out", "cost", "seconds")
    printing.print_table(
        headings,
        [
            (
                row.item,
                f"{row.provider}:{row.model}",
                row.outcome.replace("_", " "),
                row.input_tokens,
                row.output_tokens,
                "" if row.cost is None else f"${row.cost:.4f}",
                f"{row.seconds:.1f}",
            )
            for row in rows
        ],
        right=("in", "out", "cost", "seconds"),
    )
    if task.spending:
        saved = f", {task.spending.cached} from the cache" if task.spending.cached else ""
        click.echo(f"\n{cost_of_calls(task.spending)}{saved}")
