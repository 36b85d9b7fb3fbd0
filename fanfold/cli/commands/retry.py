"""`fanfold retry`: do the failed ones again."""

from __future__ import annotations

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import ids, steer
from fanfold.running.terminal import declared
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("retry", cls=Command)
@ids
@click.option("--item", "items", multiple=True, metavar="KEY", help="Redo this item, also when it is done. Repeatable.")
@click.option("--degraded", is_flag=True, help="Redo just the items that are not what was asked for.")
@click.option("--stage", help="Of this stage; by default the first where something failed, or is degraded.")
@given.option
@declared.password
@given.target
@click.pass_obj
def command(
    invocation: Invocation,
    ids: tuple[str, ...],
    items: tuple[str, ...],
    degraded: bool,
    stage: str | None,
    options: tuple[str, ...],
    password: str | None,
    targets: tuple[str, ...],
) -> Exit:
    """Redo what failed, the items named, or the degraded ones; what else is done stays done.

    Options are laid over the task's own for these items only: another model, for example.

    \b
    fanfold retry 7f3a
    fanfold retry 7f3a --degraded --option model=gpt-5.4
    fanfold retry 7f3a --password -
    """
    laid_over = given.parse_options(options) | given.secrets(password)
    return steer(
        invocation,
        ids,
        targets,
        lambda client, task_id: client.retry(task_id, items, stage=stage, options=laid_over, degraded=degraded),
    )
