"""`fanfold db`: does the database fit?"""

from __future__ import annotations

import click

from fanfold.cli import printing
from fanfold.cli.invocation import Command, Invocation


@click.group("db")
def command() -> None:
    """Upgrade the database, or tell its revision."""


@command.command("current", cls=Command)
@click.pass_obj
def current(invocation: Invocation) -> None:
    """Print the revision of the database and the one this version needs."""
    from fanfold.store import migrate
    from fanfold.store.database import Database, shown

    database = Database(invocation.settings().database_url)
    try:
        revision = migrate.current(database)
    finally:
        database.close()
    newest = migrate.REVISIONS[-1]
    answer = {"database": shown(database.url), "revision": revision, "newest": newest, "fits": revision == newest}
    if invocation.json:
        printing.print_json(answer)
    else:
        state = "the newest" if answer["fits"] else f"this version needs {newest}: fanfold db upgrade"
        click.echo(f"{answer['database']} is {'of revision ' + revision if revision else 'empty'} ({state})")


@command.command("upgrade", cls=Command)
@click.pass_obj
def upgrade(invocation: Invocation) -> None:
    """Bring the database to the newest revision; data is kept."""
    from fanfold.store import migrate
    from fanfold.store.database import Database, shown

    database = Database(invocation.settings().database_url)
    try:
        before = migrate.current(database)
        migrate.upgrade_database(database)
        after = migrate.current(database)
    finally:
        database.close()
    if invocation.json:
        printing.print_json({"database": shown(database.url), "before": before, "after": after})
    else:
        done = f"is of revision {after} already" if before == after else f"went from {before or 'empty'} to {after}"
        click.echo(f"{shown(database.url)} {done}")
