"""`fanfold metrics`: prints figures for the whole installation."""

from __future__ import annotations

import click

from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("metrics", cls=Command)
@click.pass_obj
def command(invocation: Invocation) -> None:
    """Print queue, throughput, mean time and failure rate."""
    found = invocation.client().metrics()
    if invocation.json:
        printing.print_json(found)
        return
    printing.print_fields(
        [
            ("tasks", ", ".join(f"{count} {state}" for state, count in sorted(found.tasks.items())) or "none"),
            (
                "items",
                f"{found.queue} pending, {found.running} running, {found.retrying} retrying, {found.waiting} waiting",
            ),
            ("last minute", f"{found.finished_last_minute} done, {found.failed_last_minute} failed"),
            ("mean time", printing.duration(found.mean_seconds)),
            ("failure rate", "" if found.failure_rate is None else f"{found.failure_rate:.1%}"),
            ("workers", str(found.workers)),
        ]
    )
