"""`fanfold worker`: serve until stopped."""

from __future__ import annotations

import logging
import sys

import click

from fanfold.cli.invocation import Command, Invocation


@click.command("worker", cls=Command)
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option("--stages", metavar="A,B", default="", help="Serve only these stages: names, or pipeline.stage.")
@click.option(
    "--concurrency", type=click.IntRange(min=1), metavar="N", help="Items to run at the same time, per process."
)
@click.option("--name", default="worker", help="What its id begins with.")
@click.option(
    "--processes", type=click.IntRange(min=1), default=1, metavar="N", help="Start so many and replace those that die."
)
@click.option("--leashed", is_flag=True, hidden=True, help="Stop when the standard input ends.")
@click.pass_obj
def command(
    invocation: Invocation,
    targets: tuple[str, ...],
    stages: str,
    concurrency: int | None,
    name: str,
    processes: int,
    leashed: bool,
) -> None:
    """Work for the installed and the named pipelines until stopped.

    Ctrl-C or SIGTERM lets running items finish within the grace time and hands back the rest; a second one stops at once.
    Start as many workers as you like, on as many machines; add or kill them at any time.
    """
    invocation.log(logging.INFO)
    from fanfold.engine.discovery import load_all
    from fanfold.engine.worker import Worker

    wanted = [stage.strip() for stage in stages.split(",") if stage.strip()]
    pipelines = load_all(targets).values()
    worker = Worker(pipelines, store=invocation.store(), concurrency=concurrency, stages=wanted, name=name)
    from fanfold.cli.processes import Supervisor, follow, worker_command

    if leashed:
        follow(sys.stdin.buffer, worker.stop)
    if processes == 1:
        worker.run(signals=True)
        return
    invocation.close()
    Supervisor(processes, worker_command(invocation, targets, wanted, concurrency), name).run()
