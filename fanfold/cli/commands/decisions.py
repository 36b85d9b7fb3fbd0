"""`fanfold decisions`: lists what people decided about parts of results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from fanfold.model.decision import DecisionVerdict
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.model.decision import Decision

LOGGED = ("number", "time", "who", "stage", "item", "part", "decision", "value")
HEADINGS = ("number", "time", "who", "item", "part", "decision", "value")


@click.command("decisions", cls=Command)
@click.argument("task_id", metavar="ID")
@click.option("--item", metavar="KEY", help="Only decisions about this item.")
@click.option("--part", metavar="KEY", help="Only decisions about this part.")
@click.option("--stage", help="Only decisions about items of this stage.")
@click.option("--verdict", type=click.Choice([*DecisionVerdict]), help="Only decisions with this verdict.")
@click.option("--history", is_flag=True, help="Include decisions that were undone or replaced later.")
@click.option(
    "--after", type=click.IntRange(min=0), default=0, metavar="NUMBER", help="Only decisions with a higher number."
)
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=1_000, show_default=True, help="Maximum number of rows."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print them as CSV, for a spreadsheet.")
@click.pass_obj
def command(
    invocation: Invocation,
    task_id: str,
    item: str | None,
    part: str | None,
    stage: str | None,
    verdict: str | None,
    history: bool,
    after: int,
    limit: int,
    as_csv: bool,
) -> None:
    """List the latest decision on each part of a task's results.

    `fanfold decide ID --from FILE` accepts the output of --json.
    """
    found = invocation.client().decisions(
        task_id, stage=stage, item=item, part=part, verdict=verdict, history=history, after=after, limit=limit
    )
    if invocation.json:
        printing.print_json(found)
    elif as_csv:
        printing.print_csv(LOGGED, map(log_row, found))
    elif not found:
        click.echo("No decisions.", err=True)
    else:
        printing.print_table(HEADINGS, map(row, found), right=("number",))
        if len(found) == limit:
            click.echo(f"More: --after {found[-1].number}", err=True)


def row(one: Decision) -> tuple[str, ...]:
    """A decision as a table row."""
    shown = one.value if isinstance(one.value, str) else json.dumps(one.value, ensure_ascii=False)
    value = printing.one_line(shown) if one.verdict == DecisionVerdict.REPLACE else ""
    return str(one.number), printing.short_time(one.at), one.actor, one.item, one.part, one.verdict.value, value


def log_row(one: Decision) -> tuple[str, ...]:
    """A decision as a row of the log, in full."""
    value = (
        ""
        if one.value is None
        else one.value
        if isinstance(one.value, str)
        else json.dumps(one.value, ensure_ascii=False)
    )
    return str(one.number), one.at.isoformat(), one.actor, one.stage, one.item, one.part, one.verdict.value, value
