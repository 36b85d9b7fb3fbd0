"""Creates and upgrades the tables with Alembic migrations, in one transaction, while workers may be running."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from fanfold.settings import Settings
from fanfold.store.database import Database
from fanfold.store.database_errors import UNREACHABLE, is_locked_out
from fanfold.store.schema.tables import items, revisions, workers
from fanfold.store.upgrade.revisions import (
    HISTORY,
    NEWEST,
    REVISIONS,
    Revision,
    current,
    fitting,
    oldest_after,
    rename,
    standing,
)

if TYPE_CHECKING:
    from alembic.config import Config

__all__ = [
    "REVISIONS",
    "Present",
    "UpgradePlan",
    "current",
    "ensure",
    "plan",
    "problem_with",
    "titles",
    "upgrade",
    "upgrade_database",
]

log = logging.getLogger("fanfold.upgrade")
LOCK_SECONDS = 2.0
"""Longest wait for a lock. Other sessions queue behind our lock request, so it is withdrawn and a pause lets them through."""
LOCK_TRIES = 10
LOCK_PAUSE_SECONDS = 1.0


@dataclass(frozen=True)
class Present:
    """A worker that is alive during an upgrade."""

    id: str
    host: str
    pid: int
    running: int
    revision: str
    """The newest revision that its code knows; the oldest of all if it does not say."""
    may_go_on: bool

    def __str__(self) -> str:
        return f"{self.id} ({self.host}, process {self.pid}, running {self.running})"


@dataclass(frozen=True)
class UpgradePlan:
    """What an upgrade would do, and which workers are alive."""

    before: str | None
    after: str
    steps: tuple[Revision, ...]
    workers: tuple[Present, ...]

    @property
    def in_the_way(self) -> tuple[Present, ...]:
        """The workers that cannot continue after the upgrade."""
        return tuple(worker for worker in self.workers if not worker.may_go_on)


def ensure(database: Database) -> None:
    """Create the tables of an empty database; refuse one that this code cannot use, and say what to do."""
    database.access.refuse_read_only()
    database.access.create()
    with database.read() as connection:
        revision = fitting(connection)
    if revision is None:
        upgrade_database(database)


def problem_with(database: Database) -> DatabaseProblem | None:
    """Why this code cannot use the database as it is; None if it can, or if the database is empty."""
    if database.access.is_new():
        return None
    try:
        with database.read() as connection:
            fitting(connection)
    except DatabaseProblem as problem:
        if problem.code == UNREACHABLE:
            raise
        return problem
    return None


def upgrade(url: str) -> None:
    """Upgrade the database at ``url`` to the newest revision; its data is kept."""
    database = Database(url)
    try:
        upgrade_database(database)
    finally:
        database.close()


def plan(database: Database, **circumstances: Any) -> UpgradePlan:
    """What ``upgrade_database`` would do now; changes nothing."""
    database.access.refuse_read_only()
    if database.access.is_new():
        return UpgradePlan(None, NEWEST, HISTORY, ())
    with database.read() as connection:
        return _plan(database, connection, NEWEST, **circumstances)


def upgrade_database(
    database: Database, revision: str = NEWEST, *, force: bool = False, **circumstances: Any
) -> UpgradePlan:
    """Run the migrations in one transaction, one process at a time; returns what was done.

    Refused while workers are alive whose code cannot continue afterwards, unless ``force`` is set. On PostgreSQL it waits for
    locks in several short tries, because other sessions queue behind a waiting lock request.
    """
    database.access.refuse_read_only()
    database.access.create()
    for attempt in range(1, LOCK_TRIES + 1):
        try:
            return _upgrade(database, revision, force, circumstances)
        except DatabaseProblem as problem:
            if not is_locked_out(problem):
                raise
            with database.read() as connection:
                told = database.access.who_blocks(connection)
            if attempt == LOCK_TRIES:
                raise DatabaseProblem(
                    f"The upgrade did not get the locks it needs in {LOCK_TRIES} tries of {LOCK_SECONDS:g} s: {told}. "
                    "Nothing was changed. End that transaction, or try again later",
                    code="locked",
                ) from problem
        log.warning(
            "Waiting for a lock: %s. Trying again in %g s (%d of %d)", told, LOCK_PAUSE_SECONDS, attempt, LOCK_TRIES
        )
        time.sleep(LOCK_PAUSE_SECONDS)
    raise AssertionError("the last try returns or raises")


def titles() -> dict[str, str]:
    """One sentence per revision that says what it changes."""
    from alembic.script import ScriptDirectory

    return {script.revision: script.doc for script in ScriptDirectory.from_config(config()).walk_revisions()}


def config() -> Config:
    """Alembic's configuration, without an ini file."""
    from alembic.config import Config

    configuration = Config()
    configuration.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return configuration


