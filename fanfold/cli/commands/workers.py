"""`fanfold workers`: lists the workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.store.rows.workers import WorkerRow

HEADINGS = ("id", "state", "running", "of", "pid", "started", "seen", "swept", "host", "serves")


@click.command("workers", cls=Command)
@click.pass_obj
def command(invocation: Invocation) -> None:
    """List the workers, live ones first."""
    found = invocation.client().workers()
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo("No workers. To start one: fanfold worker", err=True)
    else:
        printing.print_table(HEADINGS, map(row, found), right=("running", "of", "pid"))


def row(worker: WorkerRow) -> tuple[str, ...]:
    """A worker as a table row."""
    state = ("stopping" if worker.stopping else "alive") if worker.alive else "lost"
    serves = ", ".join(f"{pipeline}.{stage}" for pipeline, stage in worker.serves)
    moments = (worker.started_at, worker.seen_at, worker.swept_at)
    times = ("never" if moment is None else printing.short_time(moment) for moment in moments)
    return worker.id, state, str(worker.running), str(worker.concurrency), str(worker.pid), *times, worker.host, serves
