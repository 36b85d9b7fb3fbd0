"""Database errors are classified by how to handle them."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from fanfold.errors import DatabaseProblem, FanfoldError
from fanfold.store.database import Database
from fanfold.store.database_errors import code_of, is_conflict, may_pass
from fanfold.store.store import CONFLICT_TRIES, Transaction
from tests.engine.pipelines import batch
from tests.installation import Installation
from tests.waiting import eventually

on_postgres = pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
RAISE = "DO $$ BEGIN RAISE EXCEPTION 'as it was told' USING ERRCODE = '{}'; END $$"


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    made = Database(database_url)
    yield made
    made.close()


@on_postgres
@pytest.mark.parametrize(
    ("code", "states"),
    [
        ("refused", ("22001", "22003", "22021", "22P05", "23502", "23503", "23505", "23514", "54000")),
        ("misfit", ("42703", "42P01", "42883", "42501", "42601")),
        ("unreachable", (
            "08006", "08P01", "0A000", "25006", "25P02", "25P03", "25P04", "26000", "40001", "40P01", "42P05", "53100",
            "53200", "53300", "55P03", "57014", "57P01", "57P03", "57P05", "58030", "P0001", "XX000",
        )),
    ],
)  # fmt: skip
def test_only_errors_of_the_data_are_held_against_the_data(
    database: Database, code: str, states: tuple[str, ...]
) -> None:
    for state in states:
        with pytest.raises(DatabaseProblem) as caught, database.write() as connection:
            connection.exec_driver_sql(RAISE.format(state))
        assert caught.value.code == code, state


@on_postgres
def test_a_session_that_the_server_ended_in_a_transaction_is_replaced(database_url: str) -> None:
    """For real, since the code comes with the end of the connection: an idle transaction (25P03), one that took too long (25P04),
    and an administrator (57P01)."""
    database = Database(database_url)
    endings = {
        "25P03": ("SET idle_in_transaction_session_timeout = 50", "SELECT pg_sleep(0)"),
        "25P04": ("SET transaction_timeout = 100", "SELECT pg_sleep(30)"),
        "57P01": ("SELECT 1", "SELECT pg_terminate_backend(pg_backend_pid())"),
    }
    for state, (begin, go_on) in endings.items():
        with pytest.raises(DatabaseProblem) as caught:
            say_slowly(database, begin, go_on)
        said = getattr(getattr(caught.value.__cause__, "orig", None), "sqlstate", None)
        assert (caught.value.code, said) in (("unreachable", state), ("unreachable", None)), state
        with database.write() as connection:
            assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
    database.close()


def say_slowly(database: Database, *statements: str) -> None:
    """In one transaction, with a pause after each."""
    with database.write() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
            time.sleep(0.3)


def test_what_the_driver_refuses_before_it_is_sent_is_about_the_data(database: Database) -> None:
    with database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE noted (value text)")
    bad: Any = "\0" if database.dialect.name == "postgresql" else object()
    with pytest.raises(DatabaseProblem) as caught, database.write() as connection:
        connection.execute(sa.text("INSERT INTO noted VALUES (:value)"), {"value": bad})
    assert caught.value.code == "refused"


@pytest.mark.parametrize(
    ("code", "statement"),
    [
        ("refused", "INSERT INTO workers (id) VALUES (NULL)"),
        ("misfit", "SELECT * FROM no_such_table"),
        ("misfit", "SELECT no_such_column FROM tasks"),
        ("misfit", "SELEC 1"),
    ],
)
def test_both_databases_tell_data_from_statements(database: Database, code: str, statement: str) -> None:
    with pytest.raises(DatabaseProblem) as caught, database.write() as connection:
        connection.exec_driver_sql(statement)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("number", "code"),
    [(5, "unreachable"), (6, "unreachable"), (8, "unreachable"), (10, "unreachable"), (13, "unreachable"),
     (14, "unreachable"), (1034, "unreachable"), (11, "damaged"), (26, "damaged"), (18, "refused"), (2067, "refused")],
)  # fmt: skip
def test_sqlite_errors_are_sorted_by_their_number(number: int, code: str) -> None:
    error = sqlite3.OperationalError("as it was told")
    error.sqlite_errorcode = number
    assert code_of(error) == code


@on_postgres
@pytest.mark.parametrize("state", ["26000", "42P05", "25006", "0A000", "25P02"])
def test_a_connection_in_an_unknown_state_is_not_used_again(database: Database, state: str) -> None:
    with database.read() as connection:
        before = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
    with pytest.raises(DatabaseProblem), database.write() as connection:
        connection.exec_driver_sql(RAISE.format(state))
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one() != before


@on_postgres
def test_a_connection_that_the_server_ended_is_not_used_again(database: Database) -> None:
    with pytest.raises(DatabaseProblem) as caught:
        wait_too_long(database)
    assert caught.value.code == "unreachable"
    with database.write() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1


def wait_too_long(database: Database) -> None:
    with database.write() as connection:
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 1")
        eventually(lambda: is_gone(database, connection), 60)
        connection.exec_driver_sql("SELECT 1")


def is_gone(database: Database, connection: sa.Connection) -> bool:
    pid = connection.connection.dbapi_connection.info.backend_pid  # type: ignore[union-attr]
    with database.read() as other:
        known = other.execute(sa.text("SELECT count(*) FROM pg_stat_activity WHERE pid = :pid"), {"pid": pid})
        return not known.scalar_one()


def test_a_pooler_that_is_not_ready_is_waited_for() -> None:
    problem = DatabaseProblem("no more connections allowed (max_client_conn)", code="unreachable")
    assert may_pass(problem)
    assert not may_pass(DatabaseProblem("password authentication failed", code="unreachable"))


@contextmanager
def deadlocked(installation: Installation) -> Iterator[Callable[[Transaction], None]]:
    """A function that runs into a deadlock with another connection, once, and is the one that the server ends."""
    pipeline = installation.know(batch())
    first, second = (installation.client.submit(pipeline, items=["a"]).id for _ in range(2))
    lock = sa.text("SELECT 1 FROM tasks WHERE id = :id FOR UPDATE")
    held, tries = threading.Event(), 0
    database = installation.store.database

    def other() -> None:
        with database.write() as connection:
            connection.exec_driver_sql("SET LOCAL deadlock_timeout = '10min'")
            connection.execute(lock, {"id": second})
            held.set()
            connection.execute(lock, {"id": first})

    def act(tx: Transaction) -> None:
        nonlocal tries
        tries += 1
        tx.connection.execute(lock, {"id": first})
        if tries == 1:
            thread.start()
            assert held.wait(60)
        tx.connection.execute(lock, {"id": second})

    thread = threading.Thread(target=other)
    yield act
    thread.join(60)
    assert tries == 2


@on_postgres
def test_a_transaction_that_lost_a_deadlock_is_repeated(installation: Installation) -> None:
    with deadlocked(installation) as act:
        installation.store.transact(act)


@on_postgres
def test_a_deadlock_inside_of_a_users_mirror_is_repeated_too(installation: Installation) -> None:
    with deadlocked(installation) as act:

        def mirrored(tx: Transaction) -> None:
            try:
                act(tx)
            except sa.exc.OperationalError as error:
                raise FanfoldError("on_move failed", code="mirror_failed") from error

        installation.store.transact(mirrored)


def test_conflicts_without_end_are_told_in_the_end(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanfold.store.store.CONFLICT_PAUSE_SECONDS", 0.0)
    tries = []

    def conflicting(tx: Transaction) -> None:
        tries.append(tx)
        raise psycopg.errors.SerializationFailure("as it was told")

    with pytest.raises(DatabaseProblem) as caught:
        installation.store.transact(conflicting)
    assert is_conflict(caught.value)
    assert (caught.value.code, len(tries)) == ("unreachable", CONFLICT_TRIES)


def test_any_other_error_is_not_repeated(installation: Installation) -> None:
    tries = []

    def refused(tx: Transaction) -> None:
        tries.append(tx)
        raise psycopg.errors.UniqueViolation("as it was told")

    with pytest.raises(DatabaseProblem):
        installation.store.transact(refused)
    assert len(tries) == 1
