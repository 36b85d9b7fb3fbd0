"""`fanfold tick`: works for a limited time, then exits; meant for timers."""

from __future__ import annotations

import logging

import click

from fanfold.cli import parameters as given
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("tick", cls=Command)
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option(
    "--seconds",
    type=given.FiniteRange(min=0, min_open=True),
    default=45.0,
    show_default=True,
    metavar="SECONDS",
    help="Exit after this time.",
)
@click.option("--budget", type=given.FiniteRange(min=0, min_open=True), hidden=True, help="The old name of --seconds.")
@click.option(
    "--tasks-per-stage",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Maximum number of tasks to serve per stage.",
)
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Items to run at the same time.")
@click.pass_obj
def command(
    invocation: Invocation,
    targets: tuple[str, ...],
    seconds: float,
    budget: float | None,
    tasks_per_stage: int,
    concurrency: int | None,
) -> None:
    """Work on what is due for a limited time, then exit.

    Run it from a timer (cron, a cloud function) instead of a permanent worker. Ticks may overlap with each other and with
    workers: nothing takes effect twice. Items that do not fit into the time are not started, or go back to the queue unharmed.
    """
    invocation.log(logging.WARNING)
    from fanfold.engine.discovery import load_all
    from fanfold.engine.tasks.recovery.tick import tick
    from fanfold.engine.webhooks.deliveries import OWN_PIPELINES

    report = tick(
        invocation.store(), [*load_all(targets).values(), *OWN_PIPELINES], seconds=seconds if budget is None else budget,
        tasks_per_stage=tasks_per_stage, concurrency=concurrency, exit_code=Exit.OK,
    )  # fmt: skip
    if invocation.json:
        printing.print_json(report)
    else:
        click.echo(str(report))
