"""`fanfold accept`: keeps degraded results as they are."""

from __future__ import annotations

import click

from fanfold.cli.task_commands import ids, steer
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("accept", cls=Command)
@ids
@click.option("--item", "items", multiple=True, metavar="KEY", help="Only this item. Repeatable.")
@click.option("--stage", help="Only items of this stage.")
@click.option("--reason", help="Reason, recorded with the event.")
@click.pass_obj
def command(
    invocation: Invocation, ids: tuple[str, ...], items: tuple[str, ...], stage: str | None, reason: str | None
) -> Exit:
    """Accept degraded results as they are, so that they no longer ask for attention.

    They stay marked with their reason. If a retry is degraded again, it must be accepted again.

    \b
    fanfold accept 7f3a
    fanfold accept 7f3a --item 12 --item 13
    """
    return steer(
        invocation, ids, (), lambda client, task_id: client.accept(task_id, items or None, stage=stage, reason=reason)
    )
