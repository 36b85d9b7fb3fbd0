"""`fanfold limits`: lists the rate limits that all workers share, and opens or closes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.model.money.rate_limits import LimitRow

HEADINGS = ("limit", "of", "size", "from", "left", "in flight", "waiting", "refused", "closed until", "who waits")


@click.command("limits", cls=Command)
@click.argument("verb", metavar="[open|close]", required=False, type=click.Choice(("open", "close")))
@click.argument("key", metavar="[LIMIT]", required=False)
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), default=10.0, help="How long `close` lasts.")
@click.pass_obj
def command(invocation: Invocation, verb: str | None, key: str | None, minutes: float) -> None:
    """List the rate limits, or open or close one for all workers.

    \b
    fanfold limits                               level, learned rate, closed until, who waits
    fanfold limits close openai:gpt-5.4-mini     no worker asks this model for 10 minutes
    fanfold limits open openai:gpt-5.4-mini      ask again now, even if the daily quota is used up
    """
    client = invocation.client()
    if verb is not None and key is None:
        raise click.UsageError(f"Say which limit to {verb}: fanfold limits {verb} LIMIT")
    if verb is None or key is None:
        found = client.limits()
    else:
        found = client.open_limit(key) if verb == "open" else client.close_limit(key, minutes * 60)
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo("No limits yet: they appear with the first call to a model.", err=True)
    else:
        printing.print_table(HEADINGS, map(row, found), right=HEADINGS[2:3] + HEADINGS[4:8])


def row(limit: LimitRow) -> tuple[str, ...]:
    """A limit as a table row."""
    size = "" if limit.size is None else f"{limit.size:g}"
    closed = "" if limit.closed_until is None else f"{printing.short_time(limit.closed_until)} ({limit.closed_by})"
    counts = (str(limit.in_flight), str(limit.waiting), str(limit.refusals)) if limit.has_calls else ("", "", "")
    who = ", ".join(limit.waiters) if limit.has_calls else ""
    return limit.key, limit.dimension, size, limit.source, f"{limit.level:.4g}", *counts, closed, who
