"""Lists every revision of the tables, and checks that this code can use a database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from fanfold.store.database import Database
from fanfold.store.schema.money.limit_tables import metadata
from fanfold.store.schema.tables import revisions

VERSION_TABLE = "alembic_version"


@dataclass(frozen=True)
class Revision:
    """One revision of the tables.

    ``compatible_from`` is the oldest revision whose code can still read and write this one. A revision that only adds tables,
    indexes or nullable columns keeps the value of the previous one. Any other revision names itself, and so does one after
    which newer code writes what older code cannot read.
    """

    name: str
    compatible_from: str
    adds: tuple[str, ...] = ()
    """The tables it adds. All other tables belong to the first revision."""


HISTORY: tuple[Revision, ...] = (
    Revision("0001", "0001"),
    Revision("0010", "0001", adds=("drafts", "deleted_tasks", "externals", "resets", "reset_items", "decisions")),
    Revision("0020", "0001", adds=("budgets", "usage_history")),
    Revision("0030", "0001", adds=("rate_limits", "rate_limit_holders")),
    Revision("0040", "0001", adds=("batches", "batch_members")),
    Revision("0045", "0001"),
    Revision("0050", "0001", adds=("templates", "template_uses")),
    Revision("0055", "0001"),
    Revision("0070", "0001", adds=("file_places",)),
    Revision("0080", "0001", adds=("hints", "unstopped")),
    Revision("0090", "0001", adds=("schedules", "schedule_runs")),
    Revision("0091", "0001"),
    Revision("0092", "0001", adds=("webhooks",)),
    Revision("0100", "0001", adds=("credit_accounts", "credit_entries")),
    Revision("0101", "0001", adds=("stage_durations",)),
    Revision("0110", "0001", adds=("subtasks", "gate_answers")),
    Revision("0140", "0001"),
    Revision("0150", "0001", adds=("external_durations",)),
    Revision("0190", "0001"),
    Revision("0195", "0001"),
)
"""Every revision this version knows, oldest first. Tests compare it with the migrations."""
REVISIONS = tuple(revision.name for revision in HISTORY)
NEWEST = REVISIONS[-1]
UNRELEASED = ("0006", "0007", "0008", "0009")
"""Revisions that only development versions between 0.1 and 0.2 had; no migration starts from them."""
OTHER_NAMES = {"0005": "0001"}
"""Revision names in databases of 0.1, whose five migrations are now one."""


def revision_of(connection: sa.Connection) -> str | None:
    """The database's revision, or None if it has none."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return _written(connection)


def current(database: Database) -> str | None:
    """The database's revision, or None if it is empty."""
    if database.access.is_new():
        return None
    with database.read() as connection:
        return revision_of(connection)


def misfit(connection: sa.Connection) -> DatabaseProblem | None:
    """Why this code cannot continue with a database that it opened earlier, or None. One cheap query."""
    revision = _written(connection)
    if revision == NEWEST or (revision not in REVISIONS and _lets_us_go_on(connection, revision)):
        return None
    if revision in REVISIONS:
        return DatabaseProblem(
            f"The database now has revision {revision}, older than {NEWEST}, which this version of Fanfold needs. "
            "Run: fanfold db upgrade",
            code="outdated",
        )
    return DatabaseProblem(
        f"The database was upgraded to revision {revision}, which this version of Fanfold cannot use (it knows up to {NEWEST}). "
        "Upgrade Fanfold on this machine and start again: pip install --upgrade fanfold",
        code="outdated",
    )


def fitting(connection: sa.Connection) -> str | None:
    """The revision of a database that this code can use as it is; None if it is empty, DatabaseProblem otherwise."""
    revision = standing(connection)
    if revision is None or revision == NEWEST or revision not in REVISIONS:
        return revision
    raise DatabaseProblem(
        f"The database has revision {revision}; this version of Fanfold needs {NEWEST}. Run: fanfold db upgrade "
        "(to see what it would do: fanfold db upgrade --dry-run)",
        code="older_database",
    )


