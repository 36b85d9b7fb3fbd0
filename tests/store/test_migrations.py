"""The migrations produce exactly the declared tables, and keep the data."""

import os
import pwd
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from fanfold.engine.client import Client
from fanfold.errors import DatabaseProblem
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.settings import Settings
from fanfold.store.database import Database
from fanfold.store.dialects.sql_clock import UtcTime
from fanfold.store.dialects.sqlite import NEWEST_SCHEMA
from fanfold.store.schema.constraints import MOVES, trigger_statements
from fanfold.store.schema.indexes import metadata
from fanfold.store.store import Store
from fanfold.store.upgrade import migrate, revisions
from tests.databases import Databases, PostgresDatabases
from tests.installation import Installation
from tests.sqlite_schema import schema


def declared(url: str) -> None:
    """Make the tables as they are declared, without any migration."""
    database = Database(url)
    with database.write() as connection:
        for name in MOVES:
            connection.execute(sa.text(f"DROP TABLE {name}"))
        if database.dialect.name == "postgresql":
            connection.execute(sa.text("DROP FUNCTION fanfold_refuse_move"))
            connection.execute(sa.text("DROP FUNCTION fanfold_refuse_change CASCADE"))
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
        for query in (SQLITE_SHAPE,) if database.dialect.name == "sqlite" else POSTGRES_SHAPE:
            found |= {tuple(_plain(value) for value in row) for row in connection.execute(sa.text(query))}
    database.close()
    return {row for row in found if "alembic_version" not in " ".join(row)}


def _plain(value: Any) -> str:
    """Definitions with white space and the order of a table's constraints made equal."""
    text = re.sub(r"\s+", " ", str(value)).replace("( ", "(").replace(" )", ")").replace(" ,", ",").strip()
    if not text.startswith("CREATE TABLE"):
        return text
    head, _, body = text.partition("(")
    return head + "(" + ", ".join(sorted(re.split(r", (?=CONSTRAINT)", body.rstrip(") "))))


ELSEWHERE = {"sqlite": {"items_open"}, "postgresql": {"items_progress"}}
"""Indexes that only the other database has."""


def test_the_migrations_give_exactly_the_declared_tables(databases: Databases) -> None:
    with databases.fresh() as migrated, databases.fresh() as plain:
        declared(plain)
        assert shape(migrated) == shape(plain)
        assert len(shape(migrated)) > 30


def test_a_new_sqlite_database_is_exactly_what_the_migrations_make(tmp_path: Path) -> None:
    assert f"{schema()}\n" == NEWEST_SCHEMA.read_text(encoding="utf-8"), "run: make docs"
    made, migrated = (f"sqlite:///{tmp_path / name}" for name in ("made.db", "migrated.db"))
    migrate.upgrade(made)
    database = Database(migrated)
    for revision in (revisions.REVISIONS[0], revisions.NEWEST):
        migrate.upgrade_database(database, revision)
    database.close()
    assert shape(made) == shape(migrated)
    assert _versions(made) == _versions(migrated)


def _versions(url: str) -> list[Any]:
    database = Database(url)
    with database.read() as connection:
        found = [
            list(connection.execute(sa.text(query)))
            for query in (
                f"SELECT version_num FROM {revisions.VERSION_TABLE}",
                "SELECT revision, compatible_from FROM revisions ORDER BY revision",
            )
        ]
    database.close()
    return found


def test_alembic_finds_nothing_to_change(database_url: str) -> None:
    database = Database(database_url)
    with database.read() as connection:
        # SQLite does not tell that a column numbers itself; the test above compares that as text.
        defaults = database.dialect.name == "postgresql"
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": True,
                "compare_server_default": defaults,
                "include_object": lambda _, name, *__: name not in ELSEWHERE[database.dialect.name],
            },
        )
        assert compare_metadata(context, metadata) == []
    database.close()


def test_every_revision_is_known_to_the_code() -> None:
    scripts = ScriptDirectory.from_config(migrate.config())
    assert tuple(script.revision for script in reversed(list(scripts.walk_revisions()))) == migrate.REVISIONS
    assert scripts.get_heads() == [migrate.REVISIONS[-1]]


def test_every_revision_says_what_it_adds_and_who_may_go_on(empty_url: str) -> None:
    """Step by step: the tables that the history names are those that are there, and the oldest code it lets on only grows."""
    database = Database(empty_url)
    for before, step in zip((None, *revisions.HISTORY), revisions.HISTORY, strict=False):
        planned = migrate.upgrade_database(database, step.name)
        assert [one.name for one in planned.steps] == [step.name]
        with database.read() as connection:
            present = set(sa.inspect(connection).get_table_names()) - {revisions.VERSION_TABLE}
        assert present == revisions.tables_of(step.name)
        assert step.compatible_from in revisions.REVISIONS
        assert before is None or before.compatible_from <= step.compatible_from <= step.name
    with database.read() as connection:
        found = connection.execute(sa.text("SELECT revision, compatible_from FROM revisions"))
        kept = {row.revision: row.compatible_from for row in found}
    assert kept[revisions.NEWEST] == revisions.HISTORY[-1].compatible_from
    database.close()


