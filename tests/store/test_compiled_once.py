"""A connection to SQLite compiles each statement once, no matter how often it runs."""

from typing import Any

import sqlalchemy as sa

from fanfold.store.database import Database
from fanfold.testing import Engine
from tests.testing.translation import NOVEL, book

ALLOWED = 0
"""An authorizer's answer that permits everything."""


class Compilations:
    """Records which tables SQLite compiles statements for: it calls an authorizer while it compiles, and only then."""

    def __init__(self, database: Database) -> None:
        self.seen: set[str | None] = set()
        with database.engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
        self._driver = driver
        self._driver.set_authorizer(self._record)

    def end(self) -> None:
        """Leave the connection as it was."""
        self._driver.set_authorizer(None)

    def _record(self, action: int, table: str | None, *_more: object) -> int:
        self.seen.add(table)
        return ALLOWED


def test_another_limit_does_not_compile_a_statement_again(sqlite_url: str) -> None:
    database = Database(sqlite_url)
    compilations = Compilations(database)
    tasks = sa.table("tasks", sa.column("number"))
    for limit in (1, 2, 3):
        with database.read() as connection:
            connection.execute(sa.select(tasks).limit(limit)).all()
        assert ("tasks" in compilations.seen) == (limit == 1)
        compilations.seen.clear()
    database.close()


def test_a_limit_still_limits_and_an_offset_still_skips(sqlite_url: str) -> None:
    numbers: sa.Select[Any] = sa.select(sa.column("value")).select_from(
        sa.func.json_each("[1, 2, 3, 4]").table_valued("value")
    )
    database = Database(sqlite_url)
    with database.read() as connection:
        read = [
            connection.execute(statement).scalars().all()
            for statement in (numbers.limit(2), numbers.limit(2).offset(1), numbers.offset(3), numbers.limit(0))
        ]
    assert read == [[1, 2], [2, 3], [4], []]
    database.close()


def test_the_second_test_of_a_pipeline_compiles_no_statement_again() -> None:
    with Engine() as engine:
        compilations = Compilations(engine.store.database)
    found = []
    for _ in range(3):
        compilations.seen.clear()
        with Engine() as engine:
            engine.answer("text")
            task = engine.submit(book, NOVEL)
            engine.run()
            assert engine.task(task).state == "completed"
        found.append(compilations.seen.copy())
    compilations.end()
    assert {"tasks", "items"} <= found[0]
    assert found[2] <= {"COMMIT"}  # The driver does not keep this one.
