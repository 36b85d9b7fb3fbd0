"""`fanfold top`: a live view of tasks, queue and workers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from fanfold.cli import parameters as given
from fanfold.cli.commands import workers as workers_command
from fanfold.model.text.counting import ITEMS, counted
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.engine.queries.metrics import Metrics
    from fanfold.model.task import Task
    from fanfold.store.rows.workers import WorkerRow

BAR_WIDTH = 20
TASKS_SHOWN = 30
OPEN_STATES = ("active", "waiting", "paused")


@dataclass(frozen=True)
class Snapshot:
    """Everything the view shows at one moment."""

    metrics: Metrics
    tasks: list[Task]
    workers: list[WorkerRow]


@click.command("top", cls=Command)
@click.option("--once", is_flag=True, help="Print one snapshot, then exit.")
@click.option(
    "--interval",
    type=given.FiniteRange(min=0.1),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between refreshes.",
)
@click.pass_obj
def command(invocation: Invocation, once: bool, interval: float) -> None:
    """Watch tasks, queue and workers live; Ctrl-C quits."""
    client = invocation.client()
    if invocation.json:
        printing.print_json(look(client))
    elif once or not printing.on_terminal():
        show_once(look(client))
    else:
        live(client, interval)


def look(client: Client) -> Snapshot:
    """Take a snapshot: unfinished tasks first, then the most recently finished."""
    tasks = client.list(states=OPEN_STATES, limit=TASKS_SHOWN)
    if len(tasks) < TASKS_SHOWN:
        done = ("completed", "partial", "failed", "cancelled")
        tasks += client.list(states=done, limit=min(10, TASKS_SHOWN - len(tasks)))
    return Snapshot(client.metrics(), tasks, client.workers())


def live(client: Client, interval: float) -> None:
    """Refresh the view until interrupted."""
    from rich.live import Live

    try:
        with Live(picture(look(client)), screen=True, auto_refresh=False) as screen:
            while True:
                screen.update(picture(look(client)), refresh=True)
                time.sleep(interval)
    except KeyboardInterrupt:
        return


def picture(snapshot: Snapshot) -> Any:
    """Render the view for a terminal."""
    from rich.console import Group
    from rich.text import Text

    tasks = printing.rich_table(
        TASK_HEADINGS, [clean(task_row(task)) for task in snapshot.tasks], right=("done", "failed")
    )
    rows = [clean(workers_command.row(worker)) for worker in snapshot.workers]
    return Group(
        Text(headline(snapshot.metrics), style="bold"), Text(), tasks, Text(), printing.rich_table(workers_command.HEADINGS, rows)
    )  # fmt: skip


def show_once(snapshot: Snapshot) -> None:
    """Print the view as plain lines."""
    click.echo(headline(snapshot.metrics))
    if snapshot.tasks:
        click.echo()
        printing.print_table(TASK_HEADINGS, map(task_row, snapshot.tasks), right=("done", "failed"))
    if snapshot.workers:
        click.echo()
        printing.print_table(workers_command.HEADINGS, map(workers_command.row, snapshot.workers))


TASK_HEADINGS = ("id", "pipeline", "status", "progress", "done", "failed", "title")


def task_row(task: Task) -> tuple[str, ...]:
    """A task as a table row with a progress bar."""
    filled = round(task.progress / 100 * BAR_WIDTH)
    bar = "━" * filled + "┄" * (BAR_WIDTH - filled) + f" {task.progress:3.0f} %"
    done = f"{task.done}/{task.total}" if task.total > 1 else ""
    note = f" ({task.message or task.wait_reason})" if task.message or task.wait_reason else ""
    return task.id, task.pipeline, task.status, bar, done, str(task.failed_step or task.failed or ""), task.title + note


def clean(row: tuple[str, ...]) -> list[str]:
    """Cells reduced to one line each."""
    return [printing.one_line(cell) for cell in row]


def headline(metrics: Metrics) -> str:
    """The whole installation in one line."""
    parts = [
        counted(metrics.tasks.get("active", 0), ("active task", "active tasks")),
        f"{counted(metrics.queue, ITEMS)} pending",
        f"{metrics.running} running",
        *([f"{metrics.retrying} retrying"] if metrics.retrying else []),
        *([f"{metrics.waiting} waiting"] if metrics.waiting else []),
        f"{metrics.finished_last_minute} done and {metrics.failed_last_minute} failed in the last minute",
        *([f"{printing.duration(metrics.mean_seconds)} each"] if metrics.mean_seconds is not None else []),
        counted(metrics.workers, ("worker", "workers")),
    ]
    return ", ".join(parts)