def test_a_new_database_keeps_who_may_go_on_with_it(installation: Installation) -> None:
    kept: dict[str, str] = dict(installation.sql("SELECT revision, compatible_from FROM revisions"))
    assert kept == {step.name: step.compatible_from for step in revisions.HISTORY}


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
    with pytest.raises(DatabaseProblem, match="knows only up to"):
        migrate.upgrade(installation.settings.database)
    assert migrate.current(installation.store.database) == "9999"


@pytest.mark.parametrize(
    ("oldest", "welcome"), [(revisions.REVISIONS[0], True), (revisions.NEWEST, True), ("9999", False)]
)
def test_a_newer_database_says_itself_whether_this_code_may_use_it(
    installation: Installation, oldest: str, welcome: bool
) -> None:
    said = "INSERT INTO revisions (revision, compatible_from, upgraded_at) SELECT '9999', :oldest, upgraded_at FROM revisions"
    installation.sql(f"{said} WHERE revision = :newest", oldest=oldest, newest=revisions.NEWEST)
    set_revision(installation, "9999")
    with installation.store.read() as tx:
        misfit = tx.misfit()
    if welcome:
        assert misfit is None
        Store.open(installation.settings).close()
        assert migrate.plan(installation.store.database).steps == ()
    else:
        assert misfit is not None
        assert (misfit.code, "cannot use" in misfit.message) == ("outdated", True)
        with pytest.raises(DatabaseProblem, match="newer version of Fanfold"):
            Store.open(installation.settings)


def test_a_database_that_becomes_older_beneath_a_worker_is_noticed(installation: Installation) -> None:
    """As when somebody restores a very old backup."""
    set_revision(installation, revisions.REVISIONS[0])
    with installation.store.read() as tx:
        misfit = tx.misfit()
    assert misfit is not None
    assert "Run: fanfold db upgrade" in misfit.message


def test_a_database_of_an_older_version_is_not_upgraded_behind_ones_back(empty_url: str, tmp_path: Path) -> None:
    database = Database(empty_url)
    migrate.upgrade_database(database, "0001")
    with pytest.raises(DatabaseProblem, match="Run: fanfold db upgrade") as caught:
        Store.open(Settings(database=empty_url, data=str(tmp_path)))
    assert caught.value.code == "older_database"
    assert migrate.current(database) == "0001"
    database.close()


def test_a_database_without_its_revision_is_refused(installation: Installation) -> None:
    installation.sql("DROP TABLE alembic_version")
    refused(installation, "half_made", r"incomplete: it has tables answers, .*, but no revision \(alembic_version\)")


def test_a_database_without_one_of_its_tables_is_refused(installation: Installation) -> None:
    installation.sql("DROP TABLE permits")
    refused(installation, "half_made", f"it has revision {revisions.NEWEST}, but no table permits")


def test_an_older_database_without_one_of_its_tables_is_not_upgraded(empty_url: str) -> None:
    database = Database(empty_url)
    migrate.upgrade_database(database, "0001")
    with database.write() as connection:
        connection.execute(sa.text("DROP TABLE calls"))
    with pytest.raises(DatabaseProblem, match="it has revision 0001, but no table calls"):
        migrate.upgrade_database(database)
    assert migrate.current(database) == "0001"
    database.close()


def refused(installation: Installation, code: str, sentence: str) -> None:
    """Neither opened nor upgraded."""
    for attempt in (lambda: Store.open(installation.settings), lambda: migrate.upgrade(installation.settings.database)):
        with pytest.raises(DatabaseProblem, match=sentence) as caught:
            attempt()
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        (["tasks (id integer, name text)"], "its table tasks cannot be Fanfold"),
        (["items (number integer)", "workers (name text)"], "its tables items, workers cannot be"),
        (["alembic_version (version_num text)", "orders (id integer)"], "it has revision f00d, but no table tasks"),
    ],
)
def test_a_database_of_something_else_is_left_alone(empty_url: str, tables: list[str], sentence: str) -> None:
    database = Database(empty_url)
    database.access.create()
    with database.write() as connection:
        for table in tables:
            connection.execute(sa.text(f"CREATE TABLE {table}"))
        if "alembic_version" in tables[0]:
            connection.execute(sa.text("INSERT INTO alembic_version VALUES ('f00d')"))
    with pytest.raises(DatabaseProblem, match=sentence) as caught:
        migrate.ensure(database)
    assert caught.value.code == "foreign_database"
    with database.read() as connection:
        assert len(sa.inspect(connection).get_table_names()) == len(tables)
    database.close()


