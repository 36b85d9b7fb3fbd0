"""`fanfold retry`: redoes failed, degraded or named items."""

from __future__ import annotations

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import ids, steer
from fanfold.running.terminal import declared
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("retry", cls=Command)
@ids
@click.option("--item", "items", multiple=True, metavar="KEY", help="Redo this item even if it is done. Repeatable.")
@click.option("--degraded", is_flag=True, help="Redo only the degraded items.")
@click.option("--stage", help="Items of this stage [default: the first with failed or degraded items].")
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
    """Redo the failed, the named or the degraded items; everything else stays done.

    Options override the task's own for these items only: another model, for example.

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
        lambda client, task_id: client.retry(task_id, items or None, stage=stage, options=laid_over, degraded=degraded),
    )
