"""Fanfold works behind a pooler that gives each transaction a different connection."""

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from fanfold.engine.queries.doctor import examine
from fanfold.errors import DatabaseProblem
from fanfold.settings import Settings
from fanfold.store.database import Database
from fanfold.store.dialects.notify import Hints
from fanfold.store.store import Store
from fanfold.store.upgrade.migrate import upgrade_database
from fanfold.store.urls import parse
from tests.poolers import PgBouncer, pooled
from tests.servers import PostgresServer
from tests.waiting import eventually

on_postgres = pytest.mark.parametrize("databases", ["postgresql"], indirect=True)


@pytest.fixture
def pooler(postgres: PostgresServer) -> Iterator[PgBouncer]:
    with pooled(postgres) as made:
        yield made


def use_much(database: Database) -> None:
    """Enough transactions at once that they change their connections, each with the same few statements."""
    problems: list[BaseException] = []

    def use() -> None:
        try:
            for _ in range(20):
                with database.write() as connection:
                    connection.execute(
                        sa.text("SELECT count(*) FROM tasks WHERE number > :least"), {"least": 0}
                    ).scalar()
                with database.read() as connection:
                    connection.execute(sa.text("SELECT count(*) FROM items WHERE id > :least"), {"least": 0}).scalar()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == []


@on_postgres
@pytest.mark.parametrize("query", [{}, {"pooler": "transaction"}])
def test_a_pooler_is_noticed_or_told_and_nothing_outlives_a_transaction(
    database_url: str, pooler: PgBouncer, query: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "fanfold.store")
    database = Database(pooler.url(database_url, **query))
    assert database.is_pooled
    use_much(database)
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM pg_prepared_statements").scalar_one() == 0
        assert connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar_one() == "0"
    database.close()
    told = [record.message for record in caplog.records if "behind a pooler" in record.message]
    assert len(told) == 1
    assert "FANFOLD_DIRECT_DATABASE" in told[0]


@on_postgres
def test_without_a_pooler_nothing_is_given_up(database_url: str) -> None:
    database = Database(database_url)
    assert not database.is_pooled
    with database.read() as connection:
        assert connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar_one() == "15s"
    database.close()


@on_postgres
def test_a_url_may_say_that_the_pooler_keeps_sessions(database_url: str, postgres: PostgresServer) -> None:
    with pooled(postgres, mode="session", size=20) as pooler:
        database = Database(pooler.url(database_url, pooler="session"))
        assert not database.is_pooled
        use_much(database)
        database.close()


def test_a_pooler_that_is_not_known_is_refused() -> None:
    with pytest.raises(DatabaseProblem, match="pooler=often is not possible"):
        parse("postgresql://me@/name?pooler=often")
    with pytest.raises(DatabaseProblem, match="pooler=transaction is not possible for SQLite"):
        parse("sqlite:///file.db?pooler=transaction")


@on_postgres
def test_hints_come_through_the_direct_url_and_otherwise_not(database_url: str, pooler: PgBouncer) -> None:
    stop = threading.Event()
    through = pooler.url(database_url)
    for direct in ("", database_url):
        database = Database(through, direct=direct)
        hints = Hints(database)
        assert hints.possible is bool(direct)
        hints.wait(stop, 0.01)
        with database.write() as connection:
            connection.exec_driver_sql("SELECT pg_notify('fanfold', '')")
        assert hints.wait(stop, 30.0 if direct else 0.1) is bool(direct)
        hints.close()
        database.close()


def test_tables_are_made_through_a_pooler(postgres: PostgresServer, pooler: PgBouncer) -> None:
    url = postgres.create_database("behind_a_pooler")
    database = Database(pooler.url(url))
    planned = upgrade_database(database)
    assert planned.before is None
    assert upgrade_database(database).steps == ()
    database.close()
    postgres.drop_database("behind_a_pooler")


@on_postgres
def test_the_doctor_names_the_pooler_and_says_whether_hints_arrive(
    database_url: str, pooler: PgBouncer, tmp_path: Path
) -> None:
    def found(name: str, **settings: str) -> tuple[str, str]:
        checks = examine(Settings(data=str(tmp_path), **settings))  # type: ignore[arg-type]
        return next((check.status, check.fact) for check in checks if check.name == name)

    through = pooler.url(database_url)
    assert found("notifications", database=database_url) == ("ok", "arrive")
    assert found("pooler", database=through)[0] == "ok"
    assert "every 2 s" in found("notifications", database=through)[1]
    assert found("notifications", database=through, direct_database=database_url) == ("ok", "arrive")
    status, fact = found("notifications", database=through, direct_database=through)
    assert (status, "do not arrive" in fact) == ("warning", True)


@on_postgres
def test_a_store_behind_a_pooler_survives_the_end_of_its_connections(
    database_url: str, pooler: PgBouncer, postgres: PostgresServer, tmp_path: Path
) -> None:
    store = Store.open(Settings(database=pooler.url(database_url), data=str(tmp_path)))
    name = str(sa.make_url(database_url).database)
    with postgres.connect() as administrator:
        ended = end_servers(administrator, name)
    assert ended > 0
    eventually(lambda: answers(store), 60)
    store.close()


def answers(store: Store) -> bool:
    try:
        with store.read() as tx:
            return bool(tx.time())
    except DatabaseProblem as problem:
        if problem.code != "unreachable":
            raise
        return False


def end_servers(administrator: psycopg.Connection[tuple[int, ...]], database: str) -> int:
    found = administrator.execute(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s", (database,)
    ).fetchone()
    return int(found[0]) if found else 0