def _upgrade(database: Database, revision: str, force: bool, circumstances: dict[str, Any]) -> UpgradePlan:
    with database.write() as connection:
        database.access.begin_upgrade(connection, LOCK_SECONDS)
        planned = _plan(database, connection, revision, **circumstances)
        if database.dialect.locks_rows and planned.before and planned.steps:
            database.access.lock_tables(connection, items.name, LOCK_SECONDS)
            # From here on no worker starts unnoticed: it registers after this transaction, and then checks the revision.
            planned = _plan(database, connection, revision, **circumstances)
        _refuse_beneath(planned, force)
        if planned.steps:
            if not _make_newest(database, connection, planned):
                _migrate(connection, planned)
            _write_down(connection, planned, database.clock.now)
        return planned


def _make_newest(database: Database, connection: sa.Connection, planned: UpgradePlan) -> bool:
    """Make an empty database of the newest revision at once, if its dialect knows how; otherwise the migrations do."""
    if planned.before is not None or planned.after != NEWEST:
        return False
    revision, statements = database.dialect.newest_schema()
    if revision != NEWEST:
        return False
    for statement in statements:
        connection.exec_driver_sql(statement)
    return True


def _migrate(connection: sa.Connection, planned: UpgradePlan) -> None:
    from alembic import command

    configuration = config()
    configuration.attributes["connection"] = connection
    rename(connection)
    command.upgrade(configuration, planned.after)


def _plan(
    database: Database,
    connection: sa.Connection,
    revision: str,
    *,
    lease_seconds: float = Settings.lease_seconds,
    is_gone: Callable[[str, int], bool] = lambda _host, _pid: False,
) -> UpgradePlan:
    """The steps to ``revision``, and the live workers; ``is_gone`` tells whether a process has certainly ended."""
    before = standing(connection)
    if before is not None and before not in REVISIONS:
        return UpgradePlan(before, before, (), ())
    begin = 0 if before is None else REVISIONS.index(before) + 1
    steps = HISTORY[begin : REVISIONS.index(revision) + 1]
    after = steps[-1].name if steps else before or revision
    oldest = REVISIONS.index(oldest_after(after))
    present = []
    for row in _alive(database, connection, before, lease_seconds):
        knows = row.revision or REVISIONS[0]
        may_go_on = knows not in REVISIONS or REVISIONS.index(knows) >= oldest
        if not is_gone(row.host, row.pid):
            present.append(Present(row.id, row.host, row.pid, row.running, knows, may_go_on))
    return UpgradePlan(before, after, steps, tuple(present))


def _alive(
    database: Database, connection: sa.Connection, revision: str | None, lease_seconds: float
) -> list[sa.Row[Any]]:
    """The workers seen recently."""
    if revision is None:
        return []
    wanted = sa.select(workers.c.id, workers.c.host, workers.c.pid, workers.c.running, workers.c.revision)
    seen = workers.c.seen_at > database.clock.before(lease_seconds)
    return list(connection.execute(wanted.where(seen).order_by(workers.c.started_at)))


def _refuse_beneath(planned: UpgradePlan, force: bool) -> None:
    """Refuse an upgrade that live workers could not continue with."""
    if force or not planned.in_the_way:
        return
    count = len(planned.in_the_way)
    who = "1 live worker" if count == 1 else f"{count} live workers"
    raise DatabaseProblem(
        f"{who} cannot continue with revision {planned.after}: {', '.join(map(str, planned.in_the_way))}. Nothing was "
        "changed. Stop them first; or wait for them to end: fanfold db upgrade --wait 60; or upgrade anyway, and they hand "
        "back their items and end by themselves: fanfold db upgrade --force",
        code="workers_alive",
    )


def _write_down(connection: sa.Connection, planned: UpgradePlan, now: sa.ColumnElement[Any]) -> None:
    """Store which code may use the database: older code does not know newer revisions, but can read this."""
    connection.execute(sa.delete(revisions).where(revisions.c.revision.in_([step.name for step in planned.steps])))
    for step in planned.steps:
        made = sa.insert(revisions).values(revision=step.name, compatible_from=step.compatible_from, upgraded_at=now)
        connection.execute(made)
