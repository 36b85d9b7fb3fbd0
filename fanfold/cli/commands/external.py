"""`fanfold external`: lists jobs on external services and resolves those with an unknown outcome."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from fanfold.cli.task_commands import sentence
from fanfold.model.awaited.external import EXTERNAL_COMMANDS
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.model.awaited.external import ExternalJob

HEADINGS = ("item", "stage", "name", "state", "job", "since", "key")


@click.command("external", cls=Command)
@click.argument("task_id", metavar="ID")
@click.argument("verb", metavar="[check|lost|resend]", required=False, type=click.Choice(EXTERNAL_COMMANDS))
@click.option("--item", "items", multiple=True, metavar="KEY", help="Only jobs of this item. Repeatable.")
@click.option("--stage", help="Only jobs of this stage.")
@click.option("--reason", help="Reason, recorded with the event.")
@click.pass_obj
def command(
    invocation: Invocation,
    task_id: str,
    verb: str | None,
    items: tuple[str, ...],
    stage: str | None,
    reason: str | None,
) -> None:
    """List the external jobs of a task, or resolve those with an unknown outcome.

    \b
    check   ask the service again now
    lost    the job never started or was lost: start a new one with a new key
    resend  send it again with the same key; the service removes duplicates
    """
    client = invocation.client()
    if verb is not None:
        task = client.external(task_id, verb, items or None, stage=stage, reason=reason)
        printing.print_json(task) if invocation.json else click.echo(sentence(task))
        return
    found = [job for job in client.external_jobs(task_id) if not items or job.item in items]
    found = [job for job in found if stage is None or job.stage == stage]
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo("No external jobs.", err=True)
    else:
        printing.print_table(HEADINGS, map(row, found))


def row(job: ExternalJob) -> tuple[str, ...]:
    """A job as a table row."""
    known = "" if job.job is None else job.job if isinstance(job.job, str) else json.dumps(job.job, ensure_ascii=False)
    since = printing.short_time(job.updated_at)
    return job.item, job.stage, job.name, job.state.value, known, since, job.key
