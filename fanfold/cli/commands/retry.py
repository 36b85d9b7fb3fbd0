"""`fanfold retry`: do the failed ones again."""

from __future__ import annotations

import click

from fanfold.cli import given
from fanfold.cli.exits import Exit
from fanfold.cli.invocation import Command, Invocation
from fanfold.cli.steering import ids, steer


@click.command("retry", cls=Command)
@ids
@click.option("--item", "items", multiple=True, metavar="KEY", help="Redo this item, also when it is done. Repeatable.")
@click.option("--stage", help="Of this stage; by default the one where something failed.")
@given.option
@given.target
@click.pass_obj
def command(
    invocation: Invocation,
    ids: tuple[str, ...],
    items: tuple[str, ...],
    stage: str | None,
    options: tuple[str, ...],
    targets: tuple[str, ...],
) -> Exit:
    """Redo what failed, or the items named; what is done stays done.

    Options are laid over the task's own for these items only: another model, for example.
    """
    laid_over = given.parse_options(options)
    return steer(
        invocation, ids, targets, lambda client, task_id: client.retry(task_id, items, stage=stage, options=laid_over)
    )
