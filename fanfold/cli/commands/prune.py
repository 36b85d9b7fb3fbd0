"""`fanfold prune`: removes old finished tasks."""

from __future__ import annotations

import click

from fanfold.cli import parameters as given
from fanfold.model.text.counting import counted
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("prune", cls=Command)
@click.option(
    "--days",
    type=given.FiniteRange(min=0, min_open=True),
    metavar="N",
    help="Remove tasks finished longer ago than this [default: retention_days].",
)
@given.target
@click.pass_obj
def command(invocation: Invocation, days: float | None, targets: tuple[str, ...]) -> None:
    """Remove tasks that finished long ago, with their files.

    Workers also do this, a few tasks with every sweep.
    """
    from fanfold.engine.discovery import load_all
    from fanfold.engine.tasks.recovery.sweep import clean
    from fanfold.engine.tasks.steering.delete import prune

    store = invocation.store()
    pipelines = load_all(targets)
    removed = prune(store, pipelines, "person", days)
    clean(store)
    if invocation.json:
        printing.print_json({"removed": removed})
    else:
        click.echo(
            f"Removed {counted(removed, ('task', 'tasks'))}"
            + (kept_forever() if days is None and not store.settings.retention_days else "")
        )


def kept_forever() -> str:
    """Explain why nothing was removed when the retention time is 0."""
    return ": retention_days is 0, which keeps them forever. To remove some: --days N"
