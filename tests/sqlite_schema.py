"""Writes the schema of a new SQLite database as the migrations make it; a test compares the two."""

import tempfile
from pathlib import Path

from fanfold.store.database import Database
from fanfold.store.dialects.sqlite import BETWEEN, NEWEST_SCHEMA
from fanfold.store.upgrade.migrate import REVISIONS, upgrade_database
from fanfold.store.upgrade.revisions import VERSION_TABLE

SHAPE = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY rowid"


def schema() -> str:
    """The revision, and the statements that make the tables, indexes and triggers."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'migrated.db'}")
        try:
            return _schema(database)
        finally:
            database.close()


def _schema(database: Database) -> str:
    upgrade_database(database, REVISIONS[0])  # An empty database would be made from the file.
    upgrade_database(database)
    with database.read() as connection:
        made = [sql for (sql,) in connection.exec_driver_sql(SHAPE)]
        revision = connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalar_one()
    marked = f"INSERT INTO {VERSION_TABLE} (version_num) VALUES ('{revision}')"
    return BETWEEN.join([f"-- {revision}", *(_tidy(sql) for sql in (*made, marked))])


def _tidy(sql: str) -> str:
    """Without blank lines and blanks at the ends of lines."""
    return "\n".join(line.rstrip() for line in sql.splitlines() if line.strip())


if __name__ == "__main__":
    NEWEST_SCHEMA.write_text(schema() + "\n", encoding="utf-8")
