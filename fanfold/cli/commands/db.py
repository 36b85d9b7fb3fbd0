"""`fanfold db`: shows the database revision, upgrades the database and backs it up."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fanfold.cli import parameters as given
from fanfold.errors import DatabaseProblem
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.store.database import Database
    from fanfold.store.upgrade.migrate import Present, UpgradePlan

LOOK_SECONDS = 0.5


@click.group("db")
def command() -> None:
    """Upgrade the database, back it up, or show its revision."""


@command.command("current", cls=Command)
@click.pass_obj
def current(invocation: Invocation) -> None:
    """Print the database revision and the one this version needs."""
    from fanfold.store.upgrade import migrate
    from fanfold.store.urls import shown

    with opened(invocation) as database:
        revision = migrate.current(database)
        problem = migrate.problem_with(database)
    newest = migrate.REVISIONS[-1]
    answer: dict[str, Any] = {"database": shown(database.url), "revision": revision, "newest": newest}
    answer["fits"] = revision is not None and problem is None
    if invocation.json:
        printing.print_json(answer)
    else:
        click.echo(
            f"{answer['database']} is {'at revision ' + revision if revision else 'empty'} ({fit(revision, problem)})"
        )


def fit(revision: str | None, problem: DatabaseProblem | None) -> str:
    """Short statement on whether this version can use the database."""
    from fanfold.store.upgrade.migrate import REVISIONS

    if problem is not None and problem.code != "older_database":
        return problem.message
    if revision is None or problem is not None:
        return f"this version needs {REVISIONS[-1]}: fanfold db upgrade"
    return (
        "the newest"
        if revision == REVISIONS[-1]
        else f"newer than this version's {REVISIONS[-1]}, but compatible with it"
    )


@command.command("upgrade", cls=Command)
@click.option("--dry-run", is_flag=True, help="Show the planned steps and the active workers; change nothing.")
@click.option(
    "--wait",
    type=given.FiniteRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Wait this long for incompatible workers to end.",
)
@click.option("--force", is_flag=True, help="Upgrade even while incompatible workers run: they notice and exit.")
@click.pass_obj
def upgrade(invocation: Invocation, dry_run: bool, wait: float, force: bool) -> None:
    """Upgrade the database to the newest revision, keeping all data.

    The upgrade is one transaction: if interrupted, it changes nothing. Workers of the previous version keep running if the
    upgrade is compatible with them; otherwise it is refused while they are alive.
    """
    invocation.log(logging.WARNING)
    from fanfold.engine.worker.beside.host import is_dead
    from fanfold.store.upgrade import migrate
    from fanfold.store.urls import shown

    circumstances = {"lease_seconds": invocation.settings().lease_seconds, "is_gone": is_dead}
    with opened(invocation) as database:
        planned = migrate.plan(database, **circumstances)
        if not invocation.json:
            tell(planned, database)
        if not dry_run:
            planned = patiently(database, wait, force=force, **circumstances)
    place = shown(database.url)
    if invocation.json:
        done = planned.before if dry_run else planned.after
        steps, workers = [step.name for step in planned.steps], planned.workers
        answer = {"database": place, "before": planned.before, "after": done, "steps": steps, "workers": workers}
        printing.print_json(answer)
    elif not planned.steps:
        click.echo(f"{place} is already at revision {planned.after}")
    elif dry_run:
        click.echo(f"Nothing was changed. To make a backup first: {backup_command(database)}")
    else:
        click.echo(f"Upgraded {place} from {planned.before or 'empty'} to {planned.after}")


@command.command("backup", cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def backup(invocation: Invocation, file: Path) -> None:
    """Back up a SQLite database to FILE while it is in use.

    The copy is consistent and verified. Input files and large results are stored outside the database: copy the `blobs`
    folder of the data folder as well, after this command. For PostgreSQL, use pg_dump.
    """
    from fanfold.store.upgrade import backup as copying

    with opened(invocation) as database:
        size = copying.copy(database, file)
    blobs = invocation.settings().data_folder / "blobs"
    if invocation.json:
        printing.print_json({"file": str(file), "bytes": size, "blobs": str(blobs)})
    else:
        click.echo(f"Copied {printing.size(size)} to {file}" + (f". Also copy: {blobs}" if blobs.is_dir() else ""))


@contextmanager
def opened(invocation: Invocation) -> Iterator[Database]:
    """Open the configured database, whatever its revision."""
    from fanfold.store.database import Database

    database = Database(invocation.settings().database_url)
    try:
        yield database
    finally:
        database.close()


def patiently(database: Database, wait: float, **circumstances: Any) -> UpgradePlan:
    """Upgrade as soon as no worker blocks it; give up after ``wait`` seconds."""
    from fanfold.store.upgrade import migrate

    end = time.monotonic() + wait
    while True:
        try:
            return migrate.upgrade_database(database, **circumstances)
        except DatabaseProblem as problem:
            if problem.code != "workers_alive" or time.monotonic() >= end:
                raise
        time.sleep(LOOK_SECONDS)


def tell(planned: UpgradePlan, database: Database) -> None:
    """Print the planned steps and the active workers, with the effect on each."""
    from fanfold.store.upgrade import migrate
    from fanfold.store.urls import shown

    if not planned.steps or planned.before is None:
        return
    click.echo(f"{shown(database.url)} is at revision {planned.before}; this version needs {planned.after}:")
    sentences = migrate.titles()
    for step in planned.steps:
        click.echo(f"  {step.name}  {sentences[step.name]}")
    if planned.workers:
        click.echo(f"Workers alive: {len(planned.workers)}")
        printing.print_table(
            ("id", "process", "running", "host", "then"), map(row, planned.workers), right=("running",)
        )
        if planned.in_the_way:
            click.echo("Stop the incompatible workers first.")
        else:
            click.echo("They can keep running until you replace them, one by one, with this version.")


def row(worker: Present) -> tuple[str, ...]:
    """A worker as a table row."""
    then = "keeps running" if worker.may_go_on else "incompatible"
    return worker.id, str(worker.pid), str(worker.running), worker.host, then


def backup_command(database: Database) -> str:
    """The command that makes a backup."""
    return database.access.backup_command("FILE")
