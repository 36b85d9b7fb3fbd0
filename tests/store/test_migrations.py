"""Do the migrations give exactly the declared tables, and keep what is in them?"""

import re
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from fanfold.errors import DatabaseProblem
from fanfold.model.pipeline import Pipeline
from fanfold.settings import Settings
from fanfold.store import migrate
from fanfold.store.database import Database
from fanfold.store.store import Store
from fanfold.store.tables import metadata, trigger_statements
from tests.databases import Databases
from tests.installation import Installation


def declared(url: str) -> None:
    """Make the tables as they are declared, without any migration."""
    database = Database(url)
    with database.write() as connection:
        for name in ("tasks", "items"):
            connection.execute(sa.text(f"DROP TABLE {name}"))
        if database.dialect == "postgresql":
            connection.execute(sa.text("DROP FUNCTION fanfold_refuse_move"))
        metadata.drop_all(connection)
        metadata.create_all(connection)
        for statement in trigger_statements(database.dialect):
            connection.execute(sa.text(statement))
    database.close()


SQLITE_SHAPE = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
POSTGRES_SHAPE = (
    "SELECT 'index', indexname, tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "SELECT 'constraint', conname, conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace",
    "SELECT 'trigger', tgname, tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    "SELECT 'function', proname, '', prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
    "SELECT 'column', column_name, table_name, data_type || '|' || is_nullable || '|' || coalesce(column_default, '')"
    " || '|' || coalesce(character_maximum_length, 0) || '|' || is_identity || '|' || ordinal_position"
    " FROM information_schema.columns WHERE table_schema = 'public'",
    "SELECT 'options', relname, '', array_to_string(reloptions, ',') FROM pg_class"
    " WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'",
)


def shape(url: str) -> set[tuple[str, ...]]:
    """Everything the database knows of its tables, indexes, constraints and triggers."""
    database = Database(url)
    found: set[tuple[str, ...]] = set()
    with database.read() as connection:
        for query in (SQLITE_SHAPE,) if database.dialect == "sqlite" else POSTGRES_SHAPE:
            found |= {tuple(_plain(value) for value in row) for row in connection.execute(sa.text(query))}
    database.close()
    return {row for row in found if "alembic_version" not in " ".join(row)}


def _plain(value: Any) -> str:
    """Definitions with white space and the order of a table's constraints made equal."""
    text = re.sub(r"\s+", " ", str(value)).replace("( ", "(").replace(" )", ")").strip()
    if not text.startswith("CREATE TABLE"):
        return text
    head, _, body = text.partition("(")
    return head + "(" + ", ".join(sorted(re.split(r", (?=CONSTRAINT)", body.rstrip(") "))))


def test_the_migrations_give_exactly_the_declared_tables(databases: Databases) -> None:
    with databases.fresh() as migrated, databases.fresh() as plain:
        declared(plain)
        assert shape(migrated) == shape(plain)
        assert len(shape(migrated)) > 30


def test_alembic_finds_nothing_to_change(database_url: str) -> None:
    database = Database(database_url)
    with database.read() as connection:
        # SQLite does not tell that a column numbers itself; the test above compares that as text.
        defaults = database.dialect == "postgresql"
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": defaults}
        )
        assert compare_metadata(context, metadata) == []
    database.close()


def test_every_revision_is_known_to_the_code() -> None:
    scripts = ScriptDirectory.from_config(migrate.config())
    assert tuple(script.revision for script in reversed(list(scripts.walk_revisions()))) == migrate.REVISIONS
    assert scripts.get_heads() == [migrate.REVISIONS[-1]]


def test_an_upgrade_keeps_what_is_there(installation: Installation, database_url: str) -> None:
    book = Pipeline("book")
    book.each(name="a")(lambda item: None)
    installation.client.submit(book, items=[1, 2, 3])
    before = installation.rows()
    migrate.upgrade(database_url)
    assert installation.rows() == before


def test_an_empty_database_gets_its_tables_when_it_is_opened(tmp_path: Path) -> None:
    store = Store.open(Settings(data=str(tmp_path / "deep" / "er")))
    assert migrate.current(store.database) == migrate.REVISIONS[-1]
    store.close()


def set_revision(installation: Installation, revision: str) -> None:
    installation.sql("UPDATE alembic_version SET version_num = :revision", revision=revision)


def test_a_database_of_a_newer_version_is_refused_with_the_way_out(installation: Installation) -> None:
    set_revision(installation, "9999")
    with pytest.raises(DatabaseProblem, match=r"newer version of Fanfold.*pip install --upgrade fanfold") as caught:
        Store.open(installation.settings)
    assert caught.value.code == "newer_database"
    with pytest.raises(DatabaseProblem, match="does not know"):
        migrate.upgrade(installation.settings.database)
    assert migrate.current(installation.store.database) == "9999"


def test_a_database_of_an_older_version_is_not_upgraded_behind_ones_back(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "REVISIONS", (*migrate.REVISIONS, "9999"))
    with pytest.raises(DatabaseProblem, match="Run: fanfold db upgrade") as caught:
        Store.open(installation.settings)
    assert caught.value.code == "older_database"


def test_many_may_open_an_empty_database_at_once(tmp_path: Path, databases: Databases) -> None:
    with databases.fresh() as url:
        database = Database(url)
        with database.write() as connection:
            metadata.drop_all(connection)
            connection.execute(sa.text("DROP TABLE alembic_version"))
            if database.dialect == "postgresql":
                connection.execute(sa.text("DROP FUNCTION fanfold_refuse_move CASCADE"))
        problems: list[BaseException] = []
        start = threading.Barrier(4)

        def open_it() -> None:
            try:
                start.wait()
                Store.open(Settings(database=url, data=str(tmp_path))).close()
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=open_it) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
        assert migrate.current(database) == migrate.REVISIONS[-1]
        database.close()