def standing(connection: sa.Connection) -> str | None:
    """The revision of a complete database, even an old one; None if it is empty, DatabaseProblem otherwise."""
    present = set(sa.inspect(connection).get_table_names())
    revision = _written(connection) if VERSION_TABLE in present else None
    if revision in UNRELEASED:
        raise DatabaseProblem(
            f"The database has revision {revision}, made by a development version between 0.1 and 0.2. Nothing was "
            "changed. Finish its tasks with that version, or start with an empty database: --database URL",
            code="unreleased_database",
        )
    if revision not in REVISIONS and not (revision and _lets_us_go_on(connection, revision)):
        _refuse_unknown(connection, present, revision)
        return None
    if missing := tables_of(revision) - present:
        raise _half_made(f"it has revision {revision}, but no {_listed(missing)}")
    return revision


def tables_of(revision: str) -> set[str]:
    """The tables of a database with that revision; a newer one has at least all that this code knows."""
    added_later: set[str] = set()
    for step in reversed(HISTORY):
        if step.name == revision or revision not in REVISIONS:
            break
        added_later.update(step.adds)
    return set(metadata.tables) - added_later


def oldest_after(revision: str | None) -> str:
    """The oldest revision whose code may use a database with that revision."""
    return next((step.compatible_from for step in HISTORY if step.name == revision), REVISIONS[0])


def _written(connection: sa.Connection) -> str | None:
    found = connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    return None if found is None else OTHER_NAMES.get(str(found), str(found))


def rename(connection: sa.Connection) -> None:
    """Store the revision under the name that the migrations use."""
    if sa.inspect(connection).has_table(VERSION_TABLE):
        said = sa.text(f"UPDATE {VERSION_TABLE} SET version_num = :new WHERE version_num = :old")
        for old, new in OTHER_NAMES.items():
            connection.execute(said, {"old": old, "new": new})


def _lets_us_go_on(connection: sa.Connection, revision: str | None) -> bool:
    """Whether a database with an unknown, newer revision says that this code may use it."""
    if not sa.inspect(connection).has_table(revisions.name):
        return False
    said = sa.select(revisions.c.compatible_from).where(revisions.c.revision == revision)
    return connection.execute(said).scalar() in REVISIONS


def _is_ours(connection: sa.Connection, name: str) -> bool:
    """Whether a table has the columns that identify ours."""
    columns = {column["name"] for column in sa.inspect(connection).get_columns(name)}
    return {column.name for column in metadata.tables[name].primary_key} <= columns and (
        name != "tasks" or {"pipeline", "stage", "plan"} <= columns
    )


def _refuse_unknown(connection: sa.Connection, present: set[str], revision: str | None) -> None:
    """Raise the problem of a database without a known revision; none if it has no tables with our names either."""
    named_like_ours = sorted(present & set(metadata.tables))
    strange = [name for name in named_like_ours if not _is_ours(connection, name)]
    if strange or (revision and "tasks" not in present):
        raise _of_something_else(strange, revision)
    if revision:
        raise DatabaseProblem(
            f"The database has revision {revision}, made by a newer version of Fanfold. This version knows only up to {NEWEST}. "
            "Upgrade Fanfold on this machine: pip install --upgrade fanfold",
            code="newer_database",
        )
    if named_like_ours:
        raise _half_made(f"it has {_listed(named_like_ours)}, but no revision ({VERSION_TABLE})")


def _half_made(fact: str) -> DatabaseProblem:
    return DatabaseProblem(
        f"The database is incomplete: {fact}. Nothing was changed. Restore all of it from a backup, or start with an empty one.",
        code="half_made",
    )


def _of_something_else(strange: list[str], revision: str | None) -> DatabaseProblem:
    its = (
        f"its {_listed(strange)} cannot be Fanfold's" if strange else f"it has revision {revision}, but no table tasks"
    )
    return DatabaseProblem(
        f"The database belongs to another program: {its}. Nothing was changed. "
        "Give Fanfold a database of its own: --database URL",
        code="foreign_database",
    )


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return f"{'table' if len(ordered) == 1 else 'tables'} {', '.join(ordered)}"
