"""How does a database come to its tables? Alembic migrations, run in one transaction, beside workers that may be at work."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from fanfold.settings import Settings
from fanfold.store.database import Database
from fanfold.store.database_errors import UNREACHABLE, sqlstate
from fanfold.store.tables import items, revisions, workers
from fanfold.store.upgrade.revisions import (
    HISTORY,
    NEWEST,
    REVISIONS,
    Revision,
    current,
    fitting,
    oldest_after,
    refuse_read_only,
    standing,
)

if TYPE_CHECKING:
    from alembic.config import Config

__all__ = [
    "REVISIONS",
    "Plan",
    "Present",
    "current",
    "ensure",
    "plan",
    "problem_with",
    "titles",
    "upgrade",
    "upgrade_database",
]

log = logging.getLogger("fanfold.upgrade")
UPGRADE_LOCK = 0x66616E66
"""The advisory lock that keeps two upgrades of one PostgreSQL apart."""
LOCK_SECONDS = 2.0
"""Whoever wants a table that the upgrade waits for queues behind it: so it waits no longer, and makes room for a while."""
LOCK_TRIES = 10
LOCK_PAUSE_SECONDS = 1.0
LOCK_STEP_SECONDS = 0.1
LOCKED_OUT = ("55P03", "40P01")
"""PostgreSQL's codes of a lock that was not given in time, and of a deadlock that it has ended at our cost."""


@dataclass(frozen=True)
class Present:
    """A worker that is alive while the database is to be upgraded."""

    id: str
    host: str
    pid: int
    running: int
    revision: str
    """The newest revision that its code knows; the oldest of all where it does not tell."""
    may_go_on: bool

    def __str__(self) -> str:
        return f"{self.id} ({self.host}, process {self.pid}, running {self.running})"


@dataclass(frozen=True)
class Plan:
    """What an upgrade would do, and who is there to see it."""

    before: str | None
    after: str
    steps: tuple[Revision, ...]
    workers: tuple[Present, ...]

    @property
    def in_the_way(self) -> tuple[Present, ...]:
        """The workers that cannot go on after it."""
        return tuple(worker for worker in self.workers if not worker.may_go_on)


def ensure(database: Database) -> None:
    """Create the tables of an empty database; refuse one that this code cannot work on, in a sentence with the way out."""
    refuse_read_only(database)
    with database.read() as connection:
        revision = fitting(connection)
    if revision is None:
        upgrade_database(database)


def problem_with(database: Database) -> DatabaseProblem | None:
    """Why this code cannot work on the database as it is; None when it can, or when it is empty."""
    try:
        with database.read() as connection:
            fitting(connection)
    except DatabaseProblem as problem:
        if problem.code == UNREACHABLE:
            raise
        return problem
    return None


def upgrade(url: str) -> None:
    """Bring the database at ``url`` to the newest revision, keeping its data."""
    database = Database(url)
    try:
        upgrade_database(database)
    finally:
        database.close()


def plan(database: Database, **circumstances: Any) -> Plan:
    """What ``upgrade_database`` would do now; nothing is changed."""
    refuse_read_only(database)
    with database.read() as connection:
        return _plan(database, connection, NEWEST, **circumstances)


def upgrade_database(database: Database, revision: str = NEWEST, *, force: bool = False, **circumstances: Any) -> Plan:
    """Run the migrations in one transaction, one process at a time; returns what was done.

    Refused while workers are alive whose code cannot go on afterwards, unless by ``force``. On PostgreSQL a lock that
    somebody holds is waited for in several short tries, since everybody else would queue behind a long one.
    """
    refuse_read_only(database)
    for attempt in range(1, LOCK_TRIES + 1):
        try:
            return _upgrade(database, revision, force, circumstances)
        except DatabaseProblem as problem:
            if not _is_locked_out(problem):
                raise
            told = _who_blocks(database)
            if attempt == LOCK_TRIES:
                raise DatabaseProblem(
                    f"The upgrade did not get the locks it needs, in {LOCK_TRIES} tries of {LOCK_SECONDS:g} s: {told}. "
                    "Nothing was changed. End that transaction, or try again later",
                    code="locked",
                ) from problem
        log.warning(
            "Waiting for a lock: %s. Trying again in %g s (%d of %d)", told, LOCK_PAUSE_SECONDS, attempt, LOCK_TRIES
        )
        time.sleep(LOCK_PAUSE_SECONDS)
    raise AssertionError("the last try returns or raises")


def titles() -> dict[str, str]:
    """What each revision brings, in a sentence."""
    from alembic.script import ScriptDirectory

    return {script.revision: script.doc for script in ScriptDirectory.from_config(config()).walk_revisions()}


def config() -> Config:
    """Alembic's configuration, without an ini file."""
    from alembic.config import Config

    configuration = Config()
    configuration.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return configuration


