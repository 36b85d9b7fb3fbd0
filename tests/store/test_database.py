"""A bad database URL, or a database that cannot be used, gives a clear error."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from fanfold.store.database import Database
from fanfold.store.dialects.sqlite_parts.sqlite_module import SAFE_SQLITE, sqlite_version
from fanfold.store.urls import parse, shown
from tests.installation import Installation


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "malformed"),
        ("fanfold.db", "malformed"),
        ("postgresql://host:port/name", "malformed"),
        ("mysql://localhost/x", "SQLite or PostgreSQL, not in mysql"),
        ("sqlite://fanfold.db", "three slashes"),
    ],
)
def test_a_malformed_url_is_refused_with_the_way_out(url: str, reason: str) -> None:
    with pytest.raises(DatabaseProblem, match=reason):
        parse(url)


@pytest.mark.parametrize("url", ["postgresql://u@h/n", "postgres://u@h/n", "postgresql+psycopg://u@h/n"])
def test_every_way_to_write_postgresql_is_understood(url: str) -> None:
    assert parse(url).drivername == "postgresql+psycopg"


def test_a_password_is_never_shown() -> None:
    assert "secret" not in shown(parse("postgresql://me:secret@host/name"))


def test_a_server_that_is_not_there_is_told_plainly_and_without_the_password(tmp_path: Path) -> None:
    database = Database(f"postgresql://me:secret@/name?host={tmp_path}")
    with pytest.raises(DatabaseProblem, match="Cannot use the database") as caught, database.read():
        pass
    assert caught.value.code == "unreachable"
    assert "secret" not in str(caught.value)


def test_a_folder_that_cannot_be_made_is_told_plainly(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DatabaseProblem, match="Cannot create the folder"):
        Database(f"sqlite:///{tmp_path}/file/fanfold.db")


def test_a_file_that_is_no_database_is_told_plainly(tmp_path: Path) -> None:
    (tmp_path / "novel.txt").write_text("It was a dark and stormy night. " * 100)
    database = Database(f"sqlite:///{tmp_path}/novel.txt")
    with pytest.raises(DatabaseProblem), database.read():
        pass
    database.close()


def test_sqlite_keeps_what_it_has_committed(installation: Installation) -> None:
    database = Database(installation.settings.database)
    if database.dialect.name == "sqlite":
        with database.read() as connection:
            assert connection.execute(sa.text("PRAGMA journal_mode")).scalar() == "wal"
            assert connection.execute(sa.text("PRAGMA synchronous")).scalar() == 2
            assert connection.execute(sa.text("PRAGMA mmap_size")).scalar() in (0, None)
    database.close()


def test_the_bundled_sqlite_is_a_safe_one() -> None:
    pytest.importorskip("pysqlite3")
    assert sqlite_version() >= SAFE_SQLITE


def test_a_write_that_fails_leaves_nothing(installation: Installation) -> None:
    before = installation.rows()

    def fail_in_the_middle() -> None:
        with installation.store.write() as tx:
            tx.workers.register("w", "h", 1, [], 1)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_in_the_middle()
    assert installation.rows() == before


def test_times_come_back_aware_and_in_utc(installation: Installation) -> None:
    with installation.store.write() as tx:
        tx.workers.register("w", "h", 1, [], 1)
        seen = tx.workers.all(15)[0].seen_at
        assert seen.tzinfo is not None
        assert seen == tx.time()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_moved_away_is_missed_at_once_and_nothing_is_written_to_it(
    tmp_path: Path, replaced: bool
) -> None:
    """SQLite itself would continue to write to a file that nobody can open again."""
    path, away = tmp_path / "fanfold.db", tmp_path / "away.db"
    database = Database(f"sqlite:///{path}")
    database.access.create()
    with database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x)")
    path.rename(away)
    if replaced:
        path.touch()
    for transaction in (database.write, database.read):
        with pytest.raises(DatabaseProblem, match="moved or replaced") as caught, transaction() as connection:
            connection.exec_driver_sql("SELECT 1")
        assert caught.value.code == "unreachable"
        assert str(path) not in caught.value.public
    database.own_connections()
    with pytest.raises(DatabaseProblem, match="moved or replaced"), database.read():
        pass
    assert path.exists() == replaced, "no empty file takes its place"
    away.rename(path)
    with database.write() as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (1)")
    database.close()
