"""`fanfold costs`: shows what was spent, and on what."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

import click

from fanfold.model.money.amounts import told_dollars
from fanfold.model.money.costs import GROUPS, CostRow, total_of
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from collections.abc import Iterable

HEADINGS = ("calls", "cost", "fallbacks", "retries", "bad", "unanswered", "saved", "in", "of it cached", "out")


@click.command("costs", cls=Command)
@click.option("--by", "group", type=click.Choice(GROUPS), default="task", help="What to add up by [default: task].")
@click.option("--since", metavar="TIME", help="Only calls from this day or time on, such as 2026-11-01.")
@click.option("--until", metavar="TIME", help="Only calls before this day or time.")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated values, for a spreadsheet.")
@click.pass_obj
def command(invocation: Invocation, group: str, since: str | None, until: str | None, as_csv: bool) -> None:
    """Show what calls to models have cost, by task, model, day, owner, provider or pipeline.

    The columns fallbacks, retries and bad are parts of the cost: calls to later models of a chain, repeated calls, and
    rejected answers. Unanswered calls may have been charged; saved ones came from the cache.
    """
    rows = invocation.client().costs(group, since=since, until=until)
    if as_csv:
        click.echo(_csv(rows), nl=False)
        return
    total = total_of(rows)
    if invocation.json:
        printing.print_json({"by": group, "rows": rows, "total": total})
        return
    lines = [_line(row) for row in (*rows, *([total] if len(rows) > 1 else []))]
    printing.print_table((group, *HEADINGS), lines, right=HEADINGS)


def _line(row: CostRow) -> tuple[str | int, ...]:
    parts = (told_dollars(part) if part else "" for part in (row.fallbacks, row.retries, row.bad_answers))
    cost = f"{'≥ ' if row.unpriced or row.possibly_paid else ''}{told_dollars(row.cost)}"
    tokens = (row.input_tokens, row.cached_tokens, row.output_tokens)
    return (row.name or "(none)", row.calls, cost, *parts, row.possibly_paid or "", row.cached or "", *tokens)


def _csv(rows: Iterable[CostRow]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(CostRow)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()