def _upgrade(database: Database, revision: str, force: bool, circumstances: dict[str, Any]) -> Plan:
    from alembic import command

    with database.write() as connection:
        if database.dialect == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": UPGRADE_LOCK})
            connection.execute(sa.text(f"SET LOCAL lock_timeout = {round(LOCK_SECONDS * 1000)}"))
        planned = _plan(database, connection, revision, **circumstances)
        if database.dialect == "postgresql" and planned.before and planned.steps:
            _lock_tables(connection)
            # From here on no worker begins to live unseen: it registers afterwards, and then looks at the revision.
            planned = _plan(database, connection, revision, **circumstances)
        _refuse_beneath(planned, force)
        configuration = config()
        configuration.attributes["connection"] = connection
        if planned.steps:
            command.upgrade(configuration, planned.after)
            _write_down(connection, planned, database.clock.now)
        return planned


def _plan(
    database: Database,
    connection: sa.Connection,
    revision: str,
    *,
    lease_seconds: float = Settings.lease_seconds,
    is_gone: Callable[[str, int], bool] = lambda _host, _pid: False,
) -> Plan:
    """Which steps lead from here to ``revision``, and who is alive; ``is_gone`` tells that a process certainly is not."""
    before = standing(connection)
    if before is not None and before not in REVISIONS:
        return Plan(before, before, (), ())
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
    return Plan(before, after, steps, tuple(present))


def _alive(
    database: Database, connection: sa.Connection, revision: str | None, lease_seconds: float
) -> list[sa.Row[Any]]:
    """The workers seen lately; those of a database from before revision 0004 do not tell what they know."""
    if revision is None:
        return []
    tells = "revision" in {column["name"] for column in sa.inspect(connection).get_columns(workers.name)}
    knows = workers.c.revision if tells else sa.null().label("revision")
    wanted = sa.select(workers.c.id, workers.c.host, workers.c.pid, workers.c.running, knows)
    seen = workers.c.seen_at > database.clock.before(lease_seconds)
    return list(connection.execute(wanted.where(seen).order_by(workers.c.started_at)))


def _lock_tables(connection: sa.Connection) -> None:
    """Lock every table for this transaction, without ever waiting for one while holding another.

    Changing tables one by one could deadlock with a worker's transaction, and PostgreSQL might end the worker's. So wait for the
    busiest table alone, then take the others only if they are free at once; else let all go and try again.
    """
    others = [name for name in sorted(sa.inspect(connection).get_table_names()) if name != items.name]
    named = ", ".join(f'"{name}"' for name in others)
    end = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            with connection.begin_nested():
                connection.execute(sa.text(f"LOCK TABLE {items.name} IN ACCESS EXCLUSIVE MODE"))
                connection.execute(sa.text(f"LOCK TABLE {named} IN ACCESS EXCLUSIVE MODE NOWAIT"))
            return
        except sa.exc.OperationalError as error:
            if sqlstate(error) not in LOCKED_OUT or time.monotonic() >= end:
                raise
        time.sleep(random.uniform(0.01, LOCK_STEP_SECONDS))


def _refuse_beneath(planned: Plan, force: bool) -> None:
    """No upgrade beneath workers that cannot go on with it."""
    if force or not planned.in_the_way:
        return
    count = len(planned.in_the_way)
    who = "1 worker that is" if count == 1 else f"{count} workers that are"
    raise DatabaseProblem(
        f"{who} alive cannot go on with revision {planned.after}: {', '.join(map(str, planned.in_the_way))}. Nothing was "
        "changed. Stop them first; or wait for their end: fanfold db upgrade --wait 60; or upgrade beneath them, so that they "
        "hand back what they can and end by themselves: fanfold db upgrade --force",
        code="workers_alive",
    )


def _write_down(connection: sa.Connection, planned: Plan, now: sa.ColumnElement[Any]) -> None:
    """Keep in the database who may go on beside it: older code does not know newer revisions, but can read this."""
    if revisions.name not in set(sa.inspect(connection).get_table_names()):
        return
    connection.execute(sa.delete(revisions).where(revisions.c.revision.in_([step.name for step in planned.steps])))
    for step in planned.steps:
        made = sa.insert(revisions).values(revision=step.name, compatible_from=step.compatible_from, upgraded_at=now)
        connection.execute(made)


def _is_locked_out(problem: DatabaseProblem) -> bool:
    return sqlstate(problem) in LOCKED_OUT


def _who_blocks(database: Database) -> str:
    """The oldest transaction of others in this PostgreSQL database, for people."""
    oldest = sa.text(
        "SELECT pid, coalesce(nullif(application_name, ''), 'a program without a name') AS program, state, "
        "extract(epoch FROM now() - xact_start) AS seconds FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL ORDER BY xact_start LIMIT 1"
    )
    with database.read() as connection:
        found = connection.execute(oldest).first()
    if found is None:
        return "whoever held them has just ended"
    return f"process {found.pid} of the server ({found.program}, {found.state}) is in a transaction since {found.seconds:.0f} s"