def test_a_database_is_shared_with_tables_of_other_names(empty_url: str) -> None:
    database = Database(empty_url)
    database.access.create()
    with database.write() as connection:
        connection.execute(sa.text("CREATE TABLE orders (id integer)"))
    migrate.ensure(database)
    assert migrate.current(database) == revisions.NEWEST
    database.close()


@pytest.mark.parametrize("place", ["file", "folder"])
def test_a_read_only_file_is_refused_with_the_way_out(place: str) -> None:
    with tempfile.TemporaryDirectory() as name, without_privileges(Path(name)):
        path = Path(name) / "fanfold.db"
        migrate.upgrade(f"sqlite:///{path}")
        spoiled = path if place == "file" else path.parent
        spoiled.chmod(0o555)
        try:
            with pytest.raises(DatabaseProblem, match=f"{spoiled} is read-only for this user") as caught:
                Store.open(Settings(database=f"sqlite:///{path}", data=name))
        finally:
            spoiled.chmod(0o755)
        assert caught.value.code == "read_only"


@contextmanager
def without_privileges(folder: Path) -> Iterator[None]:
    """As an ordinary user, who owns the folder: nothing is read-only for root."""
    if os.geteuid() != 0:
        yield
        return
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    os.setegid(nobody.pw_gid)
    os.seteuid(nobody.pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def empty_url(databases: Databases, tmp_path: Path) -> Iterator[str]:
    """A database without any table, once on SQLite and once on PostgreSQL."""
    server, name = databases.server if isinstance(databases, PostgresDatabases) else None, f"empty_{uuid4().hex}"
    yield server.create_database(name) if server else f"sqlite:///{tmp_path / 'empty.db'}"
    if server:
        server.drop_database(name)


def test_many_may_open_an_empty_database_at_once(tmp_path: Path, databases: Databases) -> None:
    with databases.fresh() as url:
        database = Database(url)
        with database.write() as connection:
            metadata.drop_all(connection)
            connection.execute(sa.text("DROP TABLE alembic_version"))
            if database.dialect.name == "postgresql":
                connection.execute(sa.text("DROP FUNCTION fanfold_refuse_move CASCADE"))
                connection.execute(sa.text("DROP FUNCTION fanfold_refuse_change CASCADE"))
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


@pytest.mark.parametrize("revision", revisions.UNRELEASED)
def test_a_database_of_a_development_version_is_refused_in_words(empty_url: str, revision: str) -> None:
    database = Database(empty_url)
    migrate.upgrade_database(database)
    with database.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
    with database.read() as connection, pytest.raises(DatabaseProblem, match=f"{revision}, made by a development"):
        revisions.fitting(connection)
    database.close()


def test_a_database_of_0_1_is_upgraded_by_the_name_it_gives_itself(empty_url: str, tmp_path: Path) -> None:
    """Its five steps are one now: what it calls 0005 is the first schema."""
    database = Database(empty_url)
    migrate.upgrade_database(database, "0001")
    with database.write() as connection:
        at = sa.bindparam("at", datetime(2026, 1, 2, tzinfo=UTC), UtcTime)
        connection.execute(sa.text(OLD_TASK).bindparams(at), {"plan": one_stage()})
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0005'"))
    with pytest.raises(DatabaseProblem, match="Run: fanfold db upgrade") as caught:
        Store.open(Settings(database=empty_url, data=str(tmp_path)))
    assert caught.value.code == "older_database"
    planned = migrate.upgrade_database(database)
    assert [step.name for step in planned.steps] == list(migrate.REVISIONS[1:])
    assert migrate.current(database) == migrate.REVISIONS[-1]
    database.close()
    with Client(store=Store.open(Settings(database=empty_url, data=str(tmp_path)))) as client:
        assert client.get("t-old").title == "old"
        client.store.close()


OLD_TASK = (
    "INSERT INTO tasks (id, pipeline, title, state, stage, plan, owner, priority, created_at, updated_at, finished_at)"
    " VALUES ('t-old', 'book', 'old', 'completed', 'a', :plan, '', 0, :at, :at, :at)"
)
OLD_ITEM = (
    "INSERT INTO items (task, stage, seq, state, lease, attempts, failures, crashes, started_at, finished_at, degraded)"
    " SELECT number, 'a', 1, 'done', 3, 1, 0, 0, :at, :at, 'poor' FROM tasks"
)


def one_stage() -> str:
    """The plan of a pipeline that only has items."""
    book = Pipeline("book")
    book.each(name="a")(lambda item: None)
    return book.plan().to_json()
