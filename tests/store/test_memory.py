"""A database in memory: one connection, which threads use in turn, and a copy to go back to."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from fanfold.store.database import Database
from fanfold.store.dialects.notify import Hints
from fanfold.store.dialects.sqlite_parts.sqlite_memory import SqliteMemory

THREADS, ROWS = 8, 25


@pytest.fixture
def memory() -> Iterator[Database]:
    """A database in memory with one table."""
    database = Database("sqlite://")
    with database.write() as connection:
        connection.execute(sa.text("CREATE TABLE numbers (number INTEGER)"))
    yield database
    database.close()


def access(database: Database) -> SqliteMemory:
    assert isinstance(database.access, SqliteMemory)
    return database.access


def add(database: Database, number: int) -> None:
    with database.write() as connection:
        connection.execute(sa.text("INSERT INTO numbers VALUES (:number)"), {"number": number})


def count(database: Database) -> int:
    with database.read() as connection:
        return int(connection.execute(sa.text("SELECT count(*) FROM numbers")).scalar() or 0)


def test_threads_wait_for_each_others_transactions(memory: Database) -> None:
    problems: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(ROWS):
                add(memory, number)
                count(memory)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == []
    assert count(memory) == THREADS * ROWS


def test_a_transaction_that_fails_takes_nothing_of_the_next_one_with_it(memory: Database) -> None:
    def fail() -> None:
        with memory.write() as connection:
            connection.execute(sa.text("INSERT INTO numbers VALUES (1)"))
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        fail()
    add(memory, 2)
    assert count(memory) == 1


def test_a_transaction_inside_another_one_is_refused(memory: Database) -> None:
    with pytest.raises(DatabaseProblem, match="within a transaction"), memory.write():
        add(memory, 1)
    assert count(memory) == 0


def test_it_becomes_again_what_it_was(memory: Database) -> None:
    add(memory, 1)
    access(memory).keep_copy()
    for round_of in range(2):
        add(memory, 2)
        assert count(memory) == 2, round_of
        access(memory).restore()
        assert count(memory) == 1


def test_tables_and_numbers_become_again_what_they_were(memory: Database) -> None:
    def change(*statements: str) -> None:
        with memory.write() as connection:
            for statement in statements:
                connection.execute(sa.text(statement))

    def numbered() -> list[int]:
        with memory.read() as connection:
            return list(connection.execute(sa.text("SELECT id FROM numbered ORDER BY id")).scalars())

    change("CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTOINCREMENT)", "INSERT INTO numbered DEFAULT VALUES")
    access(memory).keep_copy()
    for statement in ("DELETE FROM numbers", "CREATE TABLE extra (x INTEGER)", "DELETE FROM numbers"):
        change("INSERT INTO numbered DEFAULT VALUES", statement)
        assert numbered() == [1, 2]
        access(memory).restore()
        assert numbered() == [1]
    with memory.read() as connection:
        assert sorted(sa.inspect(connection).get_table_names()) == ["numbered", "numbers"]


def test_two_databases_in_memory_are_two(memory: Database) -> None:
    other = Database("sqlite:///:memory:")
    with other.read() as connection:
        assert sa.inspect(connection).get_table_names() == []
    other.close()


def test_it_can_be_copied_to_a_file(memory: Database, tmp_path: Path) -> None:
    add(memory, 1)
    memory.access.copy(tmp_path / "copy.db")
    kept = Database(f"sqlite:///{tmp_path / 'copy.db'}")
    assert count(kept) == 1
    kept.close()
    with pytest.raises(DatabaseProblem, match="no database file"):
        memory.access.source_of_copy(tmp_path / "copy.db")


def test_nobody_is_told_of_changes_so_workers_poll(memory: Database) -> None:
    hints, stop = Hints(memory), threading.Event()
    stop.set()
    assert not hints.possible
    assert not hints.wait(stop, 60)
    hints.close()
