"""`fanfold worker`: runs a worker until stopped."""

from __future__ import annotations

import logging
import select
import sys
import time
from typing import TYPE_CHECKING

import click

from fanfold.errors import DatabaseProblem
from fanfold.running.terminal.error_output import Interrupted
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.store.store import Store

log = logging.getLogger("fanfold.worker")
LONGEST_PAUSE = 5.0


@click.command("worker", cls=Command)
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option("--stages", metavar="A,B", default="", help="Serve only these stages, given as stage or pipeline.stage.")
@click.option(
    "--concurrency", type=click.IntRange(min=1), metavar="N", help="Items to run at the same time, per process."
)
@click.option("--name", default="worker", help="Prefix of the worker id.")
@click.option(
    "--processes", type=click.IntRange(min=1), default=1, metavar="N", help="Number of processes to keep running."
)
@click.option("--leashed", is_flag=True, hidden=True, help="Stop when standard input closes.")
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
    """Process tasks of the installed and the named pipelines until stopped.

    Ctrl-C or SIGTERM lets running items finish within the grace time and hands back the rest; a second one stops immediately.
    Start any number of workers on any number of machines; add or kill them at any time. A worker waits for a database that
    is not up yet, but fails if the database does not exist or refuses the login.
    """
    invocation.log(logging.INFO)
    from fanfold.engine.discovery import load_all
    from fanfold.engine.webhooks.deliveries import OWN_PIPELINES
    from fanfold.engine.worker.attempt.threads import leave_threads_behind
    from fanfold.engine.worker.loop import Worker

    wanted = [stage.strip() for stage in stages.split(",") if stage.strip()]
    pipelines = [*load_all(targets).values(), *OWN_PIPELINES]
    store = open_patiently(invocation, name, leashed)
    worker = Worker(pipelines, store=store, concurrency=concurrency, stages=wanted, name=name)
    from fanfold.cli.processes import Supervisor, follow, worker_command

    if leashed:
        follow(sys.stdin.buffer, worker.stop)
    if processes == 1:
        worker.run(signals=True, exit_code=Exit.OK)
        leave_threads_behind(name)
        return
    invocation.close()
    Supervisor(processes, worker_command(invocation, targets, wanted, concurrency), name).run()


def open_patiently(invocation: Invocation, name: str, leashed: bool) -> Store:
    """Open the store once the database is up: workers survive database restarts, so they may also start during one."""
    from fanfold.store.database_errors import may_pass

    pause = 0.5
    while True:
        try:
            return invocation.store()
        except DatabaseProblem as problem:
            if not may_pass(problem):
                raise
            log.warning("[%s] %s Trying again in %.1f s", name, problem, pause)
        if leashed and select.select([sys.stdin], [], [], pause)[0]:
            raise Interrupted("Stopped before the database was up")
        if not leashed:
            time.sleep(pause)
        pause = min(LONGEST_PAUSE, pause * 2)
