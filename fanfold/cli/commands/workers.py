"""`fanfold workers`: who is working?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fanfold.cli import printing
from fanfold.cli.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.store.workers import WorkerRow

HEADINGS = ("id", "state", "running", "of", "pid", "started", "seen", "host", "serves")


@click.command("workers", cls=Command)
@click.pass_obj
def command(invocation: Invocation) -> None:
    """List the workers, the living first."""
    found = invocation.client().workers()
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo("No workers. To start one: fanfold worker", err=True)
    else:
        printing.print_table(HEADINGS, map(row, found), right=("running", "of", "pid"))


def row(worker: WorkerRow) -> tuple[str, ...]:
    """A worker as a line of the table."""
    state = ("stopping" if worker.stopping else "alive") if worker.alive else "lost"
    serves = ", ".join(f"{pipeline}.{stage}" for pipeline, stage in worker.serves)
    times = printing.short_time(worker.started_at), printing.short_time(worker.seen_at)
    return worker.id, state, str(worker.running), str(worker.concurrency), str(worker.pid), *times, worker.host, serves
