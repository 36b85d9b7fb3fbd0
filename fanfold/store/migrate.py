"""How does a database come to its tables? Alembic migrations, and the check that code and database fit each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from fanfold.store.database import Database

if TYPE_CHECKING:
    from alembic.config import Config

REVISIONS = ("0001", "0002", "0003")
"""Every revision this version knows, oldest first; a test compares it with the migrations."""
UPGRADE_LOCK = 0x66616E66
"""The advisory lock that keeps two upgrades of one PostgreSQL apart."""


def current(database: Database) -> str | None:
    """The database's revision, or None when it is empty."""
    with database.read() as connection:
        if not sa.inspect(connection).has_table("alembic_version"):
            return None
        found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
        return None if found is None else str(found)


def ensure(database: Database) -> None:
    """Create the tables of an empty database; refuse one that is older or newer than this code."""
    revision = current(database)
    if revision is None:
        upgrade_database(database)
    elif revision not in REVISIONS:
        raise DatabaseProblem(
            f"The database is of revision {revision}, made by a newer version of Fanfold (this one knows up to {REVISIONS[-1]}). "
            "Upgrade Fanfold on this machine: pip install --upgrade fanfold",
            code="newer_database",
        )
    elif revision != REVISIONS[-1]:
        raise DatabaseProblem(
            f"The database is of revision {revision}; this version of Fanfold needs {REVISIONS[-1]}. Run: fanfold db upgrade",
            code="older_database",
        )


def upgrade(url: str) -> None:
    """Bring the database at ``url`` to the newest revision, keeping its data."""
    database = Database(url)
    try:
        upgrade_database(database)
    finally:
        database.close()


def upgrade_database(database: Database, revision: str = "head") -> None:
    """Run the migrations in one transaction, one process at a time."""
    from alembic import command

    with database.write() as connection:
        if database.dialect == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": UPGRADE_LOCK})
        known = sa.inspect(connection).has_table("alembic_version")
        found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() if known else None
        if found is not None and found not in REVISIONS:
            raise DatabaseProblem(
                f"The database is of revision {found}, which this version of Fanfold does not know.",
                code="newer_database",
            )
        configuration = config()
        configuration.attributes["connection"] = connection
        command.upgrade(configuration, revision)


def config() -> Config:
    """Alembic's configuration, without an ini file."""
    from alembic.config import Config

    configuration = Config()
    configuration.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return configuration
